package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"evergate/internal/drill"
	"evergate/internal/drill/running"
)

// maxFault is how long the body of a rule may be, in bytes.
const maxFault = 64 << 10

// Fault is a drill (R74): its rule, how it stands, and what it has come to in the whole fleet, as far as this instance knows.
type Fault struct {
	ID       string        `json:"id"`
	Provider string        `json:"provider"` // here and in the next two, empty stands for all
	Model    string        `json:"model"`
	Key      string        `json:"key"`
	Header   *drill.Header `json:"header"`
	Share    float64       `json:"share"`
	Shape    drill.Shape   `json:"shape"`
	Since    Time          `json:"since"`
	Until    Time          `json:"until"`
	Budget   int64         `json:"budget"`
	// MaxUserErrors of 0 stands for none.
	MaxUserErrors int64        `json:"max_user_errors"`
	Reason        string       `json:"reason"`
	By            string       `json:"by"`
	State         string       `json:"state"` // running or ended
	Ended         *FaultEnd    `json:"ended"` // null while it runs
	Counts        drill.Counts `json:"counts"`
}

// FaultEnd says how a drill ended: stopped, time, budget or user_errors.
type FaultEnd struct {
	Why    string `json:"why"`
	At     Time   `json:"at"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// FaultReport is a drill with what this instance has seen of it.
type FaultReport struct {
	Fault
	Here      drill.Counts `json:"here"`
	Instances int          `json:"instances"` // whose counts there are
	// Guards are transitions of guards here that the drill brought about, or that followed.
	Guards []FaultGuard `json:"guards"`
}

// FaultGuard is a transition, and how often it was made.
type FaultGuard struct {
	Transition string `json:"transition"`
	Count      int64  `json:"count"`
}

// Faults is the reply of GET /admin/v1/faults, the newest first.
type Faults struct {
	Faults []Fault `json:"faults"`
}

// what is the fault and what it is for, for people.
func (f *Fault) what() string {
	r := drill.Rule{Provider: f.Provider, Model: f.Model, Key: f.Key, Share: f.Share, Shape: f.Shape}
	if f.Header != nil {
		r.Header = *f.Header
	}
	return r.String()
}

// NewFaults are those of the drills that run.
func NewFaults(all []running.Report) (out []Fault) {
	for i := range all {
		if !all[i].Over() {
			out = append(out, newFault(&all[i]))
		}
	}
	return out
}

func newFault(r *running.Report) Fault {
	f := Fault{
		ID: r.Rule.ID, Provider: r.Rule.Provider, Model: r.Rule.Model, Key: r.Rule.Key, Share: r.Rule.Share, Shape: r.Rule.Shape,
		Since: Time(r.Rule.Since), Until: Time(r.Rule.Until), Budget: r.Rule.Budget, MaxUserErrors: r.Rule.MaxUserErrors,
		Reason: r.Rule.Reason, By: r.Rule.By, State: "running", Counts: r.All,
	}
	if r.Rule.Header.Name != "" {
		f.Header = &r.Rule.Header
	}
	if r.Over() {
		f.State, f.Ended = "ended", &FaultEnd{Why: r.End.Why, At: Time(r.End.At), Reason: r.End.Reason, By: r.End.By}
	}
	return f
}

// NewFaultReport is what is shown of a drill.
func NewFaultReport(r *running.Report) FaultReport {
	out := FaultReport{Fault: newFault(r), Here: r.Here, Instances: r.Instances, Guards: []FaultGuard{}}
	for _, words := range slices.Sorted(maps.Keys(r.Guards)) {
		out.Guards = append(out.Guards, FaultGuard{words, r.Guards[words]})
	}
	return out
}

// faults lists the drills that run and the last that did.
func (a *handler) faults(w http.ResponseWriter, _ *http.Request) {
	out := Faults{Faults: []Fault{}}
	for _, r := range slices.Backward(a.sources.Drills.List()) {
		out.Faults = append(out.Faults, newFault(&r))
	}
	writeJSON(w, http.StatusOK, out)
}

// startFault begins a drill.
func (a *handler) startFault(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFault))
	if err != nil {
		invalid("", "the body cannot be read: %s; at most %d bytes are", err, maxFault).write(w)
		return
	}
	rule, err := drill.Read(text, time.Now())
	if wrong := (*drill.Mistake)(nil); errors.As(err, &wrong) {
		(&mistake{wrong.Param, wrong.Message}).write(w)
		return
	}
	if err != nil {
		invalid("", "%s", err).write(w)
		return
	}
	providers := a.sources.Health().Providers
	if _, ok := providers[rule.Provider]; !ok && rule.Provider != "" {
		writeError(w, http.StatusNotFound, "unknown_provider", unknown("provider", rule.Provider, slices.Sorted(maps.Keys(providers))))
		return
	}
	if a.noDrills {
		writeError(w, http.StatusForbidden, "forbidden", "the config turns drills off: admin.drills")
		return
	}
	rule.ID, rule.By = running.NewID(), a.who(r)
	if !a.sources.Drills.Start(rule) {
		writeError(w, http.StatusConflict, "conflict", "there are as many drills as there may be at a time; stop one first")
		return
	}
	a.writeFault(w, http.StatusCreated, rule.ID)
}

// fault reports on one drill.
func (a *handler) fault(w http.ResponseWriter, r *http.Request) {
	a.writeFault(w, http.StatusOK, r.PathValue("id"))
}

// stopFault ends a drill. Stopping one that has ended is no mistake.
func (a *handler) stopFault(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxOrder))
	var in struct {
		Reason string `json:"reason"`
	}
	if text = bytes.TrimSpace(text); err != nil || len(text) > 0 && json.Unmarshal(text, &in) != nil {
		invalid("", `the body must be empty, or a JSON object such as {"reason": "seen enough"}`).write(w)
		return
	}
	if in.Reason = strings.TrimSpace(in.Reason); len(in.Reason) > maxReason {
		invalid("reason", "reason is longer than %d bytes", maxReason).write(w)
		return
	}
	id := r.PathValue("id")
	a.sources.Drills.Stop(id, in.Reason, a.who(r))
	a.writeFault(w, http.StatusOK, id)
}

func (a *handler) writeFault(w http.ResponseWriter, status int, id string) {
	report, ok := a.sources.Drills.Report(id)
	if !ok {
		writeError(w, http.StatusNotFound, "unknown_drill", "there is no drill of this id; GET /admin/v1/faults lists them")
		return
	}
	writeJSON(w, status, NewFaultReport(&report))
}

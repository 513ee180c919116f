package drill

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Bounds of rules (R74).
const (
	MaxRunning    = 32             // at a time
	MaxLength     = 24 * time.Hour // until its end
	DefaultBudget = 1000
	MaxBudget     = 1_000_000
	maxName       = 200 // bytes of a name that is matched
	maxWords      = 500 // bytes of a reason
)

// Rule is one drill: which attempts meet which fault, and until when. It is not changed once it runs.
type Rule struct {
	ID string
	// Provider, Model, Key and Header say which attempts it is for; what is empty holds for all. Model is the upstream's id or the name
	// that the client asked for, Key the caller's key by name.
	Provider, Model, Key string
	Header               Header
	// Share is how many of these meet the fault, from 0 (exclusive) to 1.
	Share float64
	Shape Shape
	// Since and Until are by the local clock. Budget is how many attempts may meet it at most.
	Since, Until time.Time
	Budget       int64
	// MaxUserErrors ends it once so many client requests that it touched have failed; 0: they do not matter.
	MaxUserErrors int64
	Reason, By    string
}

// Header is a request header that the client must have sent: any value, if Value is empty.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Mistake is what is wrong with a rule, and in which of its members; an empty Param: with all of it.
type Mistake struct{ Param, Message string }

func (m *Mistake) Error() string {
	if m.Param == "" {
		return m.Message
	}
	return m.Param + ": " + m.Message
}

func wrong(param, format string, args ...any) error {
	return &Mistake{param, fmt.Sprintf(format, args...)}
}

// Wish is a rule as somebody asks for it.
type Wish struct {
	Provider      string          `json:"provider"`
	Model         string          `json:"model"`
	Key           string          `json:"key"`
	Header        *Header         `json:"header"`
	Share         *float64        `json:"share"`
	Shape         json.RawMessage `json:"shape"`
	Until         *time.Time      `json:"until"`
	For           *string         `json:"for"`
	Budget        *int64          `json:"budget"`
	MaxUserErrors int64           `json:"max_user_errors"`
	Reason        string          `json:"reason"`
}

// Read reads a rule that is to begin now out of JSON; who asks for it, and its id, are the caller's to fill in. Its error is a *Mistake.
func Read(text []byte, now time.Time) (Rule, error) {
	var w Wish
	if err := decode(text, &w, ""); err != nil {
		return Rule{}, err
	}
	return w.rule(now)
}

func (w *Wish) rule(now time.Time) (r Rule, err error) {
	r = Rule{
		Provider: w.Provider, Model: w.Model, Key: w.Key, Share: 1, Since: now, Budget: DefaultBudget, MaxUserErrors: w.MaxUserErrors,
		Reason: strings.TrimSpace(w.Reason),
	}
	for _, name := range []struct{ param, value string }{{"provider", r.Provider}, {"model", r.Model}, {"key", r.Key}} {
		if len(name.value) > maxName {
			return r, wrong(name.param, "it is longer than %d bytes", maxName)
		}
	}
	if w.Header != nil {
		r.Header = *w.Header
		if r.Header.Name == "" || len(r.Header.Name) > maxName || len(r.Header.Value) > maxName {
			return r, wrong("header", "it needs a name, and neither name nor value may be longer than %d bytes", maxName)
		}
		if secret(r.Header.Name) {
			return r, wrong("header", "%s holds credentials, which no rule may name; key chooses callers by their key's name", clip(r.Header.Name))
		}
	}
	if w.Share != nil {
		r.Share = *w.Share
	}
	if w.Budget != nil {
		r.Budget = *w.Budget
	}
	if w.Shape == nil {
		return r, wrong("shape", `it is missing; a fault is such as {"status": 503} or {"cut_after": 3}`)
	}
	if r.Shape, err = ReadShape(w.Shape); err != nil {
		return r, err
	}
	if r.Until, err = w.end(now); err != nil {
		return r, err
	}
	return r, r.check()
}

// secret says whether a header holds what nobody is to read in a rule.
func secret(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key", "x-admin-token":
		return true
	}
	return strings.HasPrefix(strings.ToLower(name), "x-evergate-key-") // callers' own keys
}

// end is when it is to end: a moment, or a length from now on.
func (w *Wish) end(now time.Time) (until time.Time, err error) {
	switch {
	case w.Until != nil && w.For != nil:
		return until, wrong("until", "say until or for, not both")
	case w.For != nil:
		length, err := duration("for", *w.For, MaxLength)
		return now.Add(length), err
	case w.Until == nil:
		return until, wrong("until", "it is missing: a drill must have an end, at most %s from now; for does, too", MaxLength)
	}
	length := w.Until.Sub(now)
	if length <= 0 || length > MaxLength {
		return until, wrong("until", "it must lie in the future, at most %s from now", MaxLength)
	}
	return now.Add(length), nil // by the monotonic clock
}

// check says what is wrong with the figures.
func (r *Rule) check() error {
	switch {
	case !(r.Share > 0 && r.Share <= 1): // so that NaN is none either
		return wrong("share", "it must be more than 0 and at most 1")
	case r.Budget < 1 || r.Budget > MaxBudget:
		return wrong("budget", "it must be from 1 to %d", MaxBudget)
	case r.MaxUserErrors < 0 || r.MaxUserErrors > MaxBudget:
		return wrong("max_user_errors", "it must be from 1 to %d, or left out", MaxBudget)
	case r.Reason == "":
		return wrong("reason", "it is missing; say why, for whoever wonders later")
	case len(r.Reason) > maxWords:
		return wrong("reason", "it is longer than %d bytes", maxWords)
	}
	return nil
}

// String is the fault and what it is for, for people: "status 503 for provider a, model m, a share of 0.5".
func (r *Rule) String() string {
	out := r.Shape.String() + " for "
	n := len(out)
	for _, w := range []struct{ what, name string }{{"provider ", r.Provider}, {"model ", r.Model}, {"key ", r.Key}, {"header ", r.Header.Name}} {
		if w.name == "" {
			continue
		}
		if len(out) > n {
			out += ", "
		}
		out += w.what + w.name
	}
	if len(out) == n {
		out += "all"
	}
	if r.Share < 1 {
		out += ", a share of " + strconv.FormatFloat(r.Share, 'g', 3, 64)
	}
	return out
}

// Sane says whether a rule that another program wrote can be one.
func (r *Rule) Sane() bool {
	shape, err := json.Marshal(r.Shape)
	if err != nil || len(r.ID) == 0 || len(r.ID) > 64 || len(r.By) > maxName || len(r.Provider)+len(r.Model)+len(r.Key) > 3*maxName ||
		len(r.Header.Name)+len(r.Header.Value) > 2*maxName || r.Until.Sub(r.Since) > MaxLength+time.Minute {
		return false
	}
	_, err = ReadShape(shape)
	return err == nil && r.check() == nil
}

// decode reads an object, and nothing else, without members that are not known.
func decode(text []byte, into any, param string) error {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		return wrong(param, "it must be a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return wrong(cmp.Or(strings.Trim(param+"."+kind.Field, "."), param), "it cannot be %s", kind.Value)
		}
		return wrong(param, "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong(param, "there is more than one JSON object")
	}
	return nil
}

func clip(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

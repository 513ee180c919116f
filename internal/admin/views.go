package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/goccy/go-yaml"

	"evergate/api"
	"evergate/internal/explain"
)

// Config is the reply of GET /admin/v1/config. It holds no secret.
type Config struct {
	File     string `json:"file"` // empty: the providers come from the environment
	LoadedAt Time   `json:"loaded_at"`
	// YAML is the file, with *** in the place of secrets, and variables as they are written.
	YAML      string           `json:"yaml"`
	Providers []ConfigProvider `json:"providers"`
	// Keys are the names of the callers' keys.
	Keys []string `json:"keys"`
	// DataPlane is the address that clients use.
	DataPlane string `json:"data_plane"`
	// DataPlaneTLS: they speak TLS there.
	DataPlaneTLS bool      `json:"data_plane_tls"`
	Problems     []Problem `json:"problems"` // warnings
}

// ConfigProvider is what is in force for one provider.
type ConfigProvider struct {
	Name        string          `json:"name"`
	Type        string          `json:"type"`
	Class       string          `json:"class"`
	BaseURL     string          `json:"base_url"`
	Disabled    bool            `json:"disabled"`
	Credentials []string        `json:"credentials"` // their names
	Settings    []ConfigSetting `json:"settings"`
}

// ConfigSetting is one effective value, and where it came from.
type ConfigSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// Models is the reply of GET /admin/v1/models.
type Models struct {
	Models []Model `json:"models"`
	// Plain is how many models providers offer under their own ids.
	Plain int `json:"plain"`
}

// Model is a virtual model, and what a request for it would come to now.
type Model struct {
	Name     string   `json:"name"`
	Strategy string   `json:"strategy"`
	Targets  []Target `json:"targets"` // as they are declared
	Summary  string   `json:"summary"`
	// Order are those that are tried now, in order, then those that are not.
	Order    []explain.Candidate `json:"order"`
	Affinity bool                `json:"affinity"`
	Hedge    string              `json:"hedge"`
	Resume   bool                `json:"resume"`
	Mirror   *ModelMirror        `json:"mirror,omitempty"`
	// Cache is how long its answers are kept, as a duration; empty: they are not.
	Cache string `json:"cache,omitempty"`
	// Availability is its target, 0 to 1; 0: it has none.
	Availability float64 `json:"availability,omitempty"`
}

// Target is one target of a model.
type Target struct {
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Weight   float64 `json:"weight,omitempty"`
	// On is the refusal that alone sends requests there.
	On string `json:"on,omitempty"`
	// Within is the virtual model that brought it, where targets are models themselves.
	Within string `json:"within,omitempty"`
}

// ModelMirror is where copies of a model's requests go.
type ModelMirror struct {
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Share    float64 `json:"share"`
}

func (a *handler) config(w http.ResponseWriter, r *http.Request) {
	if p := parameters(r); p.wrong != nil {
		p.wrong.write(w)
		return
	}
	writeJSON(w, http.StatusOK, a.sources.Config())
}

func (a *handler) models(w http.ResponseWriter, r *http.Request) {
	if p := parameters(r); p.wrong != nil {
		p.wrong.write(w)
		return
	}
	reply, err := a.sources.Models(r.Context())
	if err != nil {
		writeError(w, http.StatusInternalServerError, "internal_error", err.Error())
		return
	}
	writeJSON(w, http.StatusOK, reply)
}

const (
	maxScenario = 64 << 10 // bytes: to read it takes quadratic time, and cannot be broken off
	simulating  = 10 * time.Second
)

// ErrTooLong says that a simulation takes longer than it may.
var ErrTooLong = errors.New("the scenario takes too long; make its duration or its traffic less, or play it with evergate simulate")

// simulate plays a scenario in virtual time. One at a time is: it takes a whole processor.
func (a *handler) simulate(w http.ResponseWriter, r *http.Request) {
	if p := parameters(r); p.wrong != nil {
		p.wrong.write(w)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxScenario))
	if err != nil {
		invalid("", "the scenario cannot be read: %s; at most %d KiB are", unread(err), maxScenario>>10).write(w)
		return
	}
	if !a.playing.TryLock() {
		w.Header().Set("Retry-After", "5")
		writeError(w, http.StatusConflict, "conflict", "another scenario is being played; try again when it has ended")
		return
	}
	defer a.playing.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), simulating)
	defer cancel()
	report, problems, err := a.sources.Simulate(ctx, text)
	switch {
	case len(problems) > 0:
		writeJSON(w, http.StatusUnprocessableEntity, struct {
			Error    errorBody `json:"error"`
			Problems []Problem `json:"problems"`
		}{errorBody{"the scenario has mistakes", "invalid_scenario", ""}, problems})
	case errors.Is(err, ErrTooLong):
		invalid("", "%s", err.Error()).write(w)
	case err != nil:
		writeError(w, http.StatusInternalServerError, "internal_error", err.Error())
	default:
		writeJSON(w, http.StatusOK, report)
	}
}

// openAPI gives the description of all this.
func (a *handler) openAPI(w http.ResponseWriter, _ *http.Request) {
	text, err := yaml.YAMLToJSON(api.Admin)
	if err != nil {
		panic("BUG: the admin API's description is no YAML: " + err.Error()) //nolint:forbidigo // it is built in
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // a client that is gone needs no reply
}

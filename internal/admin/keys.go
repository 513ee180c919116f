package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"evergate/internal/identity"
)

// KeySources are the callers' keys.
type KeySources struct {
	Callers *identity.Book
	// Keys makes and changes those that are made here.
	Keys *identity.Registry
	// AsksForKeys says whether callers need a key at all.
	AsksForKeys func() bool
	// FitsConfig says which of the names in a key's terms the config in force does not have; nil: they are not looked at.
	FitsConfig func(*identity.Principal) *identity.Mistake
	// Spent is what a key has spent in the periods of its budgets; nil: nobody counts.
	Spent func(*identity.Principal) []KeySpent
	// KeyChanged has the audit log know: key_created, key_changed, key_rotated or key_revoked.
	KeyChanged func(action, name, reason, by, result string)
}

// settled are the sources with what is missing.
func (s KeySources) settled() KeySources {
	if s.Callers == nil {
		s.Callers = identity.NewBook()
	}
	if s.Keys == nil {
		s.Keys = identity.NewRegistry(s.Callers, nil, time.Now)
	}
	if s.AsksForKeys == nil {
		s.AsksForKeys = func() bool { return false }
	}
	if s.KeyChanged == nil {
		s.KeyChanged = func(_, _, _, _, _ string) {}
	}
	return s
}

const (
	// maxKeyBody is how long a key's terms may be, in bytes.
	maxKeyBody = 256 << 10
	// A key that was replaced is good for an hour, at most for 90 days.
	defaultOverlap, maxOverlap = time.Hour, 90 * 24 * time.Hour
)

// keys lists them, those of the config before those that were made here.
func (a *handler) keys(w http.ResponseWriter, r *http.Request) {
	p := parameters(r, "state", "team", "owner")
	if state := p.text("state"); state != "" && !slices.Contains(keyStates, state) {
		p.mistake("state", "%s", unknown("state", state, keyStates))
	}
	if p.wrong != nil {
		p.wrong.write(w)
		return
	}
	out := Keys{AsksForKeys: a.sources.AsksForKeys(), Keys: []Key{}}
	add := func(k Key) {
		if (p.text("state") == "" || k.State == p.text("state")) && (p.text("team") == "" || k.Team == p.text("team")) && (p.text("owner") == "" || k.Owner == p.text("owner")) {
			out.Keys = append(out.Keys, k)
		}
	}
	for _, who := range a.sources.Callers.Own() {
		add(a.ownKey(who, p.now))
	}
	for _, rec := range a.sources.Callers.Records() {
		add(a.madeKey(&rec, p.now))
	}
	writeJSON(w, http.StatusOK, out)
}

// key shows one of them, by its id or its name.
func (a *handler) key(w http.ResponseWriter, r *http.Request) {
	id, now := r.PathValue("id"), time.Now()
	if who := a.sources.Callers.Named(id); who != nil && who.ID == "" {
		writeJSON(w, http.StatusOK, a.ownKey(who, now))
		return
	}
	rec, ok := a.sources.Callers.Record(id)
	if !ok {
		writeKeyError(w, identity.ErrNoKey)
		return
	}
	writeJSON(w, http.StatusOK, a.madeKey(&rec, now))
}

// createKey makes one. Its reply has the key, which nothing else ever has.
func (a *handler) createKey(w http.ResponseWriter, r *http.Request) {
	text, wrong := readKeyBody(w, r)
	var terms identity.Terms
	if wrong == nil {
		wrong = decodeTerms(text, &terms)
	}
	if wrong != nil {
		wrong.write(w)
		return
	}
	who, err := a.principal(&terms)
	if err == nil && !who.Expires.IsZero() && !time.Now().Before(who.Expires) {
		err = &identity.Mistake{Param: "expires_at", Message: "expires_at is past"}
	}
	if err != nil {
		writeKeyError(w, err)
		return
	}
	a.changeKey(w, r, http.StatusCreated, "key_created", terms.Name, "", func(ctx context.Context, by, _ string) (rec identity.Record, key string, err error) {
		return a.sources.Keys.Create(ctx, who, by)
	})
}

// patchKey gives one other terms: a merge patch (RFC 7396) of those that GET shows.
func (a *handler) patchKey(w http.ResponseWriter, r *http.Request) {
	text, wrong := readKeyBody(w, r)
	var patch map[string]any
	if wrong == nil && (json.Unmarshal(text, &patch) != nil || patch == nil) {
		wrong = invalid("", `the body must be a JSON object with what is to change, such as {"models": ["fast"]}`)
	}
	reason := ""
	if wrong == nil {
		reason, wrong = takeReason(patch)
	}
	if _, ok := patch["name"]; ok && wrong == nil {
		wrong = invalid("name", "a key keeps its name, by which reports know it; make another key")
	}
	if wrong != nil {
		wrong.write(w)
		return
	}
	a.changeKey(w, r, http.StatusOK, "key_changed", r.PathValue("id"), reason, func(ctx context.Context, by, reason string) (identity.Record, string, error) {
		rec, err := a.sources.Keys.Change(ctx, r.PathValue("id"), func(now identity.Principal) (identity.Principal, error) {
			terms, wrong := patched(identity.TermsOf(&now), patch)
			if wrong != nil {
				return now, wrong
			}
			return a.principal(&terms)
		}, by, reason)
		return rec, "", err
	})
}

// rotateKey makes a new key in the place of one.
func (a *handler) rotateKey(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Overlap *string `json:"overlap"`
		Reason  string  `json:"reason"`
	}
	wrong := readBody(w, r, &in, `{"overlap": "1h"}`, "overlap", "reason")
	overlap := defaultOverlap
	if wrong == nil && in.Overlap != nil {
		var err error
		if overlap, err = time.ParseDuration(*in.Overlap); err != nil || overlap < 0 || overlap > maxOverlap {
			wrong = invalid("overlap", "%q must be a duration such as 10m or 24h, at most 90 days, or 0s: the old key ends at once", clip(*in.Overlap))
		}
	}
	if wrong == nil {
		wrong = checkReason(in.Reason)
	}
	if wrong != nil {
		wrong.write(w)
		return
	}
	a.changeKey(w, r, http.StatusOK, "key_rotated", r.PathValue("id"), in.Reason, func(ctx context.Context, by, reason string) (identity.Record, string, error) {
		return a.sources.Keys.Rotate(ctx, r.PathValue("id"), overlap, by, reason)
	})
}

// revokeKey lets nobody in with one any more. To revoke one that is revoked is no mistake.
func (a *handler) revokeKey(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Reason string `json:"reason"`
	}
	wrong := readBody(w, r, &in, `{"reason": "it leaked"}`, "reason")
	if wrong == nil {
		wrong = checkReason(in.Reason)
	}
	if wrong != nil {
		wrong.write(w)
		return
	}
	a.changeKey(w, r, http.StatusOK, "key_revoked", r.PathValue("id"), in.Reason, func(ctx context.Context, by, reason string) (identity.Record, string, error) {
		rec, err := a.sources.Keys.Revoke(ctx, r.PathValue("id"), by, reason)
		return rec, "", err
	})
}

// changeKey makes a change, tells the audit log and answers.
func (a *handler) changeKey(w http.ResponseWriter, r *http.Request, status int, action, name, reason string,
	change func(ctx context.Context, by, reason string) (identity.Record, string, error),
) {
	by, reason := a.who(r), strings.TrimSpace(reason)
	if who := a.sources.Callers.Named(name); who != nil && who.ID == "" && action != "key_created" {
		writeError(w, http.StatusConflict, "conflict", "the key "+quote(name)+" is one of the config: change it there, and reload")
		return
	}
	rec, key, err := change(r.Context(), by, reason)
	if rec.Name != "" {
		name = rec.Name
	}
	if err != nil {
		if !isMistake(err) {
			a.sources.KeyChanged(action, clip(name), reason, by, err.Error())
		}
		writeKeyError(w, err)
		return
	}
	a.sources.KeyChanged(action, name, reason, by, "ok")
	shown := a.madeKey(&rec, time.Now())
	if key != "" {
		writeJSON(w, status, NewKey{Key: shown, Value: key})
		return
	}
	writeJSON(w, status, shown)
}

// principal is what terms come to, if the config has all that they name.
func (a *handler) principal(terms *identity.Terms) (identity.Principal, error) {
	who, err := terms.Principal()
	if err == nil && a.sources.FitsConfig != nil {
		if m := a.sources.FitsConfig(&who); m != nil {
			return who, m
		}
	}
	return who, err
}

func isMistake(err error) bool {
	var m *identity.Mistake
	return errors.As(err, &m) || errors.Is(err, identity.ErrNoKey)
}

func writeKeyError(w http.ResponseWriter, err error) {
	var m *identity.Mistake
	var taken *identity.TakenError
	switch {
	case errors.As(err, &m):
		invalid(m.Param, "%s", m.Message).write(w)
	case errors.Is(err, identity.ErrNoKey):
		writeError(w, http.StatusNotFound, "unknown_key", err.Error())
	case errors.As(err, &taken), errors.Is(err, identity.ErrRevoked), errors.Is(err, identity.ErrBusy), errors.Is(err, identity.ErrFull):
		writeError(w, http.StatusConflict, "conflict", err.Error())
	default:
		writeError(w, http.StatusServiceUnavailable, "store_unavailable", err.Error())
	}
}

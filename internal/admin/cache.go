package admin

import "net/http"

// CacheSources are what is asked of the answers that are kept.
type CacheSources struct {
	// Cache says how much is kept now.
	Cache func() Cache
	// Purge removes the answers of a model, by the name that clients ask for, or all for an empty one; false: it has no cache.
	Purge func(model, by string) (removed int, ok bool)
}

// Cache is the reply of GET /admin/v1/cache.
type Cache struct {
	Entries  int      `json:"entries"`
	Bytes    int64    `json:"bytes"`
	MaxBytes int64    `json:"max_bytes"`
	Models   []string `json:"models"` // those that keep answers
}

func (a *handler) cache(w http.ResponseWriter, _ *http.Request) {
	if a.sources.Cache == nil {
		noCache(w)
		return
	}
	writeJSON(w, http.StatusOK, a.sources.Cache())
}

func (a *handler) purge(w http.ResponseWriter, r *http.Request) {
	p := parameters(r, "model")
	model := p.text("model")
	switch {
	case p.wrong != nil:
		p.wrong.write(w)
		return
	case a.sources.Purge == nil:
		noCache(w)
		return
	}
	removed, ok := a.sources.Purge(model, a.who(r))
	if !ok {
		writeError(w, http.StatusNotFound, "unknown_model", unknown("model with a cache", model, a.sources.Cache().Models))
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Removed int `json:"removed"`
	}{removed})
}

func noCache(w http.ResponseWriter) {
	writeError(w, http.StatusNotFound, "not_found", "no answers are kept")
}

package drill

import "strings"

// Asked is an attempt that is about to be made.
type Asked struct {
	Provider string
	// Model is the upstream's id, empty for passthrough; Named what the client asked for.
	Model, Named string
	// Key is the caller's, by name; Header the client's. Both are empty for what the gateway asks by itself.
	Key    string
	Header map[string][]string
}

// Is says whether the rule is for an attempt, its share aside.
func (r *Rule) Is(a *Asked) bool {
	return (r.Provider == "" || r.Provider == a.Provider) &&
		(r.Model == "" || r.Model == a.Model || r.Model == a.Named) &&
		(r.Key == "" || r.Key == a.Key) &&
		(r.Header.Name == "" || r.Header.in(a.Header))
}

// in says whether a request has the header.
func (h *Header) in(all map[string][]string) bool {
	for name, values := range all {
		if !strings.EqualFold(name, h.Name) {
			continue
		}
		if h.Value == "" {
			return true
		}
		for _, v := range values {
			if v == h.Value {
				return true
			}
		}
	}
	return false
}

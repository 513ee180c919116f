package ingress

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// Keys are the callers' keys. They are kept as hashes; nil means that callers need none.
type Keys struct {
	entries []keyEntry
}

type keyEntry struct {
	name   string
	hash   [sha256.Size]byte
	models []string
	bound  string // the name of its policy
}

// Add adds a key; an empty list of models allows all.
func (k *Keys) Add(name, value string, models []string) {
	k.entries = append(k.entries, keyEntry{name: name, hash: sha256.Sum256([]byte(value)), models: models})
}

// Bind has a policy hold for all requests of the key that was added last.
func (k *Keys) Bind(policy string) { k.entries[len(k.entries)-1].bound = policy }

// policy is the name of a key's policy, empty if it has none.
func (k *Keys) policy(name string) string {
	if k != nil {
		for i := range k.entries {
			if k.entries[i].name == name {
				return k.entries[i].bound
			}
		}
	}
	return ""
}

// Check finds the caller's key in the places SDKs send it, query the last of them. Every entry is compared, in constant time, so that time says
// nothing about which came close.
func (k *Keys) Check(h http.Header, query string) (name string, ok bool) {
	if k == nil {
		return "", true
	}
	hash := sha256.Sum256([]byte(cmp.Or(presented(h), query)))
	for i := range k.entries {
		if subtle.ConstantTimeCompare(hash[:], k.entries[i].hash[:]) == 1 {
			name, ok = k.entries[i].name, true
		}
	}
	return name, ok
}

func presented(h http.Header) string {
	if scheme, value, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(value)
	}
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if v := h.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// limited says whether the key may ask for some models only.
func (k *Keys) limited(name string) bool {
	if k == nil {
		return false
	}
	for i := range k.entries {
		if e := &k.entries[i]; e.name == name {
			return len(e.models) > 0
		}
	}
	return true
}

// Has says whether there is a key of this name.
func (k *Keys) Has(name string) bool {
	return k != nil && slices.ContainsFunc(k.entries, func(e keyEntry) bool { return e.name == name })
}

// MayUse says whether the key may ask for a model by this name.
func (k *Keys) MayUse(name, model string) bool {
	if k == nil {
		return true
	}
	for i := range k.entries {
		if e := &k.entries[i]; e.name == name {
			return len(e.models) == 0 || slices.Contains(e.models, model)
		}
	}
	return false
}

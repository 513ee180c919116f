package ingress

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"evergate/internal/journal"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// wishOfCache is what a request's Cache-Control says.
type wishOfCache struct {
	leave  bool          // no-store: neither an answer that is kept, nor is its own to be
	renew  bool          // no-cache: none that is kept, but its own may be
	newest time.Duration // max-age; 0: it does not say
}

func cacheWish(h http.Header) (w wishOfCache) {
	for _, line := range h["Cache-Control"] {
		for word := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(word), "=")
			switch strings.ToLower(name) {
			case "no-store":
				w.leave = true
			case "no-cache":
				w.renew = true
			case "max-age":
				n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
				w.renew = w.renew || err != nil || n == 0
				w.newest = time.Duration(n) * time.Second
			}
		}
	}
	return w
}

// repeatable says whether the same answer may be given to the same request again: it asks for words at temperature 0, or for vectors; and nothing
// is done, kept or looked up by a provider on its way.
func (x *exchange) repeatable(rule *ReplyRule) bool {
	q := &x.call.Request
	switch {
	case x.thread.native, q.Previous != "", q.Background, q.Raw, q.ContentType != "", q.Choices > 1, x.call.Keep, x.bringsAny():
		return false
	}
	if _, vectors := x.dialect.(wire.Embedder); vectors {
		return true
	}
	if !generates(x.dialect) {
		return false
	}
	if x.call.Canonical == nil {
		c, err := wire.Decode(x.dialect, q)
		if err != nil || c.Generation() == nil {
			return false
		}
		x.call.Canonical = c
	}
	asked := x.call.Canonical.Generation()
	if !rule.Always && (asked.Temperature == nil || *asked.Temperature != 0) {
		return false
	}
	return !x.call.Canonical.Acts() && !looksUp(asked) && !spoken(asked)
}

// bringsAny says whether the caller brought a key of its own for any provider: what it pays for is nobody else's.
func (x *exchange) bringsAny() bool {
	for name := range x.r.Header {
		if strings.HasPrefix(name, "X-Evergate-Key-") {
			return true
		}
	}
	return false
}

// looksUp says whether the provider looks something up for the answer, which may be another thing tomorrow, or runs what is not the client's.
func looksUp(q *llm.Request) bool {
	if slices.ContainsFunc(q.Tools, func(t llm.Tool) bool { return t.Opaque != nil }) {
		return true
	}
	for _, name := range q.Dropped.Names() {
		switch name {
		case llm.DropServerTools, "search_parameters", "plugins", "prompt", "documents", "connectors", llm.DropMore: // the last stands for what may be any of them
			return true
		}
	}
	return false
}

// spoken says whether the answer has sound, which later requests name by an id that ends.
func spoken(q *llm.Request) bool {
	return q.AudioVoice != "" || q.AudioFormat != "" || slices.Contains(q.Modalities, "audio")
}

// tenant is whose answers the request may get: those of its team, or of its key, or, without keys, of everybody.
func (x *exchange) tenant() []string {
	switch {
	case x.who == nil:
		return []string{"anonymous"}
	case x.who.Team != "":
		return []string{"team", x.who.Team}
	}
	return []string{"key", x.who.Name, x.who.ID} // another key may get the name of one that was revoked
}

// replyBounds is what a request and its answer go through. A guard of answers may judge by the key, whose own the answer then is.
func (x *exchange) replyBounds() []string {
	bounds := slices.Concat(x.guardMarks(), []string{""}, x.who.Bound())
	if x.guard.OnResponse() {
		bounds = append(bounds, x.key)
	}
	return bounds
}

// unjudged says whether a guard could not tell, and let pass what it was to judge.
func (x *exchange) unjudged() bool {
	return slices.ContainsFunc(x.guarded(), func(g journal.Guardrail) bool { return strings.HasPrefix(g.Action, "failed") })
}

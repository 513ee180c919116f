package affinity

import (
	"net/http"
	"time"

	"evergate/internal/route"
	"evergate/internal/wire"
)

// Header is the header in which a client of this gateway names its conversation.
const Header = "X-Evergate-Affinity"

// headers are the headers that name a conversation, the first that is there counts. The others are those of clients: Claude Code,
// Codex (Session_id, later Session-Id and Thread-Id), OpenCode and others (X-Session-Affinity, X-Session-Id).
var headers = [...]string{
	Header, "X-Claude-Code-Session-Id", "Session_id", "Session-Id", "X-Session-Id", "X-Session-Affinity", "Conversation_id", "Thread-Id",
}

// maxWords is how many bytes of each text of an opening are looked at, and maxTools how many of the tools.
const (
	maxWords = 4 << 10
	maxTools = 4 << 10
)

// Asked is a request, as far as its conversation is known by it.
type Asked struct {
	// Model is the virtual model, and Caller the caller's key by name: conversations of others are others.
	Model, Caller string
	Header        http.Header
	Dialect       wire.Conversing
	Request       *wire.Request
}

// Recall finds the conversation of a request, by the first trait that it has, and what is remembered of it.
func (t *Table) Recall(now time.Time, a *Asked, by *route.Affinity) Visit {
	var v Visit
	var o wire.Opening
	read := false
	for _, trait := range by.By {
		if trait != route.ByHeader && !read {
			o, read = a.Dialect.Opening(a.Request), true
		}
		c := begin(a, trait)
		if !c.take(a, &o, trait) {
			continue
		}
		v.id, v.state = c.id(), fresh
		// What is its opening alone begins a conversation, or one like it: that is the strategy's to place.
		if trait == route.ByOpening && !o.GoesOn {
			return v
		}
		if e, ok := t.get(now, v.id, by.TTL); ok {
			v.target, v.credential, v.named, v.state = e.target, e.credential, e.named, known
		}
		return v
	}
	return v
}

// begin is the id of what a request has of a trait, without that.
func begin(a *Asked, trait route.Trait) (h hashes) {
	h.byte(byte(trait))
	h.text(a.Model)
	h.text(a.Caller)
	return h
}

// take adds what the request has of a trait; false: it has nothing.
func (h *hashes) take(a *Asked, o *wire.Opening, trait route.Trait) bool {
	body := a.Request.Body
	switch trait {
	case route.ByHeader:
		for _, name := range headers {
			if values := a.Header[name]; len(values) > 0 && values[0] != "" {
				h.text(values[0])
				return true
			}
		}
	case route.ByCacheKey:
		return h.span(body, o.CacheKey)
	case route.ByUser:
		return h.span(body, o.User)
	case route.ByOpening:
		if o.First.Absent() {
			return false
		}
		h.words(body, o.System)
		h.words(body, o.First)
		tools := body[o.Tools.From:o.Tools.To]
		h.bytes(tools[:min(len(tools), maxTools)], len(tools))
		return true
	}
	return false
}

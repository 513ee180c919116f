package wiretest_test

import (
	"fmt"
	"testing"

	"evergate/internal/wire"
)

// written is something that an encoder wrote.
type written struct {
	what string // of which conversation or recording, to whom
	data []byte
}

// saidTo is all that the tests here have clients of a dialect hear: whole replies, and the events of streams.
func saidTo(t *testing.T, c *client) (replies, events []written) {
	t.Helper()
	stream := func(what string, out []byte) {
		list, err := eventsOf(out)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for i, e := range list {
			if e.data != "[DONE]" {
				events = append(events, written{fmt.Sprintf("%s, event %d", what, i), []byte(e.data)})
			}
		}
	}
	for _, r := range recordedAnswers() {
		what := r.file + " to " + c.name
		replies = append(replies, written{what, r.plain(t, c)}, written{what + ", folded", r.folded(t, c)})
		stream(what, r.relayed(t, c))
	}
	for _, v := range conversations() {
		for _, to := range upstreams() {
			plain, streamed, ok := replyOf(t, &v, &to)
			if !ok || to.dialect.Name() == c.dialect.Name() {
				continue
			}
			what := v.name + " of " + to.name + " to " + c.name
			a, err := ask(t, c, &to, to.asked(&v), request(t, &v, c), false)
			if err != nil {
				t.Fatal(err)
			}
			out, f, err := a.plain(plain)
			if err != nil {
				t.Fatal(err)
			}
			if f == nil {
				replies = append(replies, written{what, out})
			}
			if a, err = ask(t, c, &to, to.asked(&v), request(t, &v, c), true); err != nil {
				t.Fatal(err)
			}
			heard, err := a.relay(streamed)
			if err != nil {
				t.Fatal(err)
			}
			stream(what, heard.bytes)
		}
	}
	return replies, events
}

// askedOf is all that the tests here have an upstream asked.
func askedOf(t *testing.T, to *upstream) []written {
	t.Helper()
	var out []written
	for _, q := range recordedRequests(t) {
		if unaskable()[q.file] != "" || q.dialect.Name() == to.dialect.Name() {
			continue
		}
		canonical, err := q.canonical(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range []string{to.model, to.thinker} {
			target := to.target(model)
			target.Model = model
			sent, err := wire.NewTranslation(q.dialect, to.dialect, canonical, target).AppendRequest(nil, wire.Rewrite{Model: model, AskUsage: true})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, written{q.file + " to " + to.name + ", " + model, sent})
		}
	}
	for _, v := range conversations() {
		for _, from := range clients() {
			if from.dialect.Name() == to.dialect.Name() {
				continue
			}
			for _, streamed := range []bool{false, true} {
				a, err := ask(t, &from, to, to.asked(&v), request(t, &v, &from), streamed)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, written{v.name + " of " + from.name + " to " + to.name, a.sent})
			}
		}
	}
	return out
}

// failures are errors of every kind that clients are told.
func failures() []wire.Failure {
	var out []wire.Failure
	for _, status := range []int{400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529} {
		out = append(out, wire.Failure{Status: status, Code: "provider_error", Message: "It \"broke\".\n", RequestID: "req_0"}, wire.Failure{
			Status: status, Code: "all_providers_failed", Message: "All broke.", Param: "model", RequestID: "req_1",
			Attempts: []wire.Attempt{{Target: "groq/m", Status: 503, Reason: "upstream_error", Millis: 12}, {Target: "openai/m", Reason: "circuit_open", Skipped: true}},
			Said:     wire.Said{ID: "resp_1", Model: "m", Created: 1782321700, Sequence: 7, Begun: true},
		})
	}
	return out
}

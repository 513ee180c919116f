package wiretest_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"testing"
	"unicode/utf8"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// The targets here go the whole way through two dialects; each dialect's own package has targets for its parsers alone.

// codec is a dialect that an upstream speaks.
func codecs() []wire.Upstream {
	var out []wire.Upstream
	for _, u := range upstreams() {
		if u.name != "azure" {
			out = append(out, u.dialect.(wire.Upstream))
		}
	}
	return out
}

func codecNamed(name string) int {
	for i, d := range codecs() {
		if d.Name() == name {
			return i
		}
	}
	panic("BUG: no codec is called " + name)
}

// FuzzRecordedRequest: what a client sends is refused, or can be put to every upstream, as JSON that is understood in turn.
func FuzzRecordedRequest(f *testing.F) {
	for _, q := range recordedRequests(f) {
		if body := q.body(f); len(body) < 20_000 && q.dialect.Name() != "completions" {
			f.Add(uint8(codecNamed(q.dialect.Name())), body)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		from, ok := codecs()[int(n)%len(codecs())].(wire.Client)
		if !ok {
			return
		}
		r, err := from.ReadRequest(body)
		if err != nil {
			mustRefuse(t, err)
			return
		}
		if r.Model == "" {
			r.Model = "m"
		}
		canonical, err := wire.Decode(from, &r)
		if err != nil {
			mustRefuse(t, err)
			return
		}
		for _, u := range upstreams() {
			for _, model := range []string{u.model, u.thinker} {
				mustCarry(t, from, &r, canonical, &u, model)
				target := u.target(model)
				target.Model = model
				sent, err := wire.NewTranslation(from, u.dialect, canonical, target).AppendRequest(nil, wire.Rewrite{Model: model, AskUsage: true})
				if err != nil {
					mustRefuse(t, err)
					continue
				}
				if !json.Valid(sent) {
					t.Fatalf("%s is asked %s", u.name, sent)
				}
				back, ok := u.dialect.(wire.Client)
				if !ok {
					continue
				}
				again, err := back.ReadRequest(sent)
				if err != nil {
					t.Fatalf("%s: %v: %s", u.name, err, sent)
				}
				if _, err := back.DecodeRequest(&again); err != nil {
					t.Fatalf("%s: %v: %s", u.name, err, sent)
				}
			}
		}
	})
}

func mustRefuse(t *testing.T, err error) {
	t.Helper()
	if refused := (*wire.RequestError)(nil); !errors.As(err, &refused) || refused.Message == "" {
		t.Fatalf("%T: %v", err, err)
	}
}

// FuzzRecordedReply: what an upstream answers is judged a fault, or can be told to every client, whole and as a stream, in
// JSON of its dialect; the stream has a proper end.
func FuzzRecordedReply(f *testing.F) {
	for _, r := range recordings() {
		if _, ok := r.dialect.(wire.Upstream); ok && !r.streamed() {
			if body := r.body(f); len(body) < 20_000 {
				f.Add(uint8(codecNamed(r.dialect.Name())), body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		up := codecs()[int(n)%len(codecs())]
		up.ReadError(body)
		if _, fl := up.Judge(body); fl != nil {
			if fl.Message == "" {
				t.Fatalf("a fault without a word: %+v", fl)
			}
			return
		}
		a, err := up.DecodeReply(body)
		if err != nil {
			t.Fatalf("judged good, and then: %v", err)
		}
		for _, c := range clients() {
			canonical := askForAll(t, &c, len(a.Choices))
			out := c.dialect.(wire.Client).AppendReply(nil, a, canonical.Generation())
			if !json.Valid(out) {
				t.Fatalf("%s hears %s", c.name, out)
			}
			if len(out) > growth(len(body)) {
				t.Fatalf("%s: %d bytes became %d", c.name, len(body), len(out))
			}
			e := c.dialect.(wire.Client).NewEncoder(canonical.Generation())
			var stream []byte
			llm.Unfold(a, func(ev *llm.Event) { stream = e.Append(stream, ev) })
			mustBeEvents(t, &c, e.AppendEnd(stream), utf8.Valid(body))
		}
	})
}

// growth bounds what may come of n bytes: each may be escaped, a name can be said in each event, and a frame stands around
// it.
func growth(n int) int { return 64*n + 1<<14 }

// mustBeEvents reads a stream as its client does.
func mustBeEvents(t *testing.T, c *client, stream []byte, valid bool) {
	t.Helper()
	if _, err := eventsOf(stream); err != nil && valid {
		t.Fatalf("%s: %v: %s", c.name, err, stream)
	}
	var p wire.Progress
	for _, data := range cutEvents(t, stream) {
		if ev := c.dialect.JudgeEvent(data, &p); ev.Malformed {
			t.Fatalf("%s: malformed: %s", c.name, data)
		}
	}
}

// FuzzRecordedStream: whatever bytes an upstream sends as a stream, a client of every dialect hears events of its own dialect,
// of no more than they came from; and a proper end only after a finish or an end marker.
func FuzzRecordedStream(f *testing.F) {
	for _, r := range recordings() {
		if _, ok := r.dialect.(wire.Upstream); ok && r.streamed() {
			if body := r.body(f); len(body) < 8_000 {
				f.Add(uint8(codecNamed(r.dialect.Name())), uint8(1), body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, n, choices uint8, stream []byte) {
		up := codecs()[int(n)%len(codecs())]
		for _, c := range clients() {
			l := listen(t, &c, up, int(choices%4))
			l.hear(t, stream, true)
			if len(l.out)+len(l.held) > growth(len(stream))*16 {
				t.Fatalf("%s: %d bytes became %d", c.name, len(stream), len(l.out)+len(l.held))
			}
			if !l.begun {
				continue
			}
			mustBeEvents(t, &c, l.out, utf8.Valid(stream))
			switch {
			case l.ended == (l.fault != nil):
				t.Fatalf("%s: ended %v, %v", c.name, l.ended, l.fault)
			case l.ended:
				continue
			}
			said := wire.Failure{Status: 502, Code: "provider_error", Message: "The stream broke.", Said: l.translation.Said()}
			broken := c.dialect.AppendStreamError(nil, said)
			events := cutEvents(t, broken)
			if len(events) == 0 {
				t.Fatalf("%s: no error event", c.name)
			}
			var p wire.Progress
			if ev := c.dialect.JudgeEvent(events[len(events)-1], &p); ev.Fault == nil {
				t.Fatalf("%s: no error: %s", c.name, broken)
			}
		}
	})
}

// shortVectors leaves three numbers, or four in base64, of each vector.
func shortVectors(body []byte) []byte {
	body = regexp.MustCompile(`((?:[-+.eE0-9]+,\s*){2})(?:[-+.eE0-9]+,\s*)+`).ReplaceAll(body, []byte("$1"))
	return regexp.MustCompile(`"([A-Za-z0-9+/]{20})[A-Za-z0-9+/=]{40,}"`).ReplaceAll(body, []byte(`"${1}Ag=="`))
}

// FuzzRecordedVectors: what an upstream answers to a wish for vectors is a fault, or the same number of vectors for every
// client.
func FuzzRecordedVectors(f *testing.F) {
	named := func(d wire.Dialect) int {
		for i, e := range embedUpstreams() {
			if e.Name() == d.Name() {
				return i
			}
		}
		panic("BUG: nobody speaks " + d.Name())
	}
	for _, r := range recordings() {
		if _, ok := r.dialect.(wire.Embedder); ok {
			f.Add(uint8(named(r.dialect)), shortVectors(r.body(f)))
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		up := embedUpstreams()[int(n)%len(embedUpstreams())]
		up.ReadError(body)
		if _, fl := up.Judge(body); fl != nil {
			return
		}
		a, err := up.DecodeEmbedReply(body)
		if err != nil { // a list whose entries hold no vector: not judged entry by entry, and R14 where it is translated
			return
		}
		for _, c := range embedClients() {
			q := embedRequest(t, c.dialect, []byte(c.request))
			out, err := wire.NewTranslation(c.dialect, up, q, wire.Target{Model: "m"}).AppendReply(nil, body)
			if err != nil {
				t.Fatal(err)
			}
			vectors, _ := vectorsIn(t, out)
			if c.name == "gemini" && len(vectors) == 1 {
				continue
			}
			if len(vectors) != len(a.Vectors) {
				t.Fatalf("%s: %d vectors, want %d: %s", c.name, len(vectors), len(a.Vectors), out)
			}
		}
	})
}

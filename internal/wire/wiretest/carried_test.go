package wiretest_test

import (
	"slices"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// Texts that stay in the client's body make no difference to what any upstream is asked, nor to what is said to be lost.
func TestCarriedTexts(t *testing.T) {
	t.Parallel()
	stayed := map[string]bool{}
	check := func(t *testing.T, from wire.Client, r wire.Request) {
		t.Helper()
		canonical, err := wire.Decode(from, &r)
		if err != nil {
			mustRefuse(t, err)
			return
		}
		stayed[from.Name()] = stayed[from.Name()] || anyStays(canonical.Generation())
		for _, u := range upstreams() {
			for _, model := range []string{u.model, u.thinker} {
				mustCarry(t, from, &r, canonical, &u, model)
			}
		}
	}
	for _, q := range recordedRequests(t) {
		if r, err := q.dialect.ReadRequest(q.body(t)); err == nil {
			check(t, q.dialect, r)
		}
	}
	for _, c := range conversations() {
		for _, from := range clients() {
			r, err := from.dialect.ReadRequest(request(t, &c, &from))
			if err != nil {
				t.Fatal(err)
			}
			check(t, from.dialect.(wire.Client), r)
		}
	}
	for _, name := range []string{"chat", "messages", "responses"} {
		if !stayed[name] {
			t.Errorf("no text of a client of %s stayed: %v", name, stayed)
		}
	}
}

// mustCarry compares what an upstream is asked with what it would be asked if all texts were decoded.
func mustCarry(t *testing.T, from wire.Client, r *wire.Request, canonical *wire.Canonical, u *upstream, model string) {
	t.Helper()
	target := u.target(model)
	target.Model = model
	translation := wire.NewTranslation(from, u.dialect, canonical, target)
	got, err := translation.AppendRequest(nil, wire.Rewrite{Model: model})
	q, plainErr := from.DecodeRequest(r)
	if plainErr != nil || anyStays(q) {
		t.Fatalf("decoded for itself: %v", plainErr)
	}
	want, plainErr := u.dialect.(wire.Upstream).EncodeRequest(nil, q, &target)
	if (err == nil) != (plainErr == nil) || err != nil && err.Error() != plainErr.Error() {
		t.Fatalf("%s: %v, decoded %v", u.name, err, plainErr)
	}
	if string(got) != string(want) {
		t.Fatalf("%s is asked\n%s\nbut decoded\n%s", u.name, got, want)
	}
	if lost := translation.Dropped(); !slices.Equal(lost, q.Dropped.Names()) {
		t.Fatalf("%s: lost %q, decoded %q", u.name, lost, q.Dropped.Names())
	}
	if carried, plain := canonical.Estimate(), llm.Estimate(q); carried != plain {
		t.Fatalf("%d tokens, decoded %d", carried, plain)
	}
}

// anyStays says whether a text stayed in the client's body.
func anyStays(q *llm.Request) bool {
	var some func([]llm.Part) bool
	some = func(parts []llm.Part) bool {
		return slices.ContainsFunc(parts, func(p llm.Part) bool {
			return p.Quoted != nil || p.Result != nil && some(p.Result.Content)
		})
	}
	return some(q.System) || slices.ContainsFunc(q.Messages, func(m llm.Message) bool { return some(m.Content) })
}

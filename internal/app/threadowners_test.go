package app

import (
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// Nobody goes on with an answer that a provider keeps for another caller, though the provider, which has one account for all, would let them.
func TestProvidersAnswersAreTheirCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(everyVendor, "auth: {allow_anonymous: true}", "auth: {mode: keys, keys: [{name: one, value: key-one}, {name: two, value: key-two}]}", 1)
		s := newStack(t, text, map[string]mock.Script{"a": scripted(t, well)})
		mine, theirs := []string{"Authorization", "Bearer key-one"}, []string{"Authorization", "Bearer key-two"}
		answers := func() (n int) { // model lists have no body
			for _, r := range s.mocks["a"].Requests() {
				if len(r.Body) > 0 {
					n++
				}
			}
			return n
		}
		id := idOf(t, s.continued("responses/m", "my name is Ada", "", mine...))
		asked := answers()
		if h := s.continued("responses/m", "who am I?", id, theirs...); h.status != 400 || !strings.Contains(h.raw, "previous_response_not_found") {
			t.Errorf("another caller: %d %s", h.status, h.raw)
		}
		if n := answers(); n != asked {
			t.Error("the provider was asked")
		}
		if h := s.continued("responses/m", "who am I?", id, mine...); h.status != 200 {
			t.Errorf("the caller: %d %s", h.status, h.raw)
		}
		asked = answers()
		s.continued("responses/m", "who am I?", "resp_from_elsewhere", theirs...)
		if n := answers(); n != asked+1 {
			t.Error("the provider was not asked about an answer that the gateway never saw")
		}
	})
}

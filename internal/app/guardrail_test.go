package app

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/journal"
	"evergate/internal/mock"
	"evergate/internal/testkit"
)

const guards = `
guardrails:
  pii: {find: [email, card, phone, secret], patterns: [{name: staff, pattern: 'EMP-[0-9]{6}'}]}
  stop: {find: [iban], action: block}
guardrail_defaults: [pii, stop]
`

const (
	plantedMail = "ada.lovelace@example.com"
	plantedKey  = "sk-live-0123456789abcdefABCDEF"
	plantedText = "Write to " + plantedMail + " or use " + plantedKey + " as EMP-123456, then stop."
	maskedText  = "Write to [EMAIL] or use [SECRET] as [STAFF], then stop."
	account     = "DE89 3704 0044 0532 0130 00"
)

// prompted are a provider's requests for answers: not those for its models.
func (s *stack) prompted(provider string) []mock.Seen {
	return slices.DeleteFunc(s.mocks[provider].Requests(), func(r mock.Seen) bool { return r.BodySize == 0 })
}

// What is planted in a prompt reaches no provider, and what is planted in an answer no client: in every dialect of clients, from every
// dialect of providers, plain and streamed in pieces of any size.
func TestGuardrailsRedactEverywhere(t *testing.T) {
	if testkit.Race { // make check runs it again without: there it takes a minute
		t.Skip("hundreds of gateways, one after the other: run without the race detector")
	}
	for _, sp := range speakers() {
		for _, vendor := range vendors {
			for _, size := range []int{0, 1, 5} {
				t.Run(fmt.Sprintf("%s to %s, in pieces of %d", sp.name, vendor, size), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newStack(t, everyVendor+guards, map[string]mock.Script{"a": {Defaults: mock.Behaviour{Text: plantedText, ChunkSize: size}}})
						model := vendor + "/m"
						h := s.talk(&sp, model, size > 0, sp.body(model, size > 0, plantedText, false))
						if h.status != 200 || h.failed != "" || h.text != maskedText || size > 0 && !h.ended {
							t.Fatalf("%d %s %q ended %t:\n%s", h.status, h.failed, h.text, h.ended, h.raw)
						}
						seen := s.prompted("a")
						if len(seen) != 1 || !strings.Contains(string(seen[0].Body), "[EMAIL]") {
							t.Fatalf("%d requests: %v", len(seen), seen)
						}
						for _, secret := range []string{plantedMail, plantedKey, "EMP-123456"} {
							if strings.Contains(string(seen[0].Body), secret) || strings.Contains(h.raw, secret) {
								t.Errorf("%s got through:\n%s\n%s", secret, seen[0].Body, h.raw)
							}
						}
						want := []journal.Guardrail{{Name: "pii", Phase: "request", Action: "redacted"}, {Name: "stop", Phase: "request", Action: "allowed"}, {Name: "pii", Phase: "response", Action: "redacted"}, {Name: "stop", Phase: "response", Action: "allowed"}}
						if got := s.facts.last().Guardrails; fmt.Sprint(got) != fmt.Sprint(want) {
							t.Errorf("%v", got)
						}
						if h := s.breakerOf(vendor); h != "closed 0" {
							t.Errorf("the breaker: %s", h)
						}
					})
				})
			}
		}
	}
}

// What is blocked is a 400 in the client's own words, of a stream before its first byte too; nobody is asked in vain, and nobody's breaker counts it.
func TestGuardrailsBlock(t *testing.T) {
	for _, sp := range speakers() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %t", sp.name, stream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, everyVendor+guards+"models: {demo: {targets: [chat/m, anthropic/m]}}\n", map[string]mock.Script{"a": {Defaults: mock.Behaviour{Text: "It is " + account + " now."}}})
					h := s.talk(&sp, "demo", stream, sp.body("demo", stream, "Pay to "+account, false))
					if h.status != 400 || !strings.Contains(h.raw, "guardrail stop blocked the request") || strings.Contains(h.raw, "3704") {
						t.Errorf("the request: %d %s", h.status, h.raw)
					}
					if n := len(s.prompted("a")); n != 0 {
						t.Errorf("%d were asked", n)
					}
					h = s.talk(&sp, "demo", stream, sp.body("demo", stream, "Which account?", false))
					if !strings.Contains(h.raw, "guardrail stop blocked the answer") || strings.Contains(h.raw, "3704") {
						t.Errorf("the answer: %d %s", h.status, h.raw)
					}
					if !stream && h.status != 400 || stream && h.failed == "" && h.status != 400 {
						t.Errorf("the answer: %d %s %s", h.status, h.failed, h.raw)
					}
					if h.ended && h.status == 200 && sp.name != "gemini" {
						t.Errorf("it ended well: %s", h.raw)
					}
					if n := len(s.prompted("a")); n != 1 {
						t.Errorf("%d were asked", n)
					}
					f := s.facts.last()
					if f.Code != "guardrail_blocked" || len(f.Trail) != 1 || f.Trail[0].Reason != "blocked" || s.breakerOf("chat") != "closed 0" {
						t.Errorf("%s %v, the breaker %s", f.Code, f.Trail, s.breakerOf("chat"))
					}
				})
			})
		}
	}
}

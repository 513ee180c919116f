package app

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/journal"
	"evergate/internal/mock"
)

// asksToThink is what each client changes in its request to have the model think.
func asksToThink(sp *speaker, body string) string {
	change := map[string][2]string{
		"chat":      {"{", `{"reasoning_effort":"low",`},
		"messages":  {`"max_tokens":500`, `"max_tokens":5000,"thinking":{"type":"enabled","budget_tokens":1024}`},
		"responses": {"{", `{"reasoning":{"effort":"low"},`},
		"gemini":    {"{", `{"generationConfig":{"thinkingConfig":{"thinkingBudget":1024,"includeThoughts":true}},`},
	}[sp.name]
	return strings.Replace(body, change[0], change[1], 1)
}

// The facts of an exchange are the provider's, whatever the client's dialect, translated or not, streamed or not: who answered, after
// how long, for how many tokens, and how it ended. Logs, metrics and accounts are made of them. The numbers are the same at every
// provider, too, as far as its API counts what others count.
func TestSameFactsInEveryPair(t *testing.T) {
	const prompt, spoken, thought = 11, 8, 11 // tokens
	counts := map[string]struct{ separately, thinks bool }{
		"chat": {true, true}, "responses": {true, true}, "azure": {true, true}, "gemini": {true, true}, "vertex": {true, true},
		"anthropic": {false, true}, "cohere": {false, true}, "bedrock": {false, false}, // not this model
	}
	for _, vendor := range vendors {
		for _, think := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, thinking %t", vendor, think), func(t *testing.T) {
				t.Parallel()
				want := journal.Usage{Known: true, Input: prompt, Output: spoken}
				if c := counts[vendor]; think && c.thinks {
					want.Output += thought
					if c.separately {
						want.Reasoning = thought
					}
				}
				finishes := map[string]string{
					"chat": "stop", "azure": "stop", "responses": "completed", "anthropic": "end_turn", "bedrock": "end_turn",
					"gemini": "STOP", "vertex": "STOP", "cohere": "COMPLETE",
				}
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, everyVendor, map[string]mock.Script{"a": {Defaults: steady()}})
					for _, sp := range speakers() {
						for _, stream := range []bool{true, false} {
							model := vendor + "/m"
							body := sp.body(model, stream, "hello", false)
							if think {
								body = asksToThink(&sp, body)
							}
							h := s.talk(&sp, model, stream, body)
							synctest.Wait()
							f, a := s.facts.last(), s.facts.attempts[len(s.facts.attempts)-1]
							finish := finishes[vendor]
							if vendor == "azure" && sp.name == "responses" { // which it speaks itself
								finish = "completed"
							}
							if f.Usage != want || a.Usage != want || f.Finish != finish {
								t.Errorf("%s, stream %t: %+v, finish %q; want %+v, %q\n%s", sp.name, stream, f.Usage, f.Finish, want, finish, h.raw)
							}
							if f.FirstContent != 150*time.Millisecond || a.FirstContent != f.FirstContent || f.Overhead != 0 || !stream && f.Duration != f.FirstContent {
								t.Errorf("%s, stream %t: first content after %s, whole after %s, of which %s are ours", sp.name, stream, f.FirstContent, f.Duration, f.Overhead)
							}
							if f.Provider != vendor || f.Model != "m" || f.Dialect != sp.name || f.Stream != stream || f.Status != 200 || len(f.Trail) != 1 || f.Trail[0].Reason != "ok" || a.Outcome != "ok" {
								t.Errorf("%s, stream %t: %+v", sp.name, stream, f)
							}
						}
					}
				})
			})
		}
	}
}

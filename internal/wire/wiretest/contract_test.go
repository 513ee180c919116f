package wiretest_test

import (
	"path/filepath"
	"testing"

	"evergate/internal/wire"
	"evergate/internal/wire/wiretest"
)

// samplesOf are the conversations' requests and replies of one dialect.
func samplesOf(t testing.TB, from *client, to *upstream) *wiretest.Samples {
	t.Helper()
	s := &wiretest.Samples{Bare: from == nil || from.name == "gemini", Bad: bad()[to.name]}
	for _, c := range conversations() {
		if from != nil {
			s.Requests = append(s.Requests, request(t, &c, from))
		}
		if plain, stream, ok := replyOf(t, &c, to); ok && c.reply == "" && (c.name != "refusal" || to.name != "gemini") {
			s.Replies, s.Streams = append(s.Replies, plain), append(s.Streams, stream)
		}
	}
	return s
}

// bad are requests with one mistake each.
func bad() map[string]map[string][]byte {
	of := func(pairs ...string) map[string][]byte {
		out := map[string][]byte{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = []byte(pairs[i+1])
		}
		return out
	}
	const chat, messages, responses = `"messages":[{"role":"user","content":"x"}]`, `"max_tokens":9,"messages":[{"role":"user","content":"x"}]`, `"input":"x"`
	return map[string]map[string][]byte{
		"chat": of("model", `{"model":7,`+chat+`}`, "messages", `{"model":"m"}`, "stream", `{"model":"m","stream":"yes",`+chat+`}`, "temperature", `{"model":"m","temperature":"hot",`+chat+`}`,
			"tools", `{"model":"m","tools":{},`+chat+`}`),
		"anthropic": of("model", `{"model":7,`+messages+`}`, "messages", `{"model":"m","max_tokens":9}`, "stream", `{"model":"m","stream":"yes",`+messages+`}`,
			"temperature", `{"model":"m","temperature":"hot",`+messages+`}`),
		"responses": of("model", `{"model":7,`+responses+`}`, "stream", `{"model":"m","stream":"yes",`+responses+`}`, "temperature", `{"model":"m","temperature":"hot",`+responses+`}`),
		"gemini":    of("contents", `{"contents":7}`, "generationConfig", `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"temperature":"hot"}}`),
	}
}

// pairsOfDialects are the dialects that generate, each with the client that speaks it, if one does.
func pairsOfDialects() map[*client]*upstream {
	out := map[*client]*upstream{}
	for _, to := range upstreams() {
		var found *client
		for _, from := range clients() {
			if from.dialect.Name() == to.dialect.Name() {
				found = &from
			}
		}
		if found == nil {
			found = &client{name: "", dialect: to.dialect}
		}
		if to.name != "azure" {
			out[found] = &to
		}
	}
	return out
}

func TestContract(t *testing.T) {
	t.Parallel()
	for from, to := range pairsOfDialects() {
		t.Run(to.name, func(t *testing.T) {
			t.Parallel()
			if from.name == "" {
				from = nil
			}
			wiretest.Run(t, to.dialect, samplesOf(t, from, to))
		})
	}
}

// FuzzEvents feeds any bytes to every dialect, as an event in the middle of its own stream.
func FuzzEvents(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "replies", "*", "*.stream.sse"))
	if err != nil || len(names) == 0 {
		f.Fatal(err)
	}
	for _, name := range names {
		events, err := eventsOf(read(f, name))
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range events {
			f.Add([]byte(e.data))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		for _, to := range upstreams() {
			var p wire.Progress
			ev := to.dialect.JudgeEvent(data, &p)
			if again := to.dialect.JudgeEvent(data, &wire.Progress{}); again.Content != ev.Content || again.Malformed != ev.Malformed || (again.Fault == nil) != (ev.Fault == nil) {
				t.Errorf("%s: %+v, then %+v", to.name, ev, again)
			}
			if ev.Fault != nil && ev.End {
				t.Errorf("%s: an error is an end: %+v", to.name, ev)
			}
		}
	})
}

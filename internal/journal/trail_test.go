package journal

import (
	"strconv"
	"strings"
	"testing"
)

func TestAppendTrail(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		steps []Step
		want  string
	}{
		{"none", nil, ""},
		{"success", []Step{{Provider: "openai", Model: "gpt-4o-mini", Status: 200, Reason: "ok"}}, "openai/gpt-4o-mini=200"},
		{"contract's example", []Step{
			{Provider: "groq", Model: "llama-3.3", Status: 503, Reason: "upstream_error"},
			{Provider: "openai", Model: "gpt-4o-mini", Status: 200, Reason: "ok"},
		}, "groq/llama-3.3=503, openai/gpt-4o-mini=200"},
		{"no status: the reason", []Step{{Provider: "a", Model: "m", Reason: "timeout"}}, "a/m=timeout"},
		{"a skip shows its reason, whatever the status", []Step{
			{Provider: "a", Model: "m", Skipped: true, Status: 429, Reason: "circuit_open"},
		}, "a/m=circuit_open"},
		{"a 200 that was no answer is not shown as one", []Step{
			{Provider: "a", Model: "m", Status: 200, Reason: "invalid_answer"},
			{Provider: "b", Model: "m", Status: 200, Reason: "cut"},
		}, "a/m=invalid_answer, b/m=cut"},
		{"a redirect is a status", []Step{{Provider: "a", Model: "m", Status: 302, Reason: "invalid_answer"}}, "a/m=302"},
		{"slashes and colons of ids stay", []Step{
			{Provider: "openrouter", Model: "meta/llama-3.3:free", Status: 200, Reason: "ok"},
		}, "openrouter/meta/llama-3.3:free=200"},
		{"signs of the form, control and non-ASCII bytes are encoded", []Step{
			{Provider: "a", Model: "x,y;z=1 %\"\r\n\x7fü", Status: 200, Reason: "ok"},
		}, "a/x%2Cy%3Bz%3D1%20%25%22%0D%0A%7F%C3%BC=200"},
		{"a hedge and a resumed stream are marked", []Step{
			{Provider: "a", Model: "m", Status: 200, Reason: "cancelled"},
			{Provider: "b", Model: "m", Status: 200, Reason: "cut", Why: "hedge"},
			{Provider: "c", Model: "m", Status: 200, Reason: "ok", Why: "resume", Seam: 1234},
		}, "a/m=cancelled, b/m=cut;hedge, c/m=200;resumed=1234"},
		{"a drill is said to be one (R74)", []Step{
			{Provider: "a", Model: "m", Status: 503, Reason: "upstream_error", Drill: "drill_1"},
			{Provider: "b", Model: "m", Reason: "timeout", Why: "hedge", Drill: "drill_1"},
			{Provider: "c", Model: "m", Status: 200, Reason: "ok"},
		}, "a/m=503;drill, b/m=timeout;hedge;drill, c/m=200"},
		{"passthrough has no model", []Step{{Provider: "a", Reason: "circuit_open", Skipped: true}, {Provider: "a", Status: 200, Reason: "ok"}}, "a=circuit_open, a=200"},
		{"long names are cut", []Step{
			{Provider: "a", Model: strings.Repeat("m", 161), Status: 200, Reason: "ok"},
		}, "a/" + strings.Repeat("m", 160) + "...=200"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(AppendTrail(nil, c.steps)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAppendTrailKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	got := string(AppendTrail([]byte("trail: "), []Step{{Provider: "a", Model: "m", Reason: "reset"}}))
	if got != "trail: a/m=reset" {
		t.Errorf("got %q", got)
	}
}

func TestAppendTrailIsBounded(t *testing.T) {
	t.Parallel()
	step := Step{Provider: "provider", Model: "model-with-a-name", Status: 503, Reason: "upstream_error"} // 30 bytes
	steps := make([]Step, 1000)
	for i := range steps {
		steps[i] = step
	}
	got := string(AppendTrail(nil, steps))
	if len(got) > MaxTrail || len(got) < MaxTrail-64 {
		t.Fatalf("%d bytes, want just under %d", len(got), MaxTrail)
	}
	shown := strings.Count(got, "=503")
	if want := 1000 - shown; !strings.HasSuffix(got, ", ...+"+strconv.Itoa(want)) {
		t.Errorf("%d steps shown, ends in %q", shown, got[len(got)-20:])
	}
}

func TestAppendTrailFitsExactly(t *testing.T) {
	t.Parallel()
	for n := 1; n < 90; n++ { // whatever the number of steps, nothing is left out that fits, and nothing exceeds the bound
		steps := make([]Step, n)
		for i := range steps {
			steps[i] = Step{Provider: "provider", Model: "model-with-a-name", Status: 503}
		}
		got := string(AppendTrail(nil, steps))
		full := 32*n - 2
		if len(got) > MaxTrail {
			t.Fatalf("%d steps: %d bytes", n, len(got))
		}
		if full <= MaxTrail-32 && (len(got) != full || strings.Contains(got, "...")) {
			t.Fatalf("%d steps fit but are %q", n, got)
		}
	}
}

func TestAppendTrailAllocatesNothing(t *testing.T) {
	steps := []Step{{Provider: "a", Model: "m", Status: 503}, {Provider: "b", Model: "m", Status: 200, Reason: "ok"}}
	buf := make([]byte, 0, MaxTrail)
	if n := testing.AllocsPerRun(100, func() { buf = AppendTrail(buf[:0], steps) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAppendTrail(f *testing.F) {
	f.Add("groq", "llama-3.3", "circuit_open", 503, uint8(3))
	f.Add("a\r\nset-cookie: x", "ü,;=", "", 200, uint8(200))
	f.Add(strings.Repeat("\xff", 500), strings.Repeat("=", 500), strings.Repeat("\n", 500), -1, uint8(255))
	f.Fuzz(func(t *testing.T, provider, model, reason string, status int, n uint8) {
		steps := make([]Step, n)
		for i := range steps {
			steps[i] = Step{Provider: provider, Model: model, Reason: reason, Status: status, Skipped: i%3 == 0}
		}
		got := AppendTrail(nil, steps)
		if len(got) > MaxTrail {
			t.Fatalf("%d bytes", len(got))
		}
		for _, c := range got {
			if c < ' ' || c > '~' {
				t.Fatalf("byte %#x in %q", c, got)
			}
		}
		if n > 0 && strings.Count(string(got), "=")+strings.Count(string(got), "...+") == 0 {
			t.Fatalf("no step in %q", got)
		}
	})
}

// R74: all drills that a request met are told, each once.
func TestDrillOf(t *testing.T) {
	t.Parallel()
	for want, ids := range map[string][]string{"": {"", ""}, "d1": {"", "d1", "d1"}, "d1 d2": {"d1", "", "d2", "d1", "d2"}, "d12 d1": {"d12", "d1"}} {
		var steps []Step
		for _, id := range ids {
			steps = append(steps, Step{Drill: id})
		}
		if got := DrillOf(steps); got != want {
			t.Errorf("%q: %q", ids, got)
		}
	}
}

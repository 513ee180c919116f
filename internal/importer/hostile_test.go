package importer

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A file that is made to take time or memory is refused, or read, within the bounds that a configuration of ours has.
// It runs while no other test does, for it measures what the process allocates.
func TestHostileFiles(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	var keys strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&keys, "k%d: v, ", i)
	}
	var many strings.Builder
	many.WriteString("model_list:\n")
	for i := range 3000 {
		fmt.Fprintf(&many, "- {model_name: m, litellm_params: {model: openai/m%d}}\n", i)
	}
	var fields strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&fields, `,"%d":1`, i)
	}
	for _, tt := range []struct{ name, format, text, want string }{
		{"many keys", "bifrost", `{"providers":{"openai":{}` + fields.String() + `}}`, ""},
		{"laughs", "litellm", laughs.String(), "aliases make more"},
		{"alias of itself", "litellm", "a: &a\n  b: *a\n", "a"},
		{"merged often", "gomodel", "a: &a {" + keys.String() + "}\nb:\n" + strings.Repeat("- { <<: *a }\n", 60), "aliases make more"},
		{"dashes", "litellm", strings.Repeat("- ", 4000), "more than 64 lists"},
		{"deep YAML", "gomodel", strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper than 64"},
		{"deep JSON", "portkey", strings.Repeat(`{"targets":[`, 5000), "nested deeper than 64"},
		{"deep lists", "bifrost", strings.Repeat("[", 100_000), "nested deeper than 64"},
		{"huge YAML", "litellm", strings.Repeat("a: b\n", 100_000), "larger than 256 KiB"},
		{"huge JSON", "bifrost", `{"a":"` + strings.Repeat("x", 300<<10) + `"}`, "larger than 256 KiB"},
		{"huge env", "gomodel", strings.Repeat("A=b\n", 100_000), "larger than 256 KiB"},
		{"two documents", "litellm", "a: b\n---\nc: d\n", "second document"},
		{"two values", "portkey", `{"provider":"openai"} {}`, "something follows"},
		{"cut", "portkey", `{"provider":`, "x:1:"},
		{"no mapping", "bifrost", `[1]`, "holds no settings"},
		{"empty", "litellm", "", "holds no settings"},
		{"a tab", "litellm", "a:\n\tb: c\n", "tab"},
		{"no such format", "other", "a: b", "there is no format"},
		{"no provider", "litellm", "model_list: []\nrouter_settings: {}\n", "names no provider"},
		{"no line of a file of variables", "gomodel", "OPENAI_API_KEY=x\nwhat is this\n", "x:2: is no line"},
		{"too many targets", "litellm", many.String(), "more than 256"},
		{"a name of control characters", "litellm", "model_list: [{model_name: \"a\\u001b[31m\", litellm_params: {model: \"openai/x\\ny\"}}]", "names no provider"},
		{"numbers that are none", "bifrost", `{"providers":{"openai":{"keys":[{"value":"env.K","weight":1e999}],"network_config":{"max_retries":-1,"default_request_timeout_in_seconds":1e300},"concurrency_and_buffer_size":{"concurrency":-5}}}}`, ""},
		{"not UTF-8", "litellm", "model_list: [{model_name: \"a\xff\", litellm_params: {model: openai/x}}]", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Convert(Source{Format: tt.format, Name: "x", Data: []byte(tt.text)})
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 500 {
				t.Errorf("it took %d MiB", used)
			}
			switch {
			case tt.want == "":
			case err == nil || !strings.Contains(err.Error(), tt.want):
				t.Errorf("%.300v; want %q", err, tt.want)
			}
		})
	}
}

func fuzz(f *testing.F, format string) {
	f.Helper()
	for _, src := range samples(f)[format] {
		if !strings.HasSuffix(src.Name, ".env") {
			f.Add(src.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8<<10 {
			return
		}
		src := Source{Format: format, Name: "x", Data: data}
		result, err := Convert(src)
		if err != nil {
			if strings.Contains(err.Error(), "please report this") {
				t.Fatal(err)
			}
			return
		}
		if r := result.Report; r.Keys != r.Carried+r.Approximated+r.Left {
			t.Errorf("%d values are not %d, %d and %d", r.Keys, r.Carried, r.Approximated, r.Left)
		}
		again, err := Convert(src)
		if err != nil || string(again.YAML) != string(result.YAML) || again.Report.Text() != result.Report.Text() {
			t.Errorf("converted twice it is not the same: %v", err)
		}
	})
}

func FuzzLiteLLM(f *testing.F) { fuzz(f, "litellm") }
func FuzzGoModel(f *testing.F) { fuzz(f, "gomodel") }
func FuzzPortkey(f *testing.F) { fuzz(f, "portkey") }
func FuzzBifrost(f *testing.F) { fuzz(f, "bifrost") }

// FuzzVariables reads files of variables.
func FuzzVariables(f *testing.F) {
	for _, src := range samples(f)["gomodel"] {
		if strings.HasSuffix(src.Name, ".env") {
			f.Add(src.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 8<<10 {
			if _, err := Convert(Source{Format: "gomodel", Name: ".env", Data: data}); err != nil && strings.Contains(err.Error(), "please report this") {
				t.Fatal(err)
			}
		}
	})
}

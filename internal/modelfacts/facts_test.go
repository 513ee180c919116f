package modelfacts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// The file itself: in order, each entry once, dated, and nothing in it that cannot be.
func TestTheFile(t *testing.T) {
	d := json.NewDecoder(bytes.NewReader([]byte(models)))
	d.DisallowUnknownFields()
	var doc document
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if n := len(doc.Models); n < 80 {
		t.Errorf("only %d models", n)
	}
	day := func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }
	for i := range doc.Models {
		r := &doc.Models[i]
		name := r.Host + " " + r.ID
		if i > 0 {
			if b := &doc.Models[i-1]; cmp.Or(cmp.Compare(b.Host, r.Host), cmp.Compare(b.ID, r.ID)) >= 0 {
				t.Errorf("%s stands after %s %s: sort by host and id, each once", name, b.Host, b.ID)
			}
		}
		if r.ID == "" || strings.ContainsAny(r.ID, " \"") {
			t.Errorf("%q is no id", r.ID)
		}
		if r.Host != "" && placeOf(r.Host).host != r.Host {
			t.Errorf("%s: entries of that host are never looked at", name)
		}
		if !day(r.AsOf) || doc.Sources[r.Source] == "" || r.Deprecated != "" && !day(r.Deprecated) {
			t.Errorf("%s: as of %q, source %q, deprecated %q", name, r.AsOf, r.Source, r.Deprecated)
		}
		for _, word := range slices.Concat(r.Input, r.Output) {
			if _, ok := Modality(word); !ok {
				t.Errorf("%s: %q is no kind of content", name, word)
			}
		}
		for what, v := range map[string]*int64{"context_window": r.ContextWindow, "output_limit": r.OutputLimit} {
			if v != nil && (*v < 256 || *v > 20_000_000) {
				t.Errorf("%s: %s %d", name, what, *v)
			}
		}
		prices := map[string]*float64{
			"input": r.InputPrice, "output": r.OutputPrice, "cache_read": r.CacheReadPrice, "cache_write": r.CacheWritePrice,
			"batch_input": r.BatchInputPrice, "batch_output": r.BatchOutputPrice,
		}
		for what, v := range prices {
			if v != nil && (*v < 0 || *v > 1000) {
				t.Errorf("%s: %s price %v is not one of a million tokens", name, what, *v)
			}
		}
		above := func(a, b string) {
			if prices[a] != nil && prices[b] != nil && *prices[a] > *prices[b] {
				t.Errorf("%s: %s price %v is above the %s price %v", name, a, *prices[a], b, *prices[b])
			}
		}
		above("input", "output")
		above("cache_read", "input")
		above("input", "cache_write")
		above("batch_input", "input")
		above("batch_output", "output")
	}
}

func catalogue(t *testing.T) *Catalogue {
	t.Helper()
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFind(t *testing.T) {
	c := catalogue(t)
	for _, tt := range []struct {
		name, kind, model string
		want              string // the entry's id; empty: nothing is known
		priced            bool
	}{
		{"the id itself", "openai", "gpt-4o", "gpt-4o", true},
		{"a dated one without an entry", "openai", "gpt-4o-2024-11-20", "gpt-4o", true},
		{"a dated one with its own", "openai", "gpt-4o-2024-05-13", "gpt-4o-2024-05-13", true},
		{"a date without dashes", "anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5", true},
		{"latest", "anthropic", "claude-3-5-haiku-latest", "claude-3-5-haiku", true},
		{"azure under the model's name", "azure-openai", "gpt-4.1-mini-2025-04-14", "gpt-4.1-mini", true},
		{"openrouter", "openrouter", "openai/gpt-4o", "gpt-4o", true},
		{"openrouter writes versions with a dot", "openrouter", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5", true},
		{"a variant is on other terms", "openrouter", "anthropic/claude-sonnet-4.5:beta", "claude-sonnet-4-5", false},
		{"bedrock", "bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5", true},
		{"bedrock, the global profile", "bedrock", "global.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5", true},
		{"bedrock, a region's costs more", "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", false},
		{"bedrock, Amazon's own", "bedrock", "amazon.nova-pro-v1:0", "nova-pro", true},
		{"bedrock has entries of its own", "bedrock", "cohere.embed-v4:0", "cohere.embed-v4:0", true},
		{"vertex", "vertex", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5", true},
		{"vertex, default", "vertex", "claude-opus-4-6@default", "claude-opus-4-6", true},
		{"groq", "groq", "llama-3.3-70b-versatile", "llama-3.3-70b-versatile", true},
		{"groq's is not another's", "openai", "llama-3.3-70b-versatile", "", false},
		{"one id, two hosts", "together", "openai/gpt-oss-120b", "openai/gpt-oss-120b", true},
		{"somebody's server: able to the same, at a price unknown", "openai-compatible", "gpt-4o", "gpt-4o", false},
		{"a model's maker at a host that has other prices", "groq", "deepseek-chat", "deepseek-chat", false},
		{"local: it is what somebody set up", "ollama", "gpt-4o", "", false},
		{"fine-tuned", "openai", "ft:gpt-4o-mini-2024-07-18:org::id", "", false},
		{"a longer name is another model", "openai", "gpt-4o-turbo", "", false},
		{"none", "openai", "", "", false},
		{"nothing left", "openrouter", "a/", "", false},
		{"only cuts", "bedrock", "us.anthropic.", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := c.Find(tt.kind, tt.model)
			if f == nil {
				if tt.want != "" {
					t.Errorf("nothing is known, want %s", tt.want)
				}
				return
			}
			if f.ID != tt.want || f.Prices.Input.Known != tt.priced {
				t.Errorf("%s, priced %v; want %q, %v", f.ID, f.Prices.Input.Known, tt.want, tt.priced)
			}
		})
	}
}

func TestTheSameIDCostsWhatItsHostTakes(t *testing.T) {
	c := catalogue(t)
	groq, together := c.Find("groq", "openai/gpt-oss-20b"), c.Find("together", "openai/gpt-oss-20b")
	if groq.Prices.Output.USD != 0.3 || together.Prices.Output.USD != 0.2 {
		t.Errorf("%v, %v", groq.Prices, together.Prices)
	}
}

func TestBook(t *testing.T) {
	window, low, lower, no := int64(1000), 1.5, 0.5, false
	b := NewBook(catalogue(t), map[string]string{"openai": "openai", "mine": "vllm", "other": "openai-compatible"}, []Said{
		{Provider: "openai", Model: "gpt-4o", Override: Override{InputPrice: &lower}},
		{Model: "gpt-4o", Override: Override{InputPrice: &low, ContextWindow: &window, Tools: &no}},
		{Model: "house-model", Override: Override{ContextWindow: &window, Input: []string{"text", "image"}}},
	})
	got := b.Facts("openai", "gpt-4o")
	if got.Prices.Input != (Price{lower, true}) || got.ContextWindow != 1000 || got.Tools != No || got.Prices.Output.USD != 10 || got.OutputLimit != 16384 {
		t.Errorf("at its provider: %+v", got)
	}
	if got := b.Facts("other", "gpt-4o"); got.Prices.Input != (Price{low, true}) || got.Prices.Output.Known || got.Reasoning != No {
		t.Errorf("at another: %+v", got)
	}
	if got := b.Facts("openai", "gpt-4o-2024-11-20"); got.ContextWindow != 128000 || got.Tools != Yes {
		t.Errorf("a dated one: %+v", got)
	}
	if got := b.Facts("mine", "house-model"); got.ContextWindow != 1000 || got.Input != Text|Image || got.ID != "" {
		t.Errorf("a model that only the user knows: %+v", got)
	}
	for _, none := range [][2]string{{"mine", "gpt-4.1"}, {"unconfigured", "gpt-4o"}, {"openai", "house"}} {
		if got := b.Facts(none[0], none[1]); got != nil {
			t.Errorf("%v: %+v", none, got)
		}
	}
	var nobody *Book
	if nobody.Facts("openai", "gpt-4o") != nil {
		t.Error("no book knows something")
	}
}

func TestLookingUpAllocatesNothing(t *testing.T) {
	b := NewBook(catalogue(t), map[string]string{"r": "openrouter", "b": "bedrock", "o": "openai"}, nil)
	for provider, model := range map[string]string{
		"r": "anthropic/claude-sonnet-4.5:beta", "b": "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "o": "nobody-knows-2025-01-01",
	} {
		if n := testing.AllocsPerRun(100, func() { b.Facts(provider, model) }); n != 0 {
			t.Errorf("%s: %v allocations", model, n)
		}
	}
}

func BenchmarkFacts(b *testing.B) {
	c, err := Embedded()
	if err != nil {
		b.Fatal(err)
	}
	book := NewBook(c, map[string]string{"b": "bedrock", "o": "openai"}, nil)
	b.Run("id", func(b *testing.B) {
		for b.Loop() {
			book.Facts("o", "gpt-4o")
		}
	})
	b.Run("cut down", func(b *testing.B) {
		for b.Loop() {
			book.Facts("b", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			_, _ = Embedded()
		}
	})
}

// R46: what a place does for models that cannot is no reason to leave them out: OpenRouter reads files for them.
func TestFilesAreReadForTheModel(t *testing.T) {
	for kind, want := range map[string]Modalities{"openrouter": Text | File, "openai": Text} {
		for _, model := range []string{"openai/o3-mini", "openai/o3-mini:online"} {
			if f := catalogue(t).Find(kind, model); f == nil || f.Input != want {
				t.Errorf("%s %s: %+v", kind, model, f)
			}
		}
	}
}

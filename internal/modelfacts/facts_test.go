package modelfacts

import "testing"

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
		{"openrouter, a name that means another model there", "openrouter", "mistralai/mistral-large", "mistralai/mistral-large", true},
		{"openrouter, a price of its own that nobody agrees on", "openrouter", "deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-pro", false},
		{"fireworks, the whole name", "fireworks", "accounts/fireworks/models/gpt-oss-120b", "gpt-oss-120b", true},
		{"perplexity", "perplexity", "sonar-pro", "sonar-pro", true},
		{"perplexity's is not another's", "openai-compatible", "sonar-pro", "", false},
		{"bedrock, another maker's", "bedrock", "meta.llama3-3-70b-instruct-v1:0", "meta.llama3-3-70b-instruct-v1:0", true},
		{"bedrock, another maker's in a region", "bedrock", "us.meta.llama3-3-70b-instruct-v1:0", "meta.llama3-3-70b-instruct-v1:0", false},
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
	for kind, want := range map[string]Modalities{"openrouter": Text | File, "cohere": Text} {
		for _, model := range []string{"cohere/command-r-08-2024", "cohere/command-r-08-2024:online"} {
			if f := catalogue(t).Find(kind, model); f == nil || f.Input != want {
				t.Errorf("%s %s: %+v", kind, model, f)
			}
		}
	}
}

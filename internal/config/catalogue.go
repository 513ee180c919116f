package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"evergate/internal/modelfacts"
	"evergate/internal/route"
)

// factsFile is what the user says of a model.
type factsFile struct {
	contextWindow, outputLimit                  given[int]
	input, output                               given[[]given[string]]
	tools, structuredOutput, reasoning, prefill given[bool]
	inputPrice, outputPrice                     given[float64]
	cacheReadPrice, cacheWritePrice             given[float64]
	batchInputPrice, batchOutputPrice           given[float64]
}

// Bounds of what a user may say of a model.
const (
	maxTokens = 1_000_000_000
	maxPrice  = 1_000_000 // US dollars for a million tokens
)

func factsShape() shape[factsFile] {
	type f = factsFile
	kinds := func() shape[[]given[string]] {
		var words []word[string]
		for _, w := range modelfacts.ModalityWords() {
			words = append(words, say(w, w))
		}
		return list("kinds of content such as text", choice(words...))
	}
	price := func() shape[float64] { return number(0, maxPrice) }
	return object("facts", "What is true of a model; it stands before what the built-in catalogue says.", []key[f]{
		field("context_window", "How many tokens a prompt may have.", whole(1, maxTokens), func(f *f) *given[int] { return &f.contextWindow }),
		field("output_limit", "How many tokens an answer may have.", whole(1, maxTokens), func(f *f) *given[int] { return &f.outputLimit }),
		field("input", "The kinds of content that it takes.", kinds(), func(f *f) *given[[]given[string]] { return &f.input }),
		field("output", "The kinds of content that it gives.", kinds(), func(f *f) *given[[]given[string]] { return &f.output }),
		field("tools", "Whether it can call tools.", boolean(), func(f *f) *given[bool] { return &f.tools }),
		field("structured_output", "Whether it keeps to a JSON schema.", boolean(), func(f *f) *given[bool] { return &f.structuredOutput }),
		field("reasoning", "Whether it thinks before it answers, which takes longer.", boolean(), func(f *f) *given[bool] { return &f.reasoning }),
		field("prefill", "Whether a request may end in the beginning of the answer.", boolean(), func(f *f) *given[bool] { return &f.prefill }),
		field("input_price", "US dollars for a million tokens of prompt.", price(), func(f *f) *given[float64] { return &f.inputPrice }),
		field("output_price", "US dollars for a million tokens of answer.", price(), func(f *f) *given[float64] { return &f.outputPrice }),
		field("cache_read_price", "For those of the prompt that the provider's cache had.", price(), func(f *f) *given[float64] { return &f.cacheReadPrice }),
		field("cache_write_price", "For those of the prompt that its cache took in.", price(), func(f *f) *given[float64] { return &f.cacheWritePrice }),
		field("batch_input_price", "For a million tokens of prompt in a batch.", price(), func(f *f) *given[float64] { return &f.batchInputPrice }),
		field("batch_output_price", "For a million tokens of answer in a batch.", price(), func(f *f) *given[float64] { return &f.batchOutputPrice }),
	})
}

func (f *factsFile) override() modelfacts.Override {
	number := func(g given[int]) *int64 {
		if !g.set {
			return nil
		}
		v := int64(g.v)
		return &v
	}
	return modelfacts.Override{
		ContextWindow: number(f.contextWindow), OutputLimit: number(f.outputLimit), Input: texts(f.input), Output: texts(f.output),
		Tools: f.tools.pointer(), StructuredOutput: f.structuredOutput.pointer(), Reasoning: f.reasoning.pointer(), Prefill: f.prefill.pointer(),
		InputPrice: f.inputPrice.pointer(), OutputPrice: f.outputPrice.pointer(),
		CacheReadPrice: f.cacheReadPrice.pointer(), CacheWritePrice: f.cacheWritePrice.pointer(),
		BatchInputPrice: f.batchInputPrice.pointer(), BatchOutputPrice: f.batchOutputPrice.pointer(),
	}
}

// book is what is known of models: the catalogue, and the user's word before it.
func (b *builder) book(providers []Provider) *modelfacts.Book {
	catalogue, err := modelfacts.Embedded()
	if err != nil {
		b.problem(b.root, "", "%s", err)
	}
	kinds := make(map[string]string, len(providers))
	for i := range providers {
		kinds[providers[i].Options.Name] = providers[i].Options.Type
	}
	var said []modelfacts.Said
	for _, e := range b.file.catalog.v {
		if e.wrong {
			continue
		}
		s := modelfacts.Said{Model: e.name, Override: e.v.override()}
		if first, rest, ok := strings.Cut(e.name, "/"); ok && slices.Contains(b.names, first) {
			s.Provider, s.Model = first, rest
		}
		if s.Model == "" {
			b.problem(e.at, "", "is no model's id; write a model's id, or provider/model")
		}
		said = append(said, s)
	}
	return modelfacts.NewBook(catalogue, kinds, said)
}

// know gives a target what is known of its model, and the limits that follow from it (R56).
func (b *builder) know(t *route.Target) {
	t.Facts = b.facts.Facts(t.Provider, cmp.Or(t.BaseModel, t.Model))
	if p := b.routed[t.Provider]; p != nil {
		t.Timeouts = p.LimitsFor(t.Facts)
	}
}

// R56's limits of models that reason.
const (
	thinkingAttempt    = 10 * time.Minute
	thinkingFirstChunk = 5 * time.Minute
)

// thinking is a provider's limits for models that reason: longer, where nobody set them.
func thinking(t route.Timeouts, settings []Setting) route.Timeouts {
	for _, s := range settings {
		switch {
		case s.From != FromBuiltIn && s.From != FromClassBuiltIn:
		case s.Name == "timeouts.attempt":
			t.Attempt = thinkingAttempt
		case s.Name == "timeouts.first_chunk":
			t.FirstChunk = thinkingFirstChunk
		}
	}
	return t
}

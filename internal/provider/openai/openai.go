// Package openai is OpenAI's own API and those that are compatible with it, one vendor for each provider type of that
// kind: which of the two APIs for generations it has, and what it refuses. It must not know how requests travel or what
// they say.
package openai

import (
	"evergate/internal/llm"
	"evergate/internal/provider"
	"evergate/internal/wire"
)

// Type is the provider type of OpenAI's own API.
const Type = "openai"

// Options choose a vendor.
type Options struct {
	// Type is the provider's type as configured: openai, openai-compatible or one of the presets.
	Type string
	// API is which API generations are asked in: chat, responses, or auto (or empty), which is the caller's own where the
	// provider has it, else chat.
	API string
}

// New makes the vendor of a provider type. An unknown type is one of which nothing is known but the dialect.
func New(o Options) *provider.Vendor {
	v := provider.Compatible()
	if o.Type == Type {
		v.Name = Type
		v.Speaks = speaks(o.API, func(model string) []string { return provider.ReadOpenAIModel(model).Speaks() })
		v.Maker = func(string) llm.Vendor { return llm.OpenAI }
		v.Quirks = func(model string) wire.Quirks { return provider.ReadOpenAIModel(model).Quirks() }
		return v
	}
	p := presetOf(o.Type)
	auto := []string{"chat"}
	if p.responses {
		auto = []string{"chat", "responses"}
	}
	v.Speaks = speaks(o.API, func(string) []string { return auto })
	v.Maker = func(model string) llm.Vendor { return p.maker(model) }
	v.Quirks = p.quirksOf
	return v
}

// speaks completes the dialects of generations, of which the configuration may name the one to use, by those beside them.
func speaks(api string, auto func(model string) []string) func(string) []string {
	spoken := provider.Spoken(api, append([]string{"completions", "embeddings"}, provider.Asides()...)...)
	return func(model string) []string { return spoken(auto(model)) }
}

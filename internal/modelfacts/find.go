package modelfacts

import "strings"

// place is what a provider's type says about its models' names.
type place struct {
	// host is the place whose own entries come first; empty: it has none.
	host string
	// own: the makers' prices hold here. Elsewhere what a model costs is not known, only what it can do.
	own bool
	// bedrock: ids have a region, a maker and a version around the name, as in us.anthropic.claude-…-v1:0.
	bedrock bool
	// local: what runs here is what somebody set up; no list knows it.
	local bool
	// readsFiles: files are read for the models that take none, which get the text.
	readsFiles bool
}

// placeOf is the table of provider types. One that is not in it is somebody's server that speaks a known dialect.
func placeOf(kind string) place {
	switch kind {
	case "openai", "anthropic", "gemini", "vertex", "azure-openai", "cohere", "mistral", "deepseek", "xai":
		return place{own: true}
	case "openrouter":
		return place{host: kind, own: true, readsFiles: true}
	case "bedrock":
		return place{host: kind, own: true, bedrock: true}
	case "groq", "together", "cerebras", "fireworks", "perplexity":
		return place{host: kind}
	case "ollama", "vllm", "llamacpp", "lmstudio":
		return place{local: true}
	}
	return place{}
}

// Find gives what is known of a model at a provider of a type or preset (see the config's providers.*.type); nil:
// nothing. A name that is not in the catalogue is cut down step by step, and each step is looked up: openrouter's
// anthropic/claude-sonnet-4.5:beta, bedrock's us.anthropic.claude-sonnet-4-5-20250929-v1:0, vertex's
// claude-sonnet-4-5@20250929, gpt-4o-2024-11-20. It allocates nothing.
func (c *Catalogue) Find(kind, model string) *Facts {
	p := placeOf(kind)
	if p.local {
		return nil
	}
	if e := c.entries[key{p.host, model}]; e != nil {
		return p.facts(e, p.host != "" || p.own)
	}
	priced := p.own
	for _, cut := range cuts(p) {
		shorter, ok := cut.cut(model)
		if !ok {
			continue
		}
		model, priced = shorter, priced && !cut.other
		if e := c.entries[key{p.host, model}]; e != nil && p.host != "" {
			return p.facts(e, !cut.other)
		}
		if e := c.entries[key{"", model}]; e != nil {
			return p.facts(e, priced)
		}
	}
	if e := c.entries[key{"", model}]; e != nil {
		return p.facts(e, priced)
	}
	return nil
}

// facts are an entry's as they hold at the place.
func (p *place) facts(e *entry, priced bool) *Facts {
	if p.readsFiles && e.read != nil {
		e = e.read
	}
	if priced {
		return e.whole
	}
	return e.unpriced
}

// step takes something off a name. other: what is left is the same model on other terms, whose price is another.
type step struct {
	cut   func(string) (string, bool)
	other bool
}

// cuts are the steps of a place, in order. Each works on what the one before it left.
func cuts(p place) []step {
	if p.bedrock {
		return bedrockCuts[:]
	}
	return usualCuts[:]
}

var (
	usualCuts = [...]step{
		{cut: cutMaker}, {cut: cutVariant, other: true}, {cut: cutVersion}, {cut: cutAt}, {cut: cutDate}, {cut: cutLatest},
	}
	// A region's own inference profile costs more than the global one.
	bedrockCuts = [...]step{
		{cut: cutGlobal}, {cut: cutRegion, other: true}, {cut: cutBedrockMaker}, {cut: cutRevision}, {cut: cutVersion}, {cut: cutDate},
	}
)

// cutMaker: openai/gpt-4o, accounts/fireworks/models/….
func cutMaker(s string) (string, bool) {
	i := strings.LastIndexByte(s, '/')
	return s[i+1:], i >= 0 && i+1 < len(s)
}

// cutVariant: …:free, …:nitro.
func cutVariant(s string) (string, bool) {
	i := strings.IndexByte(s, ':')
	return s[:max(i, 0)], i > 0
}

// cutRevision: …:0.
func cutRevision(s string) (string, bool) {
	i := strings.LastIndexByte(s, ':')
	return s[:max(i, 0)], i > 0 && digits(s[i+1:])
}

// cutVersion: …-v1.
func cutVersion(s string) (string, bool) {
	i := strings.LastIndex(s, "-v")
	return s[:max(i, 0)], i > 0 && digits(s[i+2:])
}

// cutAt: …@20250929, …@default.
func cutAt(s string) (string, bool) {
	i := strings.LastIndexByte(s, '@')
	return s[:max(i, 0)], i > 0
}

// cutDate: …-2024-11-20, …-20250929.
func cutDate(s string) (string, bool) {
	if n := len(s) - len("-2024-11-20"); n > 0 && s[n] == '-' && digits(s[n+1:n+5]) && s[n+5] == '-' && digits(s[n+6:n+8]) && s[n+8] == '-' && digits(s[n+9:]) {
		return s[:n], true
	}
	if n := len(s) - len("-20250929"); n > 0 && s[n] == '-' && digits(s[n+1:]) {
		return s[:n], true
	}
	return s, false
}

// cutLatest: …-latest.
func cutLatest(s string) (string, bool) { return strings.CutSuffix(s, "-latest") }

// cutGlobal: global.anthropic.….
func cutGlobal(s string) (string, bool) { return strings.CutPrefix(s, "global.") }

// cutRegion: us.anthropic.…, us-gov.….
func cutRegion(s string) (string, bool) {
	head, rest, ok := strings.Cut(s, ".")
	switch head {
	case "us", "us-gov", "eu", "apac", "jp", "au", "ca":
		return rest, ok && rest != ""
	}
	return s, false
}

// cutBedrockMaker: anthropic.claude-….
func cutBedrockMaker(s string) (string, bool) {
	head, rest, ok := strings.Cut(s, ".")
	switch head {
	case "ai21", "amazon", "anthropic", "cohere", "deepseek", "meta", "mistral", "openai", "qwen":
		return rest, ok && rest != ""
	}
	return s, false
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

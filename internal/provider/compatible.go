package provider

import "slices"

// Compatible is what providers of OpenAI's API have in common: its routes below the base URL, bearer tokens, its
// model list. It is the vendor of a Client that is given none, and what openai.New begins with.
func Compatible() *Vendor {
	return &Vendor{
		Name:   "openai-compatible",
		Speaks: func(string) []string { return []string{"chat", "completions", "embeddings"} },
		Place: func(dialect, _ string, _ bool) (path, query string) {
			switch dialect {
			case "chat":
				return "/chat/completions", ""
			case "completions", "embeddings", "responses":
				return "/" + dialect, ""
			}
			return "", ""
		},
	}
}

// Generations are the dialects in which a model of OpenAI's kind is asked for an answer: the one that the configuration
// names (chat, responses), or with auto (or empty) those that the provider has, the favourite first. The list is the
// caller's own.
func Generations(api string, auto []string) []string {
	switch api {
	case "chat", "responses":
		return []string{api}
	}
	return slices.Clone(auto)
}

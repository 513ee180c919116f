package provider

import "slices"

// Compatible is what providers of OpenAI's API have in common: its routes below the base URL, bearer tokens, its
// model list. It is the vendor of a Client that is given none, and what openai.New begins with.
func Compatible() *Vendor {
	speaks := append([]string{"chat", "completions", "embeddings"}, Asides()...)
	return &Vendor{
		Name:   "openai-compatible",
		Speaks: func(string) []string { return speaks },
		Place: func(dialect, _ string, _ bool) (path, query string) {
			switch dialect {
			case "chat":
				return "/chat/completions", ""
			case "completions", "embeddings", "responses":
				return "/" + dialect, ""
			}
			return Aside(dialect), ""
		},
		Stores: func(kind string) (path, query string) { return "/" + kind, "" },
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

// Spoken completes a list of generations by other dialects, from lists that are made once: it is asked for every request.
// auto is as in Generations, with one or both of chat and responses.
func Spoken(api string, others ...string) func(auto []string) []string {
	list := func(auto ...string) []string { return append(Generations(api, auto), others...) }
	chat, responses := list("chat"), list("responses")
	chatFirst, responsesFirst := list("chat", "responses"), list("responses", "chat")
	return func(auto []string) []string {
		switch {
		case len(auto) > 1 && auto[0] == "chat":
			return chatFirst
		case len(auto) > 1:
			return responsesFirst
		case len(auto) == 1 && auto[0] == "responses":
			return responses
		}
		return chat
	}
}

// Asides are the operations beside talk and vectors that a provider of OpenAI's API may have. Those that lack some answer so
// (R9), which is why nobody keeps a list of who has which.
func Asides() []string {
	return []string{"images", "image_edits", "speech", "transcriptions", "translations", "moderations", "rerank"}
}

// Aside is the path of one of Asides, empty for every other dialect.
func Aside(dialect string) string {
	switch dialect {
	case "images":
		return "/images/generations"
	case "image_edits":
		return "/images/edits"
	case "speech", "transcriptions", "translations":
		return "/audio/" + dialect
	case "moderations", "rerank":
		return "/" + dialect
	}
	return ""
}

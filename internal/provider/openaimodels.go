package provider

import (
	"strings"

	"evergate/internal/wire"
)

// OpenAIModel is what the name of one of OpenAI's models says about how it can be asked, whoever serves it: OpenAI,
// Azure under a deployment's name, GitHub. The zero value is a model of which nothing is known.
type OpenAIModel struct {
	// Reasons: it is one of those that refuse all sampling parameters (o1 and later, GPT-5 and later but for its chat
	// variants).
	Reasons bool
	// NoChat: it is served by the Responses API alone (the pro, codex and deep-research variants, computer-use-preview).
	NoChat bool
	// CustomTools: it takes tools that take free text (GPT-5 and later).
	CustomTools bool
	// NoToolsInChat: chat completions refuse function tools unless reasoning is off (GPT-5.4 and later).
	NoToolsInChat bool
}

// ReadOpenAIModel reads a model's id or a deployment's name. A name that is taken in a wrong way costs parameters that
// would have been accepted, never an error.
func ReadOpenAIModel(name string) OpenAIModel {
	var m OpenAIModel
	chat := false
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '/' || r == ':' || r == ' ' })
	for i, w := range words {
		version := ""
		switch {
		case w == "gpt" && i+1 < len(words):
			version = words[i+1]
		case strings.HasPrefix(w, "gpt"):
			version = w[len("gpt"):]
		case len(w) == 2 && w[0] == 'o' && w[1] >= '1' && w[1] <= '9':
			m.Reasons = true
		}
		if n, dot := majorMinor(version); n >= 5 {
			m.Reasons, m.CustomTools = true, true
			m.NoToolsInChat = n > 5 || dot >= 4
		}
		switch w {
		case "chat":
			chat = true
		case "codex", "pro", "research":
			m.NoChat = true
		case "computer":
			m.NoChat, m.Reasons = true, true
		}
	}
	if m.NoChat = m.NoChat && (m.Reasons || len(words) > 0 && words[0] == "codex"); chat {
		m.Reasons, m.CustomTools, m.NoToolsInChat = false, false, false
	}
	return m
}

// majorMinor reads a version such as 5 or 5.4 at the begin of a word; 0 if it is none, or has two digits in a row as
// Azure's spelling of 3.5 has.
func majorMinor(s string) (major, minor int) {
	digit := func(i int) int {
		if i < len(s) && s[i] >= '0' && s[i] <= '9' {
			return int(s[i] - '0')
		}
		return -1
	}
	if digit(0) < 0 || digit(1) >= 0 {
		return 0, 0
	}
	if major = digit(0); len(s) > 1 && s[1] == '.' {
		for i := 2; digit(i) >= 0; i++ {
			minor = min(10*minor+digit(i), 1000)
		}
	}
	return major, minor
}

// Quirks are what requests for the model must keep to at OpenAI's own API.
func (m OpenAIModel) Quirks() wire.Quirks {
	q := wire.Quirks{MaxTokensField: "max_completion_tokens", CustomTools: m.CustomTools}
	if m.Reasons {
		// platform.openai.com/docs/guides/reasoning, /guides/latest-model: from GPT-5.1 on some are taken while the effort
		// is none; a request may ask for an effort, so that they are never sent.
		q.DeveloperRole = true
		q.Refuses = []string{
			"temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "stop",
		}
	}
	return q
}

// Speaks lists the dialects of generations that the model is asked in where both of OpenAI's APIs are there, the
// favourite first.
func (m OpenAIModel) Speaks() []string {
	switch {
	case m.NoChat:
		return []string{"responses"}
	case m.NoToolsInChat:
		return []string{"responses", "chat"}
	}
	return []string{"chat", "responses"}
}

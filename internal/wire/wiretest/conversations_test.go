package wiretest_test

import (
	"os"
	"path/filepath"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/provider"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/cohere"
	"evergate/internal/wire/converse"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// conversation is one thing that clients say, written by hand in each client dialect, and the answer to it, written in
// each upstream's own form.
type conversation struct {
	name string
	// reply is the folder of the answer; empty: it has the conversation's own name.
	reply string
	// thinks: it is asked of a model that thinks; of those on Bedrock of Claude.
	thinks bool
	// claude: on Bedrock it is asked of Claude.
	claude bool
}

func (c *conversation) answer() string {
	if c.reply != "" {
		return c.reply
	}
	return c.name
}

// first says whether no other conversation before has the same answer.
func (c *conversation) first() bool {
	return c.reply == "" || c.reply == "choices" || c.reply == "usage"
}

// conversations are all that there are.
func conversations() []conversation {
	return []conversation{
		{name: "text"},
		{name: "multi_turn", reply: "text"},
		{name: "image", reply: "text"},
		{name: "document", reply: "text"},
		{name: "tool"},
		{name: "tool_result", reply: "text"},
		{name: "tools"},
		{name: "tool_empty"},
		{name: "tool_forced", reply: "tool"},
		{name: "tool_none", reply: "text"},
		{name: "structured", claude: true},
		{name: "reasoning", thinks: true},
		{name: "reasoning_tool", thinks: true},
		{name: "redacted", thinks: true},
		{name: "length"},
		{name: "filter"},
		{name: "refusal"},
		{name: "stop_sequence", claude: true},
		{name: "sampling", reply: "choices"},
		{name: "metadata", reply: "usage", claude: true},
	}
}

// client is a dialect that clients speak.
type client struct {
	name    string
	dialect wire.Dialect
	// stream is what a request has more, as its first members, that asks for a stream and its usage.
	stream string
}

func clients() []client {
	return []client{
		{"chat", openaichat.Chat{}, `"stream":true,"stream_options":{"include_usage":true}`},
		{"messages", anthropic.Messages{}, `"stream":true`},
		{"responses", responses.Responses{}, `"stream":true`},
		{"gemini", gemini.Generate{}, ""}, // the path says it
	}
}

// upstream is a provider's API, and what its adapter says of the models that are asked.
type upstream struct {
	name    string
	dialect wire.Dialect
	// model and thinker are the ids of two models, the second of which thinks.
	model, thinker string
	target         func(model string) wire.Target
}

func upstreams() []upstream {
	made := func(v llm.Vendor) func(string) wire.Target {
		return func(string) wire.Target { return wire.Target{Vendor: v} }
	}
	gpt := func(model string) wire.Target {
		return wire.Target{Vendor: llm.OpenAI, Quirks: provider.ReadOpenAIModel(model).Quirks()}
	}
	deployment := func(model string) wire.Target { // as the dated API of Azure has it
		t := gpt(model)
		t.Quirks.CustomTools = false
		if t.Quirks.Refuses == nil {
			t.Quirks.MaxTokensField = "max_tokens"
		}
		return t
	}
	bedrock := func(model string) wire.Target {
		if model == nova {
			return wire.Target{Vendor: llm.Amazon}
		}
		return wire.Target{Vendor: llm.Anthropic}
	}
	return []upstream{
		{"chat", openaichat.Chat{}, "gpt-4.1", "o4-mini", gpt},
		{"azure", openaichat.Chat{}, "my-gpt-4.1", "my-o4-mini", deployment},
		{"responses", responses.Responses{}, "gpt-4.1", "o4-mini", gpt},
		{"anthropic", anthropic.Messages{}, "claude-sonnet-4-5", "claude-sonnet-4-5", made(llm.Anthropic)},
		{"gemini", gemini.Generate{}, "gemini-2.5-flash", "gemini-3-flash-preview", made(llm.Google)},
		{"converse", converse.Converse{}, nova, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock},
		{"cohere", cohere.Chat{}, "command-a-03-2025", "command-a-reasoning-08-2025", made(llm.Cohere)},
	}
}

// The models on Bedrock that are not Claude.
const (
	nova      = "us.amazon.nova-pro-v1:0"
	novaThink = "us.amazon.nova-2-lite-v1:0"
)

// novaToo is Bedrock once more, with a model of Amazon's where it thinks.
func novaToo() upstream {
	return upstream{"nova", converse.Converse{}, nova, novaThink, func(string) wire.Target { return wire.Target{Vendor: llm.Amazon} }}
}

func (u *upstream) asked(c *conversation) string {
	if c.thinks || c.claude && u.name == "converse" {
		return u.thinker
	}
	return u.model
}

// request is a conversation as a client says it.
func request(t testing.TB, c *conversation, from *client) []byte {
	t.Helper()
	return read(t, filepath.Join("testdata", "conversations", c.name, from.name+".request.json"))
}

// replyOf is the answer of an upstream, whole and streamed; ok is false where its API cannot give it.
func replyOf(t testing.TB, c *conversation, by *upstream) (plain, stream []byte, ok bool) {
	t.Helper()
	name := filepath.Join("testdata", "replies", c.answer(), by.name)
	if _, err := os.Stat(name + ".reply.json"); err != nil {
		return nil, nil, false
	}
	return read(t, name+".reply.json"), read(t, name+".stream.sse"), true
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

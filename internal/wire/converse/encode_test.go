package converse

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

func ptr[T any](v T) *T { return &v }

func says(role llm.Role, text string) llm.Message {
	return llm.Message{Role: role, Content: []llm.Part{{Kind: llm.Text, Text: text}}}
}

func call(id, name, args string) llm.Part {
	return llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: id, Name: name, Arguments: args}}
}

func result(id string, content ...llm.Part) llm.Part {
	return llm.Part{Kind: llm.ToolResult, Result: &llm.Result{CallID: id, Content: content}}
}

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func thought(text string, s *llm.Seal) llm.Part {
	return llm.Part{Kind: llm.Reasoning, Text: text, Seal: s}
}

const (
	claude45 = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	claude46 = "global.anthropic.claude-opus-4-6-v1"
	claude48 = "eu.anthropic.claude-opus-4-8"
	claude3  = "anthropic.claude-3-haiku-20240307-v1:0"
	nova2    = "us.amazon.nova-2-lite-v1:0"
)

var weather = llm.Tool{Name: "weather", Description: "Of a place", Schema: []byte(`{"type":"object", "properties":{"b":{"type":"string"},"a":{}}}`)}

type encoding struct {
	name    string
	q       llm.Request
	target  wire.Target
	dropped []string
}

var encodings = []encoding{
	{
		name: "text",
		q:    llm.Request{Messages: []llm.Message{says(llm.User, "hi")}},
	},
	{
		name: "parameters",
		q: llm.Request{
			System:    []llm.Part{text("be brief"), text(" \n"), {Kind: llm.Text, Text: "cached", Cache: &llm.Cache{TTL: "1h"}}},
			Messages:  []llm.Message{says(llm.User, "hi")},
			MaxTokens: 100, Temperature: ptr(0.7), Stop: []string{"END", ""}, TopK: ptr(int64(5)), ServiceTier: "flex",
			Metadata: []byte(`{"a":"b c","bad":"ü","n":1}`), Store: ptr(false), Choices: 1, Verbosity: "medium",
		},
		target:  wire.Target{Model: claude45, Vendor: llm.Anthropic},
		dropped: []string{"stop", "metadata"},
	},
	{
		name: "what converse cannot say",
		q: llm.Request{
			Messages: []llm.Message{{Role: llm.User, Name: "bob", Content: []llm.Part{text("hi")}}},
			MinP:     ptr(0.1), FrequencyPenalty: ptr(1.0), PresencePenalty: ptr(0.0), Seed: ptr(int64(1)), Choices: 2,
			LogProbs: true, TopLogProbs: 3, LogitBias: []byte(`{"1":2}`), Verbosity: "low", User: "u", CacheKey: "k", CacheRetention: "24h",
			Modalities: []string{"text", "audio"}, AudioVoice: "alloy", Store: ptr(true), ServiceTier: "scale", TopK: ptr(int64(1)),
			Temperature: ptr(1.5), TopP: ptr(0.5), Format: llm.Format{Kind: llm.JSONObject}, Reasoning: &llm.Effort{Level: "high"},
			Parallel: ptr(false), Cache: &llm.Cache{}, Metadata: []byte(`[]`),
			Tools: []llm.Tool{{Name: "search", Opaque: &llm.Block{Vendor: llm.OpenAI}}}, Choice: llm.ToolChoice{How: llm.Required},
		},
		target: wire.Target{Model: "meta.llama3-3-70b-instruct-v1:0"},
		dropped: []string{
			"name", "cache_control", "server_tools", "reasoning_effort", "tool_choice", "temperature", "top_k", "response_format",
			"service_tier", "metadata", "min_p", "frequency_penalty", "seed", "n", "logprobs", "top_logprobs", "logit_bias", "verbosity", "user",
			"prompt_cache_key", "prompt_cache_retention", "modalities", "audio", "store",
		},
	},
	{
		name: "tools",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "hi")},
			Tools: []llm.Tool{
				weather,
				{Name: "time", Description: " ", Schema: []byte(` { "properties":{}}`), Strict: ptr(true), Cache: &llm.Cache{}},
				{Name: "empty", Schema: []byte(`{}`), Strict: ptr(false)},
				{Name: "none"},
				{Name: "patch", Custom: true, Description: "Takes text"},
			},
			Choice: llm.ToolChoice{How: llm.Named, Name: "time"},
		},
		target:  wire.Target{Model: claude45, Vendor: llm.Anthropic},
		dropped: []string{"custom_tools"},
	},
	{
		name: "one call at a time",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "hi")},
			Tools:    []llm.Tool{weather}, Choice: llm.ToolChoice{How: llm.Required}, Parallel: ptr(false),
		},
		target: wire.Target{Model: claude45, Vendor: llm.Anthropic},
	},
	{
		name: "one call at a time, nova",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "hi")}, TopK: ptr(int64(20)),
			Tools: []llm.Tool{{Name: "t", Cache: &llm.Cache{}, Strict: ptr(true)}}, Choice: llm.ToolChoice{How: llm.Required}, Parallel: ptr(false),
		},
		target:  wire.Target{Model: nova2, Vendor: llm.Amazon},
		dropped: []string{"strict", "parallel_tool_calls", "cache_control"},
	},
	{
		name: "no tools wanted and none needed",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "hi")}, Tools: []llm.Tool{weather}, Choice: llm.ToolChoice{How: llm.None},
		},
	},
	{
		name: "no tools wanted but the history has them",
		q: llm.Request{
			Messages: []llm.Message{
				says(llm.User, "hi"),
				{Role: llm.Assistant, Content: []llm.Part{call("a", "weather", "{}")}},
				{Role: llm.User, Content: []llm.Part{result("a", text("rain"))}},
			},
			Tools: []llm.Tool{weather}, Choice: llm.ToolChoice{How: llm.None},
		},
		dropped: []string{"tool_choice"},
	},
	{
		name: "only some tools",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "hi")}, Tools: []llm.Tool{weather, {Name: "time"}},
			Choice: llm.ToolChoice{How: llm.Auto, Only: []string{"time"}},
		},
	},
	{
		name: "case 109, tools in the history and none declared",
		q: llm.Request{
			Messages: []llm.Message{
				says(llm.User, "list"),
				{Role: llm.Assistant, Content: []llm.Part{call("toolu_1", "ls", `{"path":"/"}`), call("toolu_2", "ls", "")}},
				{Role: llm.User, Content: []llm.Part{result("toolu_1", text("etc")), result("toolu_2"), text("Summarise.")}},
			},
		},
		target: wire.Target{Model: claude45, Vendor: llm.Anthropic},
	},
	{
		name: "results first, in one turn",
		q: llm.Request{
			Tools: []llm.Tool{weather},
			Messages: []llm.Message{
				says(llm.User, "both"),
				{Role: llm.Assistant, Content: []llm.Part{text(""), call("a", "weather", `{"b":1}`), call("b", "weather", `{broken`)}},
				{Role: llm.User, Content: []llm.Part{result("a", text("sunny"))}},
				says(llm.System, "hurry"),
				{Role: llm.User, Content: []llm.Part{{
					Kind:   llm.ToolResult,
					Result: &llm.Result{CallID: "b", Error: true, Content: []llm.Part{text(" "), {Kind: llm.Image, Media: &llm.Media{Data: "iVBORw0KGgoAAA"}}, {Kind: llm.Audio}}},
				}}},
				says(llm.User, "and?"),
			},
		},
		target:  wire.Target{Model: claude45, Vendor: llm.Anthropic},
		dropped: []string{"audio"},
	},
	{
		name: "ids that bedrock refuses",
		q: llm.Request{
			Tools: []llm.Tool{weather},
			Messages: []llm.Message{
				says(llm.User, "x"),
				{Role: llm.Assistant, Content: []llm.Part{
					call("call_1|fc_2", "weather", ""), call(strings.Repeat("x", 65), "weather", ""), call("", "weather", ""), call("", "weather", ""),
				}},
				{Role: llm.User, Content: []llm.Part{
					result("", text("3")), result("call_1|fc_2", text("1")), result(strings.Repeat("x", 65), text("2")), result("", text("4")),
				}},
			},
		},
	},
	{
		name: "custom calls",
		q: llm.Request{
			Tools: []llm.Tool{{Name: "patch", Custom: true}},
			Messages: []llm.Message{
				says(llm.User, "x"),
				{Role: llm.Assistant, Content: []llm.Part{{Kind: llm.ToolCall, Call: &llm.Call{ID: "a", Name: "patch", Arguments: "*** Begin", Custom: true}}}},
				{Role: llm.User, Content: []llm.Part{{Kind: llm.ToolResult, Result: &llm.Result{CallID: "a", Error: true, Custom: true}}}},
			},
		},
		dropped: []string{"custom_tools", "tool_result_error"},
	},
	{
		name: "turns alternate and begin with the user",
		q: llm.Request{Messages: []llm.Message{
			says(llm.Assistant, "a"), says(llm.Assistant, "b"), says(llm.User, " "), says(llm.User, "c"), says(llm.Assistant, ""), says(llm.User, "d"),
		}},
	},
	{
		name: "nothing but a system prompt",
		q:    llm.Request{System: []llm.Part{text("be a pirate")}},
	},
	{
		name: "case 134, a system message in the middle",
		q: llm.Request{
			System:   []llm.Part{text("TOP LEVEL")},
			Messages: []llm.Message{says(llm.User, "q"), says(llm.Assistant, "a"), says(llm.System, "MID CONVERSATION"), says(llm.User, "q2")},
		},
		target: wire.Target{Model: claude45, Vendor: llm.Anthropic},
	},
	{
		name: "the answer's beginning",
		q: llm.Request{
			Messages:  []llm.Message{says(llm.User, "q"), says(llm.Assistant, "The answer is \n")},
			Reasoning: &llm.Effort{Level: "low"},
		},
		target:  wire.Target{Model: claude45, Vendor: llm.Anthropic},
		dropped: []string{"reasoning_effort"},
	},
	{
		name: "media",
		q: llm.Request{Messages: []llm.Message{{Role: llm.User, Content: []llm.Part{
			{Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "/9j/4AAQ", Detail: "low"}, Cache: &llm.Cache{TTL: "5m"}},
			{Kind: llm.Image, Media: &llm.Media{Type: "image/webp", URL: "s3://bucket/key.webp"}},
			{Kind: llm.Image, Media: &llm.Media{URL: "https://example.com/x.png", Type: "image/png"}},
			{Kind: llm.Document, Media: &llm.Media{Type: "application/pdf", Data: "JVBERi0xLjc=", Name: "Q3_report (final).v2.pdf"}, Cache: &llm.Cache{TTL: "1h"}},
			{Kind: llm.Document, Media: &llm.Media{PlainText: "some words", Name: "Q3 report (final).v2"}, Cache: &llm.Cache{}},
			{Kind: llm.Document, Media: &llm.Media{Data: "YSxi", Name: "Q3 report (final).CSV"}},
			{Kind: llm.Document, Media: &llm.Media{Data: "AAAA", Name: "x.bin"}},
			{Kind: llm.Document, Media: &llm.Media{FileID: "file-1", Vendor: llm.OpenAI}},
			{Kind: llm.Video, Media: &llm.Media{Type: "video/mp4", Data: "AAAA"}},
			{Kind: llm.Audio, Media: &llm.Media{Type: "audio/wav", Data: "AAAA"}},
			{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "container_upload"}},
		}}}},
		target:  wire.Target{Model: claude45, Vendor: llm.Anthropic},
		dropped: []string{"detail", "images", "cache_control", "documents", "file_ids", "audio", "server_tools"},
	},
	{
		name: "the model's own pictures",
		q: llm.Request{Messages: []llm.Message{
			says(llm.User, "draw"),
			{Role: llm.Assistant, Content: []llm.Part{{Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "AAAA"}}}},
			says(llm.User, "again"),
		}},
		dropped: []string{"images"},
	},
	{
		name: "cache points",
		q: llm.Request{
			Cache: &llm.Cache{},
			Messages: []llm.Message{
				{Role: llm.User, Content: []llm.Part{{Kind: llm.Text, Text: "long", Cache: &llm.Cache{TTL: "5m"}}, text("short")}},
				says(llm.Assistant, "a"), says(llm.User, "b"),
			},
		},
		target: wire.Target{Model: nova2, Vendor: llm.Amazon},
	},
	{
		name: "seals",
		q: llm.Request{
			MaxTokens: 4000, Temperature: ptr(0.2), TopP: ptr(0.9), TopK: ptr(int64(9)), Reasoning: &llm.Effort{Level: "medium"}, Tools: []llm.Tool{weather},
			Messages: []llm.Message{
				says(llm.User, "x"),
				{Role: llm.Assistant, Content: []llm.Part{
					thought("unsealed", nil), thought("another's", &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "CAE="}), thought("foreign", &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gAAA"}),
					thought("mine", &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "Eu0=/+"}),
					thought("", &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "EtkEC"}),
					thought("", &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "converse:AAH/"}),
					{Kind: llm.Text, Text: "calling", Citations: []llm.Citation{{URL: "u"}}, Signature: &llm.Seal{Vendor: llm.Google}},
					call("a", "weather", "{}"),
				}},
				{Role: llm.User, Content: []llm.Part{result("a", text("rain"))}},
			},
		},
		target:  wire.Target{Model: claude45, Vendor: llm.Anthropic},
		dropped: []string{"reasoning", "reasoning_signature", "citations", "temperature", "top_p", "top_k"},
	},
	{
		name: "seals left out",
		q: llm.Request{
			Reasoning: &llm.Effort{Budget: 2000}, Tools: []llm.Tool{weather},
			Messages: []llm.Message{
				says(llm.User, "x"),
				{Role: llm.Assistant, Content: []llm.Part{thought("mine", &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "Eu0="}), call("a", "weather", "{}")}},
				{Role: llm.User, Content: []llm.Part{result("a", text("rain"))}},
			},
		},
		target:  wire.Target{Model: claude45, Vendor: llm.Anthropic, Unsealed: true},
		dropped: []string{"reasoning_signature", "reasoning", "reasoning_effort"},
	},
	{
		name:   "thinking by budget, no limit",
		q:      llm.Request{Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Budget: 2000}, Temperature: ptr(1.0), TopP: ptr(0.97)},
		target: wire.Target{Model: claude45, Vendor: llm.Anthropic},
	},
	{
		name:    "thinking by budget, no room",
		q:       llm.Request{Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Level: "high"}, MaxTokens: 1000},
		target:  wire.Target{Model: claude45, Vendor: llm.Anthropic},
		dropped: []string{"reasoning_effort"},
	},
	{
		name:    "thinking, a model that cannot",
		q:       llm.Request{Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Level: "high"}, Temperature: ptr(0.5), TopP: ptr(0.5)},
		target:  wire.Target{Model: claude3, Vendor: llm.Anthropic},
		dropped: []string{"reasoning_effort"},
	},
	{
		name: "thinking by effort",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Level: "xhigh", Show: "auto"}, Temperature: ptr(0.5),
			Format: llm.Format{Kind: llm.JSONSchema, Name: "answer", Description: "d", Schema: []byte(`{"z":1,"type":"object"}`)},
		},
		target:  wire.Target{Model: claude46, Vendor: llm.Anthropic},
		dropped: []string{"temperature"},
	},
	{
		name: "thinking as the newest do",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Budget: -1, Show: "auto"}, TopK: ptr(int64(3)),
		},
		target:  wire.Target{Model: claude48, Vendor: llm.Anthropic},
		dropped: []string{"top_k"},
	},
	{
		name:    "thinking off, sampling fixed",
		q:       llm.Request{Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Off: true}, Temperature: ptr(0.0), TopP: ptr(1.0)},
		target:  wire.Target{Model: claude48, Vendor: llm.Anthropic},
		dropped: []string{"temperature"},
	},
	{
		name: "thinking and a forced tool",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Level: "low"}, Tools: []llm.Tool{weather}, Choice: llm.ToolChoice{How: llm.Required},
		},
		target:  wire.Target{Model: claude46, Vendor: llm.Anthropic},
		dropped: []string{"reasoning_effort"},
	},
	{
		name:    "thinking, nova",
		q:       llm.Request{Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Level: "max"}, MaxTokens: 10, TopP: ptr(0.5)},
		target:  wire.Target{Model: nova2, Vendor: llm.Amazon},
		dropped: []string{"max_tokens", "top_p"},
	},
	{
		name:   "thinking, gpt-oss",
		q:      llm.Request{Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Budget: 100}},
		target: wire.Target{Model: "openai.gpt-oss-120b-1:0", Vendor: llm.OpenAI},
	},
	{
		name: "an arn tells no generation",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "x")}, Reasoning: &llm.Effort{Level: "high"}, TopP: ptr(0.96),
			Format: llm.Format{Kind: llm.JSONSchema, Schema: []byte(`{}`)},
		},
		target: wire.Target{Model: "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", Vendor: llm.Anthropic},
	},
	{
		name: "a schema that the model does not know",
		q: llm.Request{
			Messages: []llm.Message{says(llm.User, "x")}, Format: llm.Format{Kind: llm.JSONSchema, Schema: []byte(`{}`)}, Temperature: ptr(0.5), TopP: ptr(0.5),
		},
		target:  wire.Target{Model: "anthropic.claude-sonnet-4-20250514-v1:0", Vendor: llm.Anthropic},
		dropped: []string{"response_format"},
	},
	{
		name: "quirks",
		q: llm.Request{
			Messages: []llm.Message{{Role: llm.User, Content: []llm.Part{{Kind: llm.Text, Text: "x", Cache: &llm.Cache{}}}}},
			Format:   llm.Format{Kind: llm.JSONSchema, Schema: []byte(`{}`)}, Temperature: ptr(0.5), TopP: ptr(0.5), TopK: ptr(int64(1)),
			ServiceTier: "default", Metadata: []byte(`{"a":"b"}`), Tools: []llm.Tool{{Name: "t", Strict: ptr(true)}}, Choice: llm.ToolChoice{How: llm.Auto},
			Reasoning: &llm.Effort{Level: "low"},
		},
		target: wire.Target{Model: claude45, Vendor: llm.Anthropic, Quirks: wire.Quirks{
			DefaultMaxTokens: 512,
			Refuses: []string{
				"temperature", "topP", "top_k", "serviceTier", "requestMetadata", "toolChoice", "outputConfig", "strict", "cachePoint", "thinking",
			},
		}},
		dropped: []string{
			"cache_control", "strict", "reasoning_effort", "tool_choice", "temperature", "top_p", "top_k", "response_format", "service_tier", "metadata",
		},
	},
}

func TestEncodeRequest(t *testing.T) {
	t.Parallel()
	for _, c := range encodings {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := c.q
			q.Dropped = &llm.Dropped{}
			out, err := Converse{}.EncodeRequest([]byte("before"), &q, &c.target)
			if err != nil {
				t.Fatal(err)
			}
			body, ok := strings.CutPrefix(string(out), "before")
			if !ok || !json.Valid([]byte(body)) {
				t.Fatalf("%s", out)
			}
			alternate(t, body)
			testkit.Golden(t, "golden/requests/"+strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(c.name)+".json", append(indent(body), '\n'))
			if d := cmp.Diff(slices.Sorted(slices.Values(c.dropped)), slices.Sorted(slices.Values(q.Dropped.Names()))); d != "" {
				t.Error(d)
			}
		})
	}
}

// indent makes JSON readable and leaves the order of its members.
func indent(body string) []byte {
	var out strings.Builder
	level, inString := 0, false
	for i := range len(body) {
		c := body[i]
		switch {
		case c == '"' && (i == 0 || body[i-1] != '\\'):
			inString = !inString
		case inString:
		case (c == '}' || c == ']') && body[i-1] != '{' && body[i-1] != '[':
			level--
			if level < 3 {
				out.WriteString("\n" + strings.Repeat("  ", level))
			}
		case c == '}' || c == ']':
			level--
		}
		out.WriteByte(c)
		if inString {
			continue
		}
		if (c == '{' || c == '[') && i+1 < len(body) {
			level++
			if level <= 3 && body[i+1] != '}' && body[i+1] != ']' {
				out.WriteString("\n" + strings.Repeat("  ", level))
			}
		}
		if c == ',' && level <= 3 {
			out.WriteString("\n" + strings.Repeat("  ", level))
		}
	}
	return []byte(out.String())
}

// alternate checks what Bedrock demands of every conversation.
func alternate(t *testing.T, body string) {
	t.Helper()
	var q struct {
		Messages []struct {
			Role    string
			Content []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(body), &q); err != nil {
		t.Fatal(err)
	}
	for i, m := range q.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			t.Errorf("turn %d is the %s's, with %d blocks", i, m.Role, len(m.Content))
		}
	}
	if len(q.Messages) == 0 {
		t.Error("there are no messages")
	}
}

func TestEncodeRequestWithNothingLeft(t *testing.T) {
	t.Parallel()
	q := llm.Request{
		Dropped:  &llm.Dropped{},
		Messages: []llm.Message{{Role: llm.User, Content: []llm.Part{{Kind: llm.Image, Media: &llm.Media{URL: "https://example.com/a.png", Type: "image/png"}}}}},
	}
	out, err := Converse{}.EncodeRequest([]byte("x"), &q, &wire.Target{})
	if e := (*wire.RequestError)(nil); !errors.As(err, &e) || e.Param != "messages" || string(out) != "x" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestGenerationOf(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]generation{
		"us.anthropic.claude-3-7-sonnet-20250219-v1:0": 307,
		"anthropic.claude-3-haiku-20240307-v1:0":       300,
		"anthropic.claude-sonnet-4-20250514-v1:0":      400,
		"eu.anthropic.claude-haiku-4-5-20251001-v1:0":  405,
		"global.anthropic.claude-opus-4-6-v1":          406,
		"anthropic.claude-opus-4-10":                   410,
		"anthropic.claude-opus-5":                      500,
		"anthropic.claude-v2:1":                        100,
		"anthropic.claude-mythos-preview":              407,
		"anthropic.claude-fable":                       0,
		"arn:aws:bedrock:eu-west-1:1:inference/abc":    0,
		"arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0": 405,
	} {
		if got := generationOf(model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
}

func TestDocumentName(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{}
	for _, c := range [][2]string{
		{"report.pdf", "report"},
		{"report.txt", "report 2"},
		{"", "document"},
		{"...", "document 2"},
		{"a/b\\c  d", "a b c d"},
		{"Bücher", "B cher"},
		{".gitignore", "gitignore"},
		{strings.Repeat("x", 300), strings.Repeat("x", 190)},
	} {
		if got := documentName(c[0], taken); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

func FuzzToolID(f *testing.F) {
	f.Add("toolu_1")
	f.Add("call|x")
	f.Fuzz(func(t *testing.T, id string) {
		n := 0
		got := toolID(id, &n)
		if len(got) == 0 || len(got) > 64 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Fatalf("%q gives %q", id, got)
		}
		if id != "" && got != toolID(id, &n) {
			t.Fatal("not the same twice")
		}
	})
}

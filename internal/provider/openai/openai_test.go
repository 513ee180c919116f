package openai

import (
	"slices"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/provider"
)

// CONTRACT §2: api is auto, chat or responses; auto is the caller's own dialect where the provider has it, else chat.
func TestSpeaks(t *testing.T) {
	for _, tc := range []struct {
		name, kind, api, model string
		want                   []string
	}{
		{"openai", "openai", "auto", "gpt-4o", []string{"chat", "responses", "completions", "embeddings"}},
		{"openai, nothing said", "openai", "", "gpt-5-mini", []string{"chat", "responses", "completions", "embeddings"}},
		{"tools only in responses", "openai", "", "gpt-5.4", []string{"responses", "chat", "completions", "embeddings"}},
		{"no chat", "openai", "", "gpt-5-codex", []string{"responses", "completions", "embeddings"}},
		{"openai by chat", "openai", "chat", "gpt-5-codex", []string{"chat", "completions", "embeddings"}},
		{"openai by responses", "openai", "responses", "gpt-4o", []string{"responses", "completions", "embeddings"}},
		{"compatible", "openai-compatible", "auto", "m", []string{"chat", "completions", "embeddings"}},
		{"compatible by responses", "openai-compatible", "responses", "m", []string{"responses", "completions", "embeddings"}},
		{"keeps answers", "xai", "", "grok-4.3", []string{"chat", "responses", "completions", "embeddings"}},
		{"keeps none", "openrouter", "", "openai/gpt-5", []string{"chat", "completions", "embeddings"}},
		{"keeps none, told so", "groq", "responses", "m", []string{"responses", "completions", "embeddings"}},
		{"unknown", "hyperbolic", "", "m", []string{"chat", "completions", "embeddings"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := New(Options{Type: tc.kind, API: tc.api})
			tc.want = append(tc.want, provider.Asides()...)
			for range 2 { // one answer does not spoil the next
				if got := v.Speaks(tc.model); !slices.Equal(got, tc.want) {
					t.Errorf("%q, want %q", got, tc.want)
				}
			}
			for _, dialect := range v.Speaks(tc.model) {
				if path, query := v.Place(dialect, tc.model, true); path == "" || query != "" {
					t.Errorf("%s is spoken, but has no place: %q %q", dialect, path, query)
				}
			}
		})
	}
}

func TestPlace(t *testing.T) {
	v := New(Options{Type: "openai"})
	for dialect, want := range map[string]string{
		"chat": "/chat/completions", "responses": "/responses", "completions": "/completions", "embeddings": "/embeddings",
		"images": "/images/generations", "image_edits": "/images/edits", "speech": "/audio/speech", "transcriptions": "/audio/transcriptions",
		"translations": "/audio/translations", "moderations": "/moderations", "rerank": "/rerank",
		"messages": "", "gemini": "",
	} {
		if path, _ := v.Place(dialect, "m", false); path != want {
			t.Errorf("%s: %q, want %q", dialect, path, want)
		}
	}
}

func TestMaker(t *testing.T) {
	for _, tc := range []struct {
		kind, model string
		want        llm.Vendor
	}{
		{"openai", "gpt-5", llm.OpenAI},
		{"openrouter", "openai/gpt-5", llm.OpenAI},
		{"openrouter", "anthropic/claude-sonnet-4.5", llm.Anthropic},
		{"openrouter", "google/gemini-3-pro", llm.Google},
		{"openrouter", "moonshotai/kimi-k2.5", ""},
		{"gemini-openai", "gemini-2.5-flash", llm.Google},
		{"openai-compatible", "openai/gpt-5", ""},
		{"groq", "openai/gpt-oss-120b", ""}, // open weights sign nothing
	} {
		if got := New(Options{Type: tc.kind}).Maker(tc.model); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.kind, tc.model, got, tc.want)
		}
	}
}

func TestQuirks(t *testing.T) {
	sampling := []string{"temperature", "top_p", "stop"}
	for _, tc := range []struct {
		kind, model    string
		max, reasoning string
		plain          bool
		refuses, takes []string
	}{
		{kind: "openai", model: "gpt-4o", max: "max_completion_tokens", takes: sampling},
		{kind: "openai", model: "o3-mini", max: "max_completion_tokens", refuses: sampling, takes: []string{"reasoning_effort", "tools"}},
		{kind: "openai-compatible", model: "o3-mini", max: "max_tokens", takes: sampling},
		{kind: "groq", model: "llama-3.3-70b-versatile", max: "max_completion_tokens", refuses: []string{"logprobs", "top_logprobs", "logit_bias", "name", "n"}, takes: sampling},
		{kind: "mistral", model: "mistral-large-latest", max: "max_tokens", refuses: []string{"seed", "user", "stream_options"}, takes: []string{"temperature", "n", "parallel_tool_calls"}},
		{kind: "deepseek", model: "deepseek-v4-flash", max: "max_tokens", reasoning: "reasoning_content", plain: true, takes: []string{"logprobs", "tool_choice"}},
		{kind: "deepseek", model: "deepseek-reasoner", max: "max_tokens", reasoning: "reasoning_content", plain: true, refuses: []string{"logprobs", "tool_choice"}},
		{kind: "xai", model: "grok-4-1-fast-reasoning", max: "max_completion_tokens", refuses: []string{"presence_penalty", "stop", "reasoning_effort"}},
		{kind: "xai", model: "grok-4-1-fast-non-reasoning", max: "max_completion_tokens", refuses: []string{"presence_penalty", "reasoning_effort"}, takes: []string{"stop"}},
		{kind: "xai", model: "grok-4.3", max: "max_completion_tokens", refuses: []string{"stop"}, takes: []string{"reasoning_effort"}},
		{kind: "xai", model: "grok-4.20-multi-agent-0309", max: "max_completion_tokens", takes: []string{"reasoning_effort"}},
		{kind: "xai", model: "grok-4.20-0309-reasoning", max: "max_completion_tokens", refuses: []string{"reasoning_effort", "stop"}},
		{kind: "xai", model: "grok-4-0709", max: "max_completion_tokens", refuses: []string{"reasoning_effort", "stop"}},
		{kind: "xai", model: "grok-4", max: "max_completion_tokens", refuses: []string{"reasoning_effort", "stop"}},
		{kind: "xai", model: "grok-3-mini", max: "max_completion_tokens", refuses: []string{"stop"}, takes: []string{"reasoning_effort"}},
		{kind: "cerebras", model: "gpt-oss-120b", max: "max_completion_tokens", refuses: []string{"logit_bias", "frequency_penalty"}},
		{kind: "perplexity", model: "sonar", max: "max_tokens", refuses: []string{"tools", "tool_choice"}},
		{kind: "moonshot", model: "kimi-k2.5", max: "max_tokens", reasoning: "reasoning_content", refuses: []string{"temperature", "top_p"}},
		{kind: "moonshot", model: "moonshot-v1-8k", max: "max_tokens", reasoning: "reasoning_content", takes: []string{"temperature"}},
		{kind: "zai", model: "glm-5", max: "max_tokens", reasoning: "reasoning_content", plain: true},
		{kind: "openrouter", model: "openai/o3", max: "max_tokens", reasoning: "reasoning", takes: sampling},
		{kind: "github", model: "openai/gpt-5", max: "max_completion_tokens", refuses: sampling},
		{kind: "github", model: "mistral-ai/ministral-3b", max: "max_tokens", takes: sampling},
		{kind: "gemini-openai", model: "gemini-2.5-pro", max: "max_tokens", refuses: []string{"frequency_penalty", "store", "seed"}},
		{kind: "vllm", model: "x", max: "max_tokens", reasoning: "reasoning"},
		{kind: "llamacpp", model: "x", max: "max_tokens", reasoning: "reasoning_content"},
		{kind: "together", model: "x", max: "max_tokens"},
	} {
		t.Run(tc.kind+" "+tc.model, func(t *testing.T) {
			quirks := New(Options{Type: tc.kind}).Quirks
			first := quirks(tc.model)
			q := quirks(tc.model)
			if !slices.Equal(first.Refuses, q.Refuses) {
				t.Errorf("asked twice: %q, then %q", first.Refuses, q.Refuses)
			}
			if q.MaxTokensField != tc.max || q.ReasoningField != tc.reasoning || q.PlainSchema != tc.plain {
				t.Errorf("%+v", q)
			}
			for _, field := range tc.refuses {
				if !slices.Contains(q.Refuses, field) {
					t.Errorf("%s is sent", field)
				}
			}
			for _, field := range tc.takes {
				if slices.Contains(q.Refuses, field) {
					t.Errorf("%s is left out", field)
				}
			}
			if mistral := tc.kind == "mistral"; (q.RequiredWord == "any") != mistral || q.ShortCallIDs != mistral {
				t.Errorf("%+v", q)
			}
		})
	}
}

// No line of the table is written twice, and none lists a field twice.
func TestPresetTable(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range presets() {
		if seen[p.name] || p.quirks.MaxTokensField == "" {
			t.Errorf("%s", p.name)
		}
		seen[p.name] = true
		fields := slices.Clone(p.quirks.Refuses)
		for _, m := range p.byModel {
			for _, f := range m.refuses {
				if slices.Contains(p.quirks.Refuses, f) {
					t.Errorf("%s: %s is refused anyway", p.name, f)
				}
			}
		}
		slices.Sort(fields)
		if len(slices.Compact(fields)) != len(p.quirks.Refuses) {
			t.Errorf("%s lists a field twice: %q", p.name, p.quirks.Refuses)
		}
	}
}

package openai

import (
	"slices"
	"strings"

	"evergate/internal/llm"
	"evergate/internal/provider"
	"evergate/internal/wire"
)

// preset is what a compatible provider does differently from what the dialect says, as far as its documentation or its
// errors tell. What is only ignored is sent all the same: it does no harm, and may be known tomorrow.
type preset struct {
	name string
	// responses: it has a Responses API that keeps answers. Those without a memory (Groq, OpenRouter, Ollama, vLLM as it is
	// set up by default, DeepSeek) are asked in chat, where the gateway's own memory serves previous_response_id; they can
	// be told otherwise (api: responses).
	responses bool
	// makers: the vendor of a model is said by its name's first segment.
	makers bool
	// google: all models are Google's.
	google bool
	quirks wire.Quirks
	// byModel lists what single models refuse beyond it; every line that fits adds to the quirks.
	byModel []modelQuirk
}

// modelQuirk is about the models whose id is one of is, or begins with one of begins and holds none of but.
type modelQuirk struct {
	is, begins, but []string
	refuses         []string
}

func (m *modelQuirk) fits(model string) bool {
	if slices.Contains(m.is, model) {
		return true
	}
	for _, s := range m.but {
		if strings.Contains(model, s) {
			return false
		}
	}
	for _, s := range m.begins {
		if strings.HasPrefix(model, s) {
			return true
		}
	}
	return false
}

// maxTokens is the only name of the output limit that everybody knows.
const maxTokens = "max_tokens"

// presets is one line for each provider of which something is known. The sources are the providers' own pages, read in
// November 2026, or reports of their errors.
func presets() []preset {
	return []preset{
		// console.groq.com/docs/openai: 400 for these, and for n other than 1.
		{name: "groq", quirks: wire.Quirks{MaxTokensField: "max_completion_tokens", Refuses: []string{"logprobs", "top_logprobs", "logit_bias", "name", "n"}}},

		// docs.mistral.ai/api: unknown fields are answered with 422 extra_forbidden; the seed is called random_seed there.
		// "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9".
		{name: "mistral", quirks: wire.Quirks{MaxTokensField: maxTokens, RequiredWord: "any", ShortCallIDs: true, Refuses: []string{
			"seed", "logit_bias", "logprobs", "top_logprobs", "user", "service_tier", "store", "stream_options", "verbosity",
			"max_completion_tokens", "reasoning_effort", "prompt_cache_key", "safety_identifier", "modalities", "audio",
			"web_search_options",
		}}},

		// api-docs.deepseek.com/guides/thinking_mode, /guides/json_mode: a turn that called tools must come back with its
		// thoughts, elsewhere they are ignored; json_object is the only format. /guides/reasoning_model for the older id.
		// /api/create-chat-completion: contents are strings.
		{
			name: "deepseek", quirks: wire.Quirks{MaxTokensField: maxTokens, ReasoningField: "reasoning_content", PlainSchema: true, PlainContent: true},
			byModel: []modelQuirk{{begins: []string{"deepseek-reasoner"}, refuses: []string{"logprobs", "top_logprobs", "tool_choice"}}},
		},

		// docs.x.ai/docs/guides/reasoning; "Model … does not support parameter presencePenalty" comes of those that do not
		// reason, too. docs.x.ai/docs/guides/responses-api: answers are kept for 30 days.
		{
			name: "xai", responses: true,
			quirks: wire.Quirks{MaxTokensField: "max_completion_tokens", Refuses: []string{"presence_penalty", "frequency_penalty", "logit_bias"}},
			byModel: []modelQuirk{
				{begins: []string{"grok-3-mini", "grok-4", "grok-5", "grok-code", "grok-build"}, but: []string{"non-reasoning"}, refuses: []string{"stop"}},
				{
					is: []string{"grok-4"}, begins: []string{"grok-2", "grok-3", "grok-4-", "grok-4.20", "grok-code"}, but: []string{"grok-3-mini", "multi-agent"},
					refuses: []string{"reasoning_effort"},
				},
			},
		},

		// openrouter.ai/docs/use-cases/reasoning-tokens: thoughts go back in reasoning. Its Responses API is stateless.
		{name: "openrouter", makers: true, quirks: wire.Quirks{MaxTokensField: maxTokens, ReasoningField: "reasoning"}},

		// inference-docs.cerebras.ai/resources/openai: 400 for these.
		{name: "cerebras", quirks: wire.Quirks{MaxTokensField: "max_completion_tokens", Refuses: []string{
			"frequency_penalty", "presence_penalty", "logit_bias", "service_tier", "parallel_tool_calls",
		}}},

		// docs.perplexity.ai/api-reference: "Tool calling is not supported for this model", roles are system, user and
		// assistant; a format is json_schema or text. A penalty must be above 0.
		{name: "perplexity", quirks: wire.Quirks{MaxTokensField: maxTokens, Refuses: []string{
			"tools", "tool_choice", "parallel_tool_calls", "presence_penalty", "frequency_penalty", "logit_bias", "n",
		}}},

		// docs.fireworks.ai/guides/reasoning: interleaved and preserved thinking need reasoning_content to come back.
		{name: "fireworks", quirks: wire.Quirks{MaxTokensField: maxTokens, ReasoningField: "reasoning_content"}},

		// platform.moonshot.ai/docs/guide: thoughts of tool turns must come back; the sampling parameters of K2.5 and later
		// have one allowed value each, which differs by mode.
		{
			name: "moonshot", quirks: wire.Quirks{MaxTokensField: maxTokens, ReasoningField: "reasoning_content"},
			byModel: []modelQuirk{{
				begins: []string{"kimi-k2.", "kimi-k3", "kimi-latest"}, refuses: []string{"temperature", "top_p", "n", "presence_penalty", "frequency_penalty"},
			}},
		},

		// docs.z.ai/guides/capabilities: thinking is preserved by sending it back; formats are text and json_object.
		{name: "zai", quirks: wire.Quirks{MaxTokensField: maxTokens, ReasoningField: "reasoning_content", PlainSchema: true}},

		// ai.google.dev/gemini-api/docs/openai: what it does not know it refuses ("Unknown name … Cannot find field").
		{name: "gemini-openai", google: true, quirks: wire.Quirks{MaxTokensField: maxTokens, Refuses: []string{
			"frequency_penalty", "presence_penalty", "logit_bias", "seed", "store", "metadata", "user", "prediction", "verbosity",
			"prompt_cache_key", "safety_identifier", "name",
		}}},

		// models.github.ai serves OpenAI's models by OpenAI's rules (see quirksOf) and others.
		{name: "github", makers: true, quirks: wire.Quirks{MaxTokensField: maxTokens}},

		// docs.vllm.ai/features/reasoning_outputs: renamed from reasoning_content, which is read no more.
		{name: "vllm", quirks: wire.Quirks{MaxTokensField: maxTokens, ReasoningField: "reasoning"}},
		// docs.ollama.com/api/openai-compatibility: its Responses API is stateless.
		{name: "ollama", quirks: wire.Quirks{MaxTokensField: maxTokens, ReasoningField: "reasoning"}},
		// github.com/ggml-org/llama.cpp, tools/server/README.md.
		{name: "llamacpp", quirks: wire.Quirks{MaxTokensField: maxTokens, ReasoningField: "reasoning_content"}},
		// lmstudio.ai/docs/developer/openai-compat: its Responses API keeps answers.
		{name: "lmstudio", responses: true, quirks: wire.Quirks{MaxTokensField: maxTokens}},
	}
}

func presetOf(name string) *preset {
	for _, p := range presets() {
		if p.name == name {
			return &p
		}
	}
	return &preset{quirks: wire.Quirks{MaxTokensField: maxTokens}}
}

// maker is who made a model.
func (p *preset) maker(model string) llm.Vendor {
	if p.google {
		return llm.Google
	}
	if !p.makers {
		return ""
	}
	switch first, _, _ := strings.Cut(model, "/"); first {
	case "openai":
		return llm.OpenAI
	case "anthropic":
		return llm.Anthropic
	case "google":
		return llm.Google
	}
	return ""
}

// quirksOf are the quirks of one model.
func (p *preset) quirksOf(model string) wire.Quirks {
	q := p.quirks
	if p.name == "github" && p.maker(model) == llm.OpenAI {
		return provider.ReadOpenAIModel(model).Quirks()
	}
	for i := range p.byModel {
		if p.byModel[i].fits(model) {
			q.Refuses = append(q.Refuses[:len(q.Refuses):len(q.Refuses)], p.byModel[i].refuses...)
		}
	}
	return q
}

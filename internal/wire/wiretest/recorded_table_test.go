package wiretest_test

import (
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/cohere"
	"evergate/internal/wire/converse"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// folders are the recordings by the dialect that reads them and the folder of testdata/recorded they are in.
func folders() []folder {
	return []folder{
		{openaichat.Chat{}, "azure-chat", []string{
			"content-filter-prompt.json",
			"content-filter-response-gpt-35-turbo.json",
			"error-401-bad-key.json",
			"text-gpt-5-nano.json",
			"text-stream-gpt-5-mini.sse",
			"tool-single-stream-o4-mini.sse",
		}},
		{openaichat.Chat{}, "cerebras-chat", []string{
			"reasoning-gpt-oss-120b.json",
			"tool-stream-glm-4.7.sse",
		}},
		{openaichat.Chat{}, "constructed-errors", []string{
			"openai-429-tokens-per-min.json",
			"openai-500-server-error.json",
			"openai-503-overloaded.json",
		}},
		{openaichat.Chat{}, "deepseek-chat", []string{
			"error-401-bad-key.json",
			"logprobs-stream-v4-flash.sse",
			"reasoning-stream-v4-pro.sse",
			"tool-parallel-stream-chat.sse",
		}},
		{openaichat.Chat{}, "fireworks-chat", []string{
			"reasoning-gpt-oss-20b.json",
		}},
		{openaichat.Chat{}, "gemini-openai-compat", []string{
			"text-stream-2.5-flash.sse",
		}},
		{openaichat.Chat{}, "gpustack-chat", []string{
			"error-in-stream-llama-box.sse",
		}},
		{openaichat.Chat{}, "groq-chat", []string{
			"error-400-tool-use-failed.json",
			"error-in-stream-tool-use-failed.sse",
			"reasoning-tool-stream-gpt-oss-120b.sse",
			"tool-parallel-stream-kimi-k2.sse",
		}},
		{openaichat.Chat{}, "huggingface-chat", []string{
			"image-in-qwen2.5-vl.json",
			"text-stream-kimi-k2.sse",
		}},
		{openaichat.Chat{}, "llamacpp-chat", []string{
			"reasoning-tool-stream-gpt-oss-20b.sse",
		}},
		{openaichat.Chat{}, "mistral-chat", []string{
			"error-401-bad-key.json",
			"text-stream-small.sse",
			"thinking-stream-magistral.sse",
			"tool-parallel-small.json",
		}},
		{openaichat.Chat{}, "ollama-openai-compat", []string{
			"error-400-prompt-too-long.json",
			"json-schema-qwen3.json",
		}},
		{openaichat.Chat{}, "openai-chat", []string{
			"audio-out-gpt-4o-mini-audio.json",
			"cache-read-stream-gpt-4o.sse",
			"cache-write-gpt-5.6.json",
			"citations-gpt-4o-mini-search.json",
			"error-400-unsupported-parameter.json",
			"error-404-unknown-model.json",
			"json-schema-gpt-4o.json",
			"json-schema-stream-gpt-4o.sse",
			"legacy-function-call-gpt-4.json",
			"length-stream-gpt-5-nano.sse",
			"n2-stream-gpt-3.5.sse",
			"refusal-stream-gpt-4o.sse",
			"text-gpt-4o.json",
			"text-gpt-5-nano.json",
			"text-stream-gpt-4o-usage.sse",
			"tool-empty-args-gpt-4o.json",
			"tool-parallel-stream-gpt-5.sse",
			"tool-result-stream-gpt-4o.sse",
			"tool-single-gpt-4o.json",
			"tool-single-stream-gpt-4o.sse",
		}},
		{openaichat.Chat{}, "openrouter-chat", []string{
			"cache-reasoning-tool-parallel-stream-kimi-k2.5.sse",
			"content-filter-refusal-gpt-4.1.json",
			"error-429-rate-limit-headers.json",
			"text-stream-haiku-4.5.sse",
			"thinking-signature-tool-stream-haiku-4.5.sse",
			"web-search-stream-deepseek.sse",
		}},
		{openaichat.Chat{}, "perplexity-chat", []string{
			"error-401-bad-key.json",
			"text-stream-sonar.sse",
		}},
		{openaichat.Chat{}, "together-chat", []string{
			"text-mixtral.json",
		}},
		{openaichat.Chat{}, "vercel-gateway-chat", []string{
			"thinking-signature-tool-sonnet-4.json",
		}},
		{openaichat.Chat{}, "vllm-chat", []string{
			"text-stream-opt-125m.sse",
		}},
		{openaichat.Chat{}, "xai-chat", []string{
			"reasoning-tool-stream-grok-code-fast.sse",
			"text-stream-grok-4-fast.sse",
		}},
		{openaichat.Completions{}, "openai-completions", []string{
			"logprobs-suffix-gpt-3.5-instruct.json",
		}},
		{openaichat.Completions{}, "vllm-completions", []string{
			"text-stream-opt-125m.sse",
		}},
		{openaichat.Embeddings{}, "azure-embeddings", []string{
			"3-large.json",
		}},
		{openaichat.Embeddings{}, "llamacpp-embeddings", []string{
			"error-501-not-supported.json",
		}},
		{openaichat.Embeddings{}, "mistral-embeddings", []string{
			"mistral-embed.json",
		}},
		{openaichat.Embeddings{}, "openai-embeddings", []string{
			"error-404-unknown-model.json",
			"float-dimensions-3-small.json",
		}},
		{openaichat.Embeddings{}, "voyage-embeddings", []string{
			"voyage-3-lite.json",
		}},
		{responses.Responses{}, "azure-responses", []string{
			"reasoning-summary-tool-stream-gpt-5-mini.sse",
		}},
		{responses.Responses{}, "bedrock-mantle-responses", []string{
			"tool-stream-gpt-5.6.sse",
		}},
		{responses.Responses{}, "constructed-errors", []string{
			"openai-responses-failed-overloaded.sse",
		}},
		{responses.Responses{}, "deepseek-responses", []string{
			"text-stream-v4-flash.sse",
		}},
		{responses.Responses{}, "openai-responses", []string{
			"code-interpreter-stream-gpt-5.sse",
			"custom-tool-gpt-5.json",
			"error-400-previous-response-not-found.json",
			"error-401-bad-key.json",
			"error-429-insufficient-quota-body.json",
			"file-search-stream-gpt-4o.sse",
			"image-in-gpt-4.1-nano.json",
			"incomplete-mid-tool-stream-gpt-5.6.sse",
			"json-schema-gpt-4o.json",
			"mcp-stream-gpt-4.1.sse",
			"multi-turn-output-items-gpt-4.1-nano.json",
			"reasoning-encrypted-replayed-gpt-5-nano.json",
			"reasoning-encrypted-tool-o4-mini.json",
			"refusal-stream-gpt-4o.sse",
			"text-gpt-4o.json",
			"text-stream-gpt-4o.sse",
			"tool-empty-args-stream-gpt-4o.sse",
			"tool-parallel-stream-gpt-4o.sse",
			"tool-single-stream-reasoning-gpt-5.sse",
		}},
		{responses.Responses{}, "openrouter-responses", []string{
			"reasoning-stream-gpt-oss-20b.sse",
		}},
		{responses.Responses{}, "vllm-responses", []string{
			"text-qwen3.json",
		}},
		{responses.Responses{}, "xai-responses", []string{
			"error-400-bad-key.json",
		}},
		{anthropic.Messages{}, "anthropic-messages", []string{
			"cache-read-stream.sse",
			"citations-stream-haiku-4.5.sse",
			"compaction-cache-stream-sonnet-4.6.sse",
			"duplicate-message-start-stream.sse",
			"error-400-invalid-request.json",
			"error-401-request-id.json",
			"image-in-sonnet-4.json",
			"pause-turn-web-search-stream-sonnet-4.5.sse",
			"redacted-thinking-stream-sonnet-4.5.sse",
			"refusal-stream-fable-5.sse",
			"text-sonnet-4.json",
			"text-stream-sonnet-4.5.sse",
			"thinking-multi-turn-haiku-4.5.json",
			"thinking-summarized-sonnet-5.json",
			"tool-empty-args-stream-haiku-4.5.sse",
			"tool-parallel-empty-args-haiku-4.5.json",
			"tool-parallel-stream-sonnet-4.sse",
			"tool-result-sonnet-4.json",
			"tool-search-stream-sonnet-4.6.sse",
			"tool-single-opus-3.json",
			"web-search-stream-haiku-4.5.sse",
		}},
		{anthropic.Messages{}, "bedrock-invoke", []string{
			"anthropic-messages-sonnet-3.json",
			"anthropic-stream-sonnet-4.5.eventstream",
		}},
		{anthropic.Messages{}, "constructed-errors", []string{
			"anthropic-413-request-too-large.json",
			"anthropic-429-rate-limit.json",
			"anthropic-500-api-error.json",
			"anthropic-529-overloaded.json",
			"anthropic-error-in-stream-overloaded.sse",
		}},
		{anthropic.Messages{}, "vertex-anthropic", []string{
			"text-stream-sonnet-3.7.sse",
		}},
		{anthropic.CountTokens{}, "anthropic-count-tokens", []string{
			"haiku-4.5.json",
		}},
		{gemini.Generate{}, "constructed-errors", []string{
			"gemini-500-internal.json",
			"gemini-503-unavailable.json",
		}},
		{gemini.Generate{}, "gemini-generate", []string{
			"code-execution-stream-3-flash.sse",
			"error-400-api-key.json",
			"error-429-quota.json",
			"grounding-search-2.5-flash.json",
			"json-schema-stream-3.1-pro.sse",
			"max-tokens-stream-2.5-flash.sse",
			"multi-turn-2.5-flash.json",
			"stop-sequence-1.5-flash.json",
			"text-2.5-flash.json",
			"text-stream-jsonarray-3.6-flash.json",
			"tool-empty-args-stream-2.5-flash.sse",
			"tool-parallel-stream-3.1-pro.sse",
			"tool-single-stream-2.5-flash.sse",
			"two-candidates-2.5-flash.json",
		}},
		{gemini.Generate{}, "vertex-generate", []string{
			"error-in-stream.sse",
			"logprobs-2.5-flash.json",
			"model-armor-prompt-blocked.json",
		}},
		{gemini.CountTokens{}, "gemini-count-tokens", []string{
			"3.5-flash.json",
		}},
		{gemini.BatchEmbed{}, "gemini-embeddings", []string{
			"batch-embedding-2.json",
		}},
		{converse.Converse{}, "bedrock-converse", []string{
			"citations-stream-haiku-4.5.eventstream",
			"error-400-input-tokens.json",
			"error-404-retired-model.json",
			"error-in-stream-validation-exception.eventstream",
			"image-in-sonnet-4.5.json",
			"multi-turn-nova-2-lite.json",
			"redacted-thinking-stream-sonnet-3.7.eventstream",
			"text-stream-nova-micro.eventstream",
			"thinking-haiku-4.5.json",
			"thinking-stream-sonnet-4.eventstream",
			"tool-single-sonnet-3.json",
			"tool-single-stream-sonnet-3.eventstream",
		}},
		{converse.Converse{}, "constructed-errors", []string{
			"bedrock-429-throttling.json",
		}},
		{converse.NovaEmbed{}, "bedrock-embeddings", []string{
			"nova-2-multimodal.json",
		}},
		{cohere.Chat{}, "cohere-chat", []string{
			"error-400-too-many-tokens.json",
			"json-schema-command-a.json",
			"tool-parallel-command-a.json",
			"tool-single-stream-command-a.sse",
		}},
		{cohere.Embed{}, "cohere-embeddings", []string{
			"english-light-v3.json",
		}},
	}
}

// folder is a group of recordings in one dialect.
type folder struct {
	dialect wire.Dialect
	name    string
	files   []string
}

package config

import (
	"slices"
	"strings"
)

// The classes of providers (R30).
const (
	classAPIKey = "api_key"
	classOAuth  = "oauth"
	classLocal  = "local"
)

// preset is what a provider type knows of itself: facts from the hosts' own documentation.
type preset struct {
	name string
	// baseURL is complete, without a slash at its end; empty: the user must say it.
	baseURL string
	class   string // empty: by where base_url points
	// keyEnv and urlEnv are the variables that detection looks at; keyEnv is also named where a key is missing.
	keyEnv, urlEnv string
	// quiet presets are not detected: their variable is set for other purposes too, on machines that want no gateway.
	quiet bool
	// native types have an API of their own, and say themselves how a key is sent. segment is what their base URLs end
	// with, whether it was written or not: what follows it in a request's path is the adapter's.
	native  bool
	segment string
	// moreEnv is a second variable that detection looks at for a key.
	moreEnv string
	// streamUsage: it knows stream_options.include_usage. Left false where it is refused (Mistral answers 422,
	// Fireworks 400), has no effect because usage always comes (OpenRouter, Perplexity), or is not documented.
	streamUsage bool
}

// The types that have settings of their own.
const (
	compatible = "openai-compatible" // knows nothing but the dialect
	azure      = "azure-openai"
	bedrock    = "bedrock"
	vertex     = "vertex"
)

// presets are the provider types, in the order in which they are detected.
func presets() []preset {
	return []preset{
		{name: "openai", baseURL: "https://api.openai.com/v1", class: classAPIKey, keyEnv: "OPENAI_API_KEY", urlEnv: "OPENAI_BASE_URL", streamUsage: true},
		{name: compatible},
		{name: "anthropic", baseURL: "https://api.anthropic.com/v1", class: classAPIKey, keyEnv: "ANTHROPIC_API_KEY", urlEnv: "ANTHROPIC_BASE_URL", native: true, segment: "v1"},
		{name: "gemini", baseURL: "https://generativelanguage.googleapis.com/v1beta", class: classAPIKey, keyEnv: "GEMINI_API_KEY", urlEnv: "GEMINI_BASE_URL", native: true, segment: "v1beta", moreEnv: "GOOGLE_API_KEY"},
		{name: vertex, class: classAPIKey, native: true, segment: "v1"},
		{name: "azure-openai", class: classAPIKey, keyEnv: "AZURE_OPENAI_API_KEY", urlEnv: "AZURE_OPENAI_ENDPOINT", native: true, segment: "openai", streamUsage: true},
		{name: bedrock, class: classAPIKey, keyEnv: "AWS_BEARER_TOKEN_BEDROCK", native: true},
		{name: "cohere", baseURL: "https://api.cohere.com/v2", class: classAPIKey, keyEnv: "COHERE_API_KEY", urlEnv: "COHERE_BASE_URL", native: true, segment: "v2"},
		{name: "groq", baseURL: "https://api.groq.com/openai/v1", class: classAPIKey, keyEnv: "GROQ_API_KEY", urlEnv: "GROQ_BASE_URL", streamUsage: true},
		{name: "mistral", baseURL: "https://api.mistral.ai/v1", class: classAPIKey, keyEnv: "MISTRAL_API_KEY", urlEnv: "MISTRAL_BASE_URL"},
		{name: "deepseek", baseURL: "https://api.deepseek.com/v1", class: classAPIKey, keyEnv: "DEEPSEEK_API_KEY", urlEnv: "DEEPSEEK_BASE_URL", streamUsage: true},
		{name: "xai", baseURL: "https://api.x.ai/v1", class: classAPIKey, keyEnv: "XAI_API_KEY", urlEnv: "XAI_BASE_URL", streamUsage: true},
		{name: "together", baseURL: "https://api.together.xyz/v1", class: classAPIKey, keyEnv: "TOGETHER_API_KEY", urlEnv: "TOGETHER_BASE_URL"},
		{name: "fireworks", baseURL: "https://api.fireworks.ai/inference/v1", class: classAPIKey, keyEnv: "FIREWORKS_API_KEY", urlEnv: "FIREWORKS_BASE_URL"},
		{name: "openrouter", baseURL: "https://openrouter.ai/api/v1", class: classAPIKey, keyEnv: "OPENROUTER_API_KEY", urlEnv: "OPENROUTER_BASE_URL"},
		{name: "cerebras", baseURL: "https://api.cerebras.ai/v1", class: classAPIKey, keyEnv: "CEREBRAS_API_KEY", urlEnv: "CEREBRAS_BASE_URL"},
		{name: "perplexity", baseURL: "https://api.perplexity.ai", class: classAPIKey, keyEnv: "PERPLEXITY_API_KEY", urlEnv: "PERPLEXITY_BASE_URL"},
		{name: "deepinfra", baseURL: "https://api.deepinfra.com/v1/openai", class: classAPIKey, keyEnv: "DEEPINFRA_API_KEY", urlEnv: "DEEPINFRA_BASE_URL"},
		{name: "nvidia", baseURL: "https://integrate.api.nvidia.com/v1", class: classAPIKey, keyEnv: "NVIDIA_API_KEY", urlEnv: "NVIDIA_BASE_URL"},
		{name: "sambanova", baseURL: "https://api.sambanova.ai/v1", class: classAPIKey, keyEnv: "SAMBANOVA_API_KEY", urlEnv: "SAMBANOVA_BASE_URL", streamUsage: true},
		{name: "moonshot", baseURL: "https://api.moonshot.ai/v1", class: classAPIKey, keyEnv: "MOONSHOT_API_KEY", urlEnv: "MOONSHOT_BASE_URL"},
		{name: "zai", baseURL: "https://api.z.ai/api/paas/v4", class: classAPIKey, keyEnv: "ZAI_API_KEY", urlEnv: "ZAI_BASE_URL"},
		{name: "dashscope", baseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", class: classAPIKey, keyEnv: "DASHSCOPE_API_KEY", urlEnv: "DASHSCOPE_BASE_URL", streamUsage: true},
		{name: "hyperbolic", baseURL: "https://api.hyperbolic.xyz/v1", class: classAPIKey, keyEnv: "HYPERBOLIC_API_KEY", urlEnv: "HYPERBOLIC_BASE_URL"},
		{name: "novita", baseURL: "https://api.novita.ai/openai/v1", class: classAPIKey, keyEnv: "NOVITA_API_KEY", urlEnv: "NOVITA_BASE_URL", streamUsage: true},
		{name: "nebius", baseURL: "https://api.tokenfactory.nebius.com/v1", class: classAPIKey, keyEnv: "NEBIUS_API_KEY", urlEnv: "NEBIUS_BASE_URL"},
		{name: "gemini-openai", baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", class: classAPIKey, keyEnv: "GEMINI_API_KEY", quiet: true, streamUsage: true},
		{name: "huggingface", baseURL: "https://router.huggingface.co/v1", class: classAPIKey, keyEnv: "HF_TOKEN", quiet: true, streamUsage: true},
		{name: "github", baseURL: "https://models.github.ai/inference", class: classAPIKey, keyEnv: "GITHUB_TOKEN", quiet: true},
		{name: "ollama", baseURL: "http://127.0.0.1:11434/v1", class: classLocal, keyEnv: "OLLAMA_API_KEY", urlEnv: "OLLAMA_BASE_URL", streamUsage: true},
		{name: "vllm", baseURL: "http://127.0.0.1:8000/v1", class: classLocal, keyEnv: "VLLM_API_KEY", urlEnv: "VLLM_BASE_URL", streamUsage: true},
		{name: "llamacpp", baseURL: "http://127.0.0.1:8080/v1", class: classLocal, keyEnv: "LLAMACPP_API_KEY", urlEnv: "LLAMACPP_BASE_URL", streamUsage: true},
		{name: "lmstudio", baseURL: "http://127.0.0.1:1234/v1", class: classLocal, keyEnv: "LMSTUDIO_API_KEY", urlEnv: "LMSTUDIO_BASE_URL", streamUsage: true},
	}
}

// typeWords are the words of providers.NAME.type.
func typeWords() []word[string] {
	var words []word[string]
	for _, p := range presets() {
		words = append(words, say(p.name, p.name))
	}
	return words
}

func presetNamed(name string) preset {
	all := presets()
	if i := slices.IndexFunc(all, func(p preset) bool { return p.name == name }); i >= 0 {
		return all[i]
	}
	return preset{}
}

// knownBase says whether a URL is the whole base URL of a preset, so that nothing is to be added to it.
func knownBase(url string) bool {
	return slices.ContainsFunc(presets(), func(p preset) bool { return p.baseURL != "" && strings.EqualFold(p.baseURL, url) })
}

package importer

import (
	"net/url"
	"strings"
)

// kind is what a word for a provider, in one of the formats, is for us.
type kind struct {
	typ string
	// key is the variable that the other gateway takes the key from where none is written; empty: none.
	key string
	// base is the address where our type has none of its own, and the host is known.
	base string
	// local servers need no key.
	local bool
}

// kinds are the words of LiteLLM, Portkey and Bifrost, and of GoModel as far as they agree: each word means the same thing wherever it is used.
func kinds() map[string]kind {
	compatible := func(base, key string) kind { return kind{typ: "openai-compatible", base: base, key: key} }
	return map[string]kind{
		"openai":                 {typ: "openai", key: "OPENAI_API_KEY"},
		"text-completion-openai": {typ: "openai", key: "OPENAI_API_KEY"},
		"azure":                  {typ: "azure-openai", key: "AZURE_API_KEY"},
		"azure-openai":           {typ: "azure-openai", key: "AZURE_API_KEY"},
		"azure_ai":               compatible("", "AZURE_AI_API_KEY"),
		"azure-ai":               compatible("", "AZURE_AI_API_KEY"),
		"anthropic":              {typ: "anthropic", key: "ANTHROPIC_API_KEY"},
		"bedrock":                {typ: "bedrock"},
		"vertex":                 {typ: "vertex"},
		"vertex-ai":              {typ: "vertex"},
		"vertex_ai":              {typ: "vertex"},
		"vertex_ai_beta":         {typ: "vertex"},
		"gemini":                 {typ: "gemini", key: "GEMINI_API_KEY"},
		"google":                 {typ: "gemini", key: "GEMINI_API_KEY"},
		"cohere":                 {typ: "cohere", key: "COHERE_API_KEY"},
		"cohere_chat":            {typ: "cohere", key: "COHERE_API_KEY"},
		"groq":                   {typ: "groq", key: "GROQ_API_KEY"},
		"mistral":                {typ: "mistral", key: "MISTRAL_API_KEY"},
		"mistral-ai":             {typ: "mistral", key: "MISTRAL_API_KEY"},
		"codestral":              {typ: "mistral", key: "CODESTRAL_API_KEY"},
		"deepseek":               {typ: "deepseek", key: "DEEPSEEK_API_KEY"},
		"xai":                    {typ: "xai", key: "XAI_API_KEY"},
		"x-ai":                   {typ: "xai", key: "XAI_API_KEY"},
		"together_ai":            {typ: "together", key: "TOGETHERAI_API_KEY"},
		"together-ai":            {typ: "together", key: "TOGETHER_API_KEY"},
		"together":               {typ: "together", key: "TOGETHER_API_KEY"},
		"fireworks_ai":           {typ: "fireworks", key: "FIREWORKS_AI_API_KEY"},
		"fireworks-ai":           {typ: "fireworks", key: "FIREWORKS_API_KEY"},
		"fireworks":              {typ: "fireworks", key: "FIREWORKS_API_KEY"},
		"openrouter":             {typ: "openrouter", key: "OPENROUTER_API_KEY"},
		"cerebras":               {typ: "cerebras", key: "CEREBRAS_API_KEY"},
		"perplexity":             {typ: "perplexity", key: "PERPLEXITYAI_API_KEY"},
		"perplexity-ai":          {typ: "perplexity", key: "PERPLEXITY_API_KEY"},
		"deepinfra":              {typ: "deepinfra", key: "DEEPINFRA_API_KEY"},
		"nvidia_nim":             {typ: "nvidia", key: "NVIDIA_NIM_API_KEY"},
		"nvidia-nim":             {typ: "nvidia", key: "NVIDIA_API_KEY"},
		"nvidia":                 {typ: "nvidia", key: "NVIDIA_API_KEY"},
		"sambanova":              {typ: "sambanova", key: "SAMBANOVA_API_KEY"},
		"moonshot":               {typ: "moonshot", key: "MOONSHOT_API_KEY"},
		"zai":                    {typ: "zai", key: "ZAI_API_KEY"},
		"z-ai":                   {typ: "zai", key: "ZAI_API_KEY"},
		"dashscope":              {typ: "dashscope", key: "DASHSCOPE_API_KEY"},
		"bailian":                {typ: "dashscope", key: "BAILIAN_API_KEY"},
		"hyperbolic":             {typ: "hyperbolic", key: "HYPERBOLIC_API_KEY"},
		"novita":                 {typ: "novita", key: "NOVITA_API_KEY"},
		"novita-ai":              {typ: "novita", key: "NOVITA_API_KEY"},
		"nebius":                 {typ: "nebius", key: "NEBIUS_API_KEY"},
		"huggingface":            {typ: "huggingface", key: "HUGGINGFACE_API_KEY"},
		"github":                 {typ: "github", key: "GITHUB_API_KEY"},
		"ollama":                 {typ: "ollama", local: true},
		"ollama_chat":            {typ: "ollama", local: true},
		"vllm":                   {typ: "vllm", local: true},
		"hosted_vllm":            {typ: "vllm", local: true},
		"sglang":                 {typ: "vllm", base: "http://localhost:30000/v1", local: true},
		"sgl":                    {typ: "vllm", base: "http://localhost:30000/v1", local: true},
		"llmd":                   {typ: "vllm", local: true},
		"llamacpp":               {typ: "llamacpp", local: true},
		"llamafile":              {typ: "llamacpp", local: true},
		"lm_studio":              {typ: "lmstudio", local: true},
		"lmstudio":               {typ: "lmstudio", local: true},
		"openai_like":            compatible("", "OPENAI_LIKE_API_KEY"),
		"custom_openai":          compatible("", "OPENAI_API_KEY"),
		"litellm_proxy":          compatible("", "LITELLM_PROXY_API_KEY"),
		"xinference":             compatible("", ""),
		"lemonade":               compatible("", ""),
		"oracle":                 compatible("", "ORACLE_API_KEY"),
		"parasail":               compatible("https://api.parasail.io/v1", "PARASAIL_API_KEY"),
		"chutes":                 compatible("https://llm.chutes.ai/v1", "CHUTES_API_KEY"),
		"kilo":                   compatible("https://api.kilo.ai/api/gateway", "KILO_API_KEY"),
		"edenai":                 compatible("https://api.edenai.run/v3", "EDENAI_API_KEY"),
		"xiaomi":                 compatible("https://api.xiaomimimo.com/v1", "XIAOMI_API_KEY"),
		"minimax":                compatible("https://api.minimax.io/v1", "MINIMAX_API_KEY"),
		"meta":                   compatible("https://api.meta.ai/v1", "META_API_KEY"),
		"opencode_go":            compatible("https://opencode.ai/zen/go/v1", "OPENCODE_GO_API_KEY"),
		"kimicode":               compatible("https://api.kimi.com/coding/v1", "KIMICODE_API_KEY"),
	}
}

// kindOf finds a word for a provider, whatever its case.
func (c *conversion) kindOf(word string) (kind, bool) {
	k, ok := c.kinds[strings.ToLower(word)]
	return k, ok
}

// guess says whose model an id without a provider is, by the families whose names give them away.
func guess(id string) (word string, ok bool) {
	for _, family := range []struct{ prefix, word string }{
		{"gpt-", "openai"},
		{"o1", "openai"},
		{"o3", "openai"},
		{"o4", "openai"},
		{"chatgpt-", "openai"},
		{"text-embedding-3", "openai"},
		{"text-embedding-ada", "openai"},
		{"dall-e", "openai"},
		{"whisper-", "openai"},
		{"tts-", "openai"},
		{"omni-moderation", "openai"},
		{"claude-", "anthropic"},
		{"gemini-", "gemini"},
		{"command-", "cohere"},
		{"embed-english", "cohere"},
		{"embed-multilingual", "cohere"},
		{"rerank-", "cohere"},
		{"mistral-", "mistral"},
		{"codestral-", "mistral"},
		{"deepseek-", "deepseek"},
		{"grok-", "xai"},
		{"sonar", "perplexity"},
	} {
		if strings.HasPrefix(strings.ToLower(id), family.prefix) {
			return family.word, true
		}
	}
	return "", false
}

// ownHost says whether an address is OpenAI's own, so that type openai is right for it.
func ownHost(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".api.openai.com"))
}

// webAddress says whether a text can be a base URL.
func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

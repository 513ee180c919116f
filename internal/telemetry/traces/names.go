package traces

// operationOf is gen_ai.operation.name for what a client asks in a dialect: a word of the conventions where they have one,
// else the dialect's name.
func operationOf(dialect string) string {
	switch dialect {
	case "chat", "messages", "responses", "cohere", "converse":
		return "chat"
	case "completions":
		return "text_completion"
	case "gemini":
		return "generate_content"
	case "embeddings", "gemini_embed", "gemini_batch_embed", "vertex_embed":
		return "embeddings"
	}
	return dialect
}

// providerName is gen_ai.provider.name for a provider's type: a word of the conventions where they have one, else the type.
func providerName(kind string) string {
	switch kind {
	case "gemini", "gemini-openai":
		return "gcp.gemini"
	case "vertex":
		return "gcp.vertex_ai"
	case "bedrock":
		return "aws.bedrock"
	case "azure-openai":
		return "azure.ai.openai"
	case "mistral":
		return "mistral_ai"
	case "xai":
		return "x_ai"
	case "moonshot":
		return "moonshot_ai"
	case "":
		return "unknown"
	}
	return kind
}

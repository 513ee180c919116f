package llm

// EmbedRequest asks for one vector for each input.
type EmbedRequest struct {
	Model  string
	Inputs []string
	// Tokens are inputs given as token ids in place of Inputs; most dialects cannot say them.
	Tokens [][]int64
	// Dimensions is the wanted length of the vectors; 0: the model's own.
	Dimensions int64
	// Base64: the client wants little-endian float32 in base64, not numbers.
	Base64 bool
	// Task is what the vectors are for: query, document, similarity, classification, clustering; empty: unsaid.
	Task    string
	Title   string
	User    string
	Dropped *Dropped
}

// EmbedReply holds the vectors in the order of the inputs.
type EmbedReply struct {
	Model   string
	Vectors [][]float32
	Usage   Usage
}

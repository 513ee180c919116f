package openaiwords

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// ReadUsage reads a usage object, in OpenAI's spelling or in that of a vendor. Where two spellings of one number come together the
// larger is taken. Vendors differ in whether reasoning is part of the output: where the total says that it is not, it is added: who pays for an answer pays for its
// thoughts.
func ReadUsage(r *jsonscan.Reader) (u wire.Usage) {
	if !r.Object() {
		return u
	}
	var total int64
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "prompt_tokens", "input_tokens":
			count(r, &u.Input, &u)
		case "completion_tokens", "output_tokens":
			count(r, &u.Output, &u)
		case "total_tokens":
			count(r, &total, &u)
		case "prompt_tokens_details", "input_tokens_details":
			readInputDetails(r, &u)
		case "completion_tokens_details", "output_tokens_details":
			readOutputDetails(r, &u)
		case "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens":
			count(r, &u.CachedInput, &u)
		case "cache_creation_input_tokens":
			count(r, &u.CacheWrite, &u)
		case "reasoning_tokens":
			count(r, &u.Reasoning, &u)
		default:
			r.Skip()
		}
	}
	hidden := total - u.Input - u.Output
	switch {
	case u.Input == 0 && u.Output == 0:
		u.Input = total // all that some embeddings say
	case hidden <= 0:
	case hidden == u.Reasoning: // xAI leaves it out of the output, and bills it
		u.Output += hidden
	case hidden == u.CachedInput+u.CacheWrite: // Anthropic's way: the prompt is what the cache neither gave nor took
		u.Input += hidden
	case u.Output > 0 && u.Reasoning == 0 && u.CachedInput == 0 && u.CacheWrite == 0: // Gemini's thoughts, behind those that do not name them
		u.Output += hidden
	}
	return u
}

func readInputDetails(r *jsonscan.Reader, u *wire.Usage) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "cached_tokens":
			count(r, &u.CachedInput, u)
		case "cache_write_tokens", "cache_creation_tokens":
			count(r, &u.CacheWrite, u)
		case "audio_tokens":
			count(r, &u.AudioInput, u)
		default:
			r.Skip()
		}
	}
}

func readOutputDetails(r *jsonscan.Reader, u *wire.Usage) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "reasoning_tokens":
			count(r, &u.Reasoning, u)
		case "audio_tokens":
			count(r, &u.AudioOutput, u)
		default:
			r.Skip()
		}
	}
}

func count(r *jsonscan.Reader, to *int64, u *wire.Usage) {
	if n, ok := r.Int(); ok {
		u.Known = true
		*to = max(*to, min(n, llm.MaxTokens))
	}
}

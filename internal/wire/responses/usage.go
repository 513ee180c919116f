package responses

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// readUsage reads a usage object. Some vendors spell it as in chat completions; of two spellings of one number the
// larger is taken.
func readUsage(r *jsonscan.Reader) (u wire.Usage) {
	if !r.Object() {
		return u
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "input_tokens", "prompt_tokens":
			count(r, &u.Input, &u)
		case "output_tokens", "completion_tokens":
			count(r, &u.Output, &u)
		case "input_tokens_details", "prompt_tokens_details":
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				switch string(key) {
				case "cached_tokens":
					count(r, &u.CachedInput, &u)
				case "cache_write_tokens":
					count(r, &u.CacheWrite, &u)
				case "audio_tokens":
					count(r, &u.AudioInput, &u)
				default:
					r.Skip()
				}
			}
		case "output_tokens_details", "completion_tokens_details":
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				switch string(key) {
				case "reasoning_tokens":
					count(r, &u.Reasoning, &u)
				case "audio_tokens":
					count(r, &u.AudioOutput, &u)
				default:
					r.Skip()
				}
			}
		default:
			r.Skip()
		}
	}
	return u
}

func count(r *jsonscan.Reader, to *int64, u *wire.Usage) {
	if n, ok := r.Int(); ok {
		u.Known = true
		*to = max(*to, n)
	}
}

// appendUsage appends a usage object.
func appendUsage(dst []byte, u *wire.Usage) []byte {
	dst = append(dst, `{"input_tokens":`...)
	dst = strconv.AppendInt(dst, u.Input, 10)
	dst = append(dst, `,"input_tokens_details":{"cached_tokens":`...)
	dst = strconv.AppendInt(dst, u.CachedInput, 10)
	dst = append(dst, `,"cache_write_tokens":`...)
	dst = strconv.AppendInt(dst, u.CacheWrite, 10)
	if u.AudioInput > 0 {
		dst = append(dst, `,"audio_tokens":`...)
		dst = strconv.AppendInt(dst, u.AudioInput, 10)
	}
	dst = append(dst, `},"output_tokens":`...)
	dst = strconv.AppendInt(dst, u.Output, 10)
	dst = append(dst, `,"output_tokens_details":{"reasoning_tokens":`...)
	dst = strconv.AppendInt(dst, u.Reasoning, 10)
	if u.AudioOutput > 0 {
		dst = append(dst, `,"audio_tokens":`...)
		dst = strconv.AppendInt(dst, u.AudioOutput, 10)
	}
	dst = append(dst, `},"total_tokens":`...)
	dst = strconv.AppendInt(dst, u.Input+u.Output, 10)
	return append(dst, '}')
}

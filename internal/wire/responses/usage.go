package responses

import (
	"strconv"

	"evergate/internal/wire"
)

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

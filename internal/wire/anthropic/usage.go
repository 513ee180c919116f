package anthropic

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// counts is a usage object as it came. Absent numbers and null are -1: a later event overrides only what it says.
type counts struct {
	input, output, cacheRead, cacheWrite, thinking int64
	tier                                           []byte // service_tier
}

// nothing is a usage object that says nothing.
func nothing() counts { return counts{-1, -1, -1, -1, -1, nil} }

// readCounts reads a usage object.
func readCounts(r *jsonscan.Reader) counts {
	c := nothing()
	if !r.Object() {
		return c
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "input_tokens":
			c.input = count(r)
		case "output_tokens":
			c.output = count(r)
		case "cache_read_input_tokens":
			c.cacheRead = count(r)
		case "cache_creation_input_tokens":
			c.cacheWrite = count(r)
		case "output_tokens_details":
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				if string(key) == "thinking_tokens" {
					c.thinking = count(r)
				} else {
					r.Skip()
				}
			}
		case "service_tier":
			c.tier, _ = r.Literal()
		default:
			r.Skip()
		}
	}
	return c
}

func count(r *jsonscan.Reader) int64 {
	if n, ok := r.Int(); ok && n >= 0 {
		return min(n, llm.MaxTokens)
	}
	return -1
}

// into brings u up to date. The dialect's input_tokens are those that the cache neither gave nor took; llm counts all.
func (c *counts) into(u *llm.Usage) {
	if c.input < 0 && c.output < 0 && c.cacheRead < 0 && c.cacheWrite < 0 {
		return
	}
	fresh := u.Input - u.CachedInput - u.CacheWrite
	for _, f := range [...]struct {
		to   *int64
		from int64
	}{{&fresh, c.input}, {&u.Output, c.output}, {&u.CachedInput, c.cacheRead}, {&u.CacheWrite, c.cacheWrite}, {&u.Reasoning, c.thinking}} {
		if f.from >= 0 {
			*f.to = f.from
		}
	}
	u.Input = fresh + u.CachedInput + u.CacheWrite
	u.Known = true
}

// appendCounts appends the members that message_start and message_delta have in common, without braces.
func appendCounts(dst []byte, u *llm.Usage) []byte {
	dst = append(dst, `"input_tokens":`...)
	dst = strconv.AppendInt(dst, max(u.Input-u.CachedInput-u.CacheWrite, 0), 10)
	dst = append(dst, `,"cache_creation_input_tokens":`...)
	dst = strconv.AppendInt(dst, u.CacheWrite, 10)
	dst = append(dst, `,"cache_read_input_tokens":`...)
	dst = strconv.AppendInt(dst, u.CachedInput, 10)
	dst = append(dst, `,"output_tokens":`...)
	dst = strconv.AppendInt(dst, u.Output, 10)
	if u.Reasoning > 0 {
		dst = append(dst, `,"output_tokens_details":{"thinking_tokens":`...)
		dst = strconv.AppendInt(dst, u.Reasoning, 10)
		dst = append(dst, '}')
	}
	return append(dst, `,"server_tool_use":null`...)
}

// appendUsage appends a message's whole usage object, with every member that the specification requires.
func appendUsage(dst []byte, u *llm.Usage, tier string) []byte {
	dst = append(dst, '{')
	dst = appendCounts(dst, u)
	dst = append(dst, `,"cache_creation":null,"inference_geo":null,"service_tier":`...)
	switch tier {
	case "standard", "priority", "batch":
		dst = jsonscan.AppendString(dst, tier)
	case "default", "standard_only":
		dst = append(dst, `"standard"`...)
	default:
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}

package gemini

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// AppendUnsealed appends body without its thought signatures (R10). A function call gets the value in place of its
// signature that tells Google to do without: newer models take no call that has none. Thoughts go with their signatures.
func (Generate) AppendUnsealed(dst, body []byte) (repaired []byte, dropped []string) {
	if jsonscan.Valid(body) != nil {
		return dst, nil
	}
	lost := false
	out := list{dst: append(dst, '{')}
	for _, m := range members(body) {
		out.anyKey(m.key)
		if m.key != "contents" || m.raw[0] != '[' {
			out.dst = append(out.dst, m.raw...)
			continue
		}
		out.dst = append(out.dst, '[')
		inner := list{dst: out.dst}
		for _, c := range elements(m.raw) {
			before, more := len(inner.dst), inner.more
			inner.next()
			begin := len(inner.dst)
			var gone bool
			inner.dst, gone = unsignedContent(inner.dst, c)
			lost = lost || gone
			if len(inner.dst) == begin {
				inner.dst, inner.more = inner.dst[:before], more
			}
		}
		out.dst = append(inner.dst, ']')
	}
	if !lost {
		return dst, nil
	}
	return append(out.dst, '}'), []string{llm.DropSignatures}
}

// unsignedContent appends a content without signatures; nothing if only signatures were in it.
func unsignedContent(dst, raw []byte) (out []byte, lost bool) {
	w := list{dst: append(dst, '{')}
	some := false
	for _, m := range members(raw) {
		w.anyKey(m.key)
		if m.key != "parts" || m.raw[0] != '[' {
			w.dst = append(w.dst, m.raw...)
			continue
		}
		w.dst = append(w.dst, '[')
		parts := list{dst: w.dst}
		for _, p := range elements(m.raw) {
			left, gone := appendUnsigned(nil, p)
			lost = lost || gone
			if len(left) > 0 {
				parts.next()
				parts.dst = append(parts.dst, left...)
			}
		}
		some = parts.more
		w.dst = append(parts.dst, ']')
	}
	if lost && !some {
		return dst, true
	}
	return append(w.dst, '}'), lost
}

// appendUnsigned appends a part without its signature; nothing if it was a signed thought, or nothing but a signature.
func appendUnsigned(dst, raw []byte) (out []byte, lost bool) {
	p := readPartOf(raw)
	if len(p.signature) == 0 || string(p.signature) == skipSignature {
		return append(dst, raw...), false
	}
	says := len(p.text) > 0 || p.inline != nil || p.file != nil || p.opaque != "" || p.call != nil || p.result != nil
	if !says || p.thought && p.call == nil {
		return dst, true
	}
	w := list{dst: append(dst, '{')}
	for _, m := range members(raw) {
		if string(camel([]byte(m.key))) == "thoughtSignature" {
			continue
		}
		w.anyKey(m.key)
		w.dst = append(w.dst, m.raw...)
	}
	if p.call != nil {
		w.text("thoughtSignature", skipSignature)
	}
	return append(w.dst, '}'), true
}

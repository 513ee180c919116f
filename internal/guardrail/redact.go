package guardrail

// redact appends a whole text with everything that the rules find in it masked, and the kind of the first of it; nothing is
// appended where there is nothing.
func redact(dst, text []byte, rules []*Rule) (out []byte, found string) {
	seen, places := view(text)
	var few [8]span
	spans := few[:0]
	for i, r := range rules {
		spans = r.find(spans, i, text, seen, places)
	}
	if len(spans) == 0 {
		return dst, ""
	}
	done := 0
	spans = join(spans)
	for _, p := range spans {
		dst = append(dst, text[done:p.from]...)
		dst = append(dst, p.rule.Mask...)
		done = p.to
	}
	return append(dst, text[done:]...), spans[0].rule.Name
}

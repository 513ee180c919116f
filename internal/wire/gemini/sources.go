package gemini

import (
	"strconv"

	"evergate/internal/llm"
)

// sources are the citations of one candidate's text, as they are to be written. In a whole reply a place is one in its
// part; in a stream, where parts are but pieces, it is one in all the text.
type sources struct {
	chunks   []llm.Citation
	supports []support
	places   offsets // of the text so far
	from     int     // where the open text part starts in it, in code points
}

// support is a place in the text, in code points, and the number of its source.
type support struct{ part, from, to, chunk int }

// part begins a text part of a stream.
func (s *sources) part() { s.from, _ = s.places.points(s.places.size) }

// text is more of a stream's text part.
func (s *sources) text(text []byte) { s.places.add(text) }

// chunk is the number of a source; -1: there are too many.
func (s *sources) chunk(c *llm.Citation) int {
	for i := range s.chunks {
		if s.chunks[i].URL == c.URL && s.chunks[i].Title == c.Title && s.chunks[i].Quote == c.Quote {
			return i
		}
	}
	if len(s.chunks) == maxSources {
		return -1
	}
	s.chunks = append(s.chunks, llm.Citation{URL: c.URL, Title: c.Title, Quote: c.Quote})
	return len(s.chunks) - 1
}

// add adds a citation of a stream's open text part, which may yet go on.
func (s *sources) add(c *llm.Citation) {
	if n := s.chunk(c); n >= 0 && c.End > c.Start {
		s.supports = append(s.supports, support{0, s.from + c.Start, s.from + c.End, n})
	}
}

// addWhole adds the citations of a reply's text part, which is the part of that number.
func (s *sources) addWhole(p *llm.Part, number int) {
	if len(p.Citations) == 0 {
		return
	}
	var places offsets
	places.add([]byte(p.Text))
	for i := range p.Citations {
		c := &p.Citations[i]
		n := s.chunk(c)
		if n < 0 || c.End <= c.Start {
			continue
		}
		from, ok := places.bytes(c.Start)
		to, known := places.bytes(c.End)
		if ok && known {
			s.supports = append(s.supports, support{number, from, to, n})
		}
	}
}

// resolve turns the places of a stream into bytes, now that its text is whole.
func (s *sources) resolve() {
	kept := s.supports[:0]
	for _, p := range s.supports {
		from, ok := s.places.bytes(p.from)
		to, known := s.places.bytes(p.to)
		if ok && known {
			kept = append(kept, support{p.part, from, to, p.chunk})
		}
	}
	s.supports = kept
}

// append appends groundingMetadata.
func (s *sources) append(dst []byte) []byte {
	out := list{dst: append(dst, '{')}
	out.open("groundingChunks", '[')
	for _, c := range s.chunks {
		out.next()
		kind := "web"
		if c.URL == "" || c.Quote != "" {
			kind = "retrievedContext"
		}
		one := list{dst: append(out.dst, '{')}
		one.open(kind, '{')
		if c.URL != "" {
			one.text("uri", c.URL)
		}
		if c.Title != "" {
			one.text("title", c.Title)
		}
		if c.Quote != "" {
			one.text("text", c.Quote)
		}
		one.close('}')
		out.dst = append(one.dst, '}')
	}
	out.close(']')
	if len(s.supports) > 0 {
		out.open("groundingSupports", '[')
		for _, p := range s.supports {
			out.next()
			one := list{dst: append(out.dst, '{')}
			one.open("segment", '{')
			if p.part > 0 {
				one.number("partIndex", int64(p.part))
			}
			one.number("startIndex", int64(p.from))
			one.number("endIndex", int64(p.to))
			one.close('}')
			one.open("groundingChunkIndices", '[')
			one.next()
			one.dst = strconv.AppendInt(one.dst, int64(p.chunk), 10)
			one.close(']')
			out.dst = append(one.dst, '}')
		}
		out.close(']')
	}
	return append(out.dst, '}')
}

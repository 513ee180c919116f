package gemini

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// maxSources is how many sources of one candidate are kept.
const maxSources = 256

// grounding reads groundingMetadata: chunks are the sources, supports the places in the text that they bear out. In a
// stream chunks are only told once, and supports count them through.
func (d *decoder) grounding(c *candidateState, raw []byte, emit func(*llm.Event)) {
	var supports []byte
	fresh := len(c.sources)
	r := jsonscan.New(raw)
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "groundingChunks":
			if !r.Array() {
				continue
			}
			for r.Elem() {
				if s := readSource(&r); len(c.sources) < maxSources {
					c.sources = append(c.sources, s)
				}
			}
		case "groundingSupports":
			supports = r.Raw()
		default:
			r.Skip()
		}
	}
	for _, s := range elements(supports) {
		from, to, chunks := readSupport(s, c)
		for _, n := range chunks {
			if n >= 0 && n < int64(len(c.sources)) {
				d.cite(c, c.sources[n], from, to, emit)
			}
		}
	}
	if c.cited {
		return
	}
	for _, s := range c.sources[fresh:] { // sources without a place
		d.cite(c, s, 0, 0, emit)
	}
}

// readSource reads a grounding chunk, of whatever kind.
func readSource(r *jsonscan.Reader) (s llm.Citation) {
	if !r.Object() {
		return s
	}
	for _, ok := r.Key(); ok; _, ok = r.Key() { // web, retrievedContext, maps, image
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "uri", "sourceUri":
				s.URL, _ = r.Text()
			case "title":
				s.Title, _ = r.Text()
			case "text":
				s.Quote, _ = r.Text()
			default:
				r.Skip()
			}
		}
	}
	return s
}

// readSupport gives a place in all the text, in bytes, and the numbers of the chunks that bear it out.
func readSupport(raw []byte, c *candidateState) (from, to int64, chunks []int64) {
	var index int64
	r := jsonscan.New(raw)
	if !r.Object() {
		return 0, 0, nil
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "segment":
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				switch string(key) {
				case "startIndex":
					from, _ = r.Int()
				case "endIndex":
					to, _ = r.Int()
				case "partIndex":
					index, _ = r.Int()
				default:
					r.Skip()
				}
			}
		case "groundingChunkIndices":
			if !r.Array() {
				continue
			}
			for r.Elem() {
				n, ok := r.Int()
				if ok {
					chunks = append(chunks, n)
				}
			}
		default:
			r.Skip()
		}
	}
	for _, t := range c.texts {
		if int64(t.index) == index {
			from, to = from+int64(t.from), to+int64(t.from)
		}
	}
	return from, to, chunks
}

// citations reads citationMetadata: passages that the answer repeats.
func (d *decoder) citations(c *candidateState, raw []byte, emit func(*llm.Event)) {
	r := jsonscan.New(raw)
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if k := string(key); k != "citationSources" && k != "citations" { // the Gemini API's name, and Vertex's
			r.Skip()
			continue
		}
		if !r.Array() {
			continue
		}
		for r.Elem() {
			var s llm.Citation
			var from, to int64
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				switch string(key) {
				case "uri":
					s.URL, _ = r.Text()
				case "title":
					s.Title, _ = r.Text()
				case "startIndex":
					from, _ = r.Int()
				case "endIndex":
					to, _ = r.Int()
				default:
					r.Skip()
				}
			}
			d.cite(c, s, from, to, emit)
		}
	}
}

// cite emits a citation of the last text part, or in a whole reply of the one that the place is in. A place that is not
// in that part is left out.
func (d *decoder) cite(c *candidateState, s llm.Citation, from, to int64, emit func(*llm.Event)) {
	if c.text < 0 {
		return
	}
	c.cited = true
	part, textFrom := c.text, c.textFrom
	for _, t := range c.texts {
		if to > from && from >= int64(t.from) && from < int64(t.from+t.size) {
			part = t.part
			textFrom = c.partFrom(part)
		}
	}
	if to > from {
		start, ok := c.places.points(int(min(from, 1<<40)))
		end, known := c.places.points(int(min(to, 1<<40)))
		if ok && known && start >= textFrom {
			s.Start, s.End = start-textFrom, end-textFrom
		}
	}
	if d.aside != nil {
		d.aside.cites = append(d.aside.cites, sideCite{c.number, part, s})
		return
	}
	e := d.next(llm.Cited, c.number, c.text)
	e.Citation = &s
	emit(e)
}

// partFrom is where a text part of a whole reply starts in all the text, in code points.
func (c *candidateState) partFrom(part int) int {
	for _, t := range c.texts {
		if t.part == part {
			n, _ := c.places.points(t.from)
			return n
		}
	}
	return c.textFrom
}

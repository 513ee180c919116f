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
		from, to, chunks := readSupport(s)
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

// readSupport gives a place in bytes and the numbers of the chunks that bear it out.
func readSupport(raw []byte) (from, to int64, chunks []int64) {
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

// cite emits a citation of the last text part. Its place is left out if it is not in that part.
func (d *decoder) cite(c *candidateState, s llm.Citation, from, to int64, emit func(*llm.Event)) {
	if c.text < 0 {
		return
	}
	c.cited = true
	if to > from {
		start, ok := c.places.points(int(from))
		end, known := c.places.points(int(to))
		if ok && known && start >= c.textFrom {
			s.Start, s.End = start-c.textFrom, end-c.textFrom
		}
	}
	d.event = llm.Event{Kind: llm.Cited, Choice: c.number, Part: c.text, Citation: &s}
	emit(&d.event)
}

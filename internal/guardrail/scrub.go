package guardrail

import (
	"bytes"
	"hash/fnv"
	"slices"

	"evergate/internal/jsonscan"
)

// mostNested is how many times over a text in JSON may be JSON itself and still be looked into.
const mostNested = 3

// mostNumbered is how deep in an event objects are told apart by their numbers: each is read once more for that.
const mostNumbered = 8

// Scrub cleans a body that is kept: what clean takes out of a text it takes out of each text in the body, also where that is written with
// escapes, is JSON within JSON, or is split over the events of a stream; and at last out of the body as it stands, which may be of any form and
// end anywhere. clean gives a text without what must not be kept, or the text as it is.
func Scrub(body []byte, clean func([]byte) []byte) []byte {
	return clean(scrub(body, clean, 0))
}

func scrub(body []byte, clean func([]byte) []byte, nested int) []byte {
	s := scrubber{body: body, groups: map[uint64]int{}, clean: clean, nested: nested}
	if eventful(body) {
		s.events()
	} else {
		s.alone = true
		s.read(0, body)
	}
	return s.cleaned()
}

// eventful says whether a body is a stream of events.
func eventful(body []byte) bool {
	body = bytes.TrimLeft(body, "\r\n \xef\xbb\xbf")
	for _, begin := range []string{"data:", "event:", "id:", ":", "retry:"} {
		if bytes.HasPrefix(body, []byte(begin)) {
			return true
		}
	}
	return false
}

// said is a text in a body.
type said struct {
	from, to int // its quotes included
	value    []byte
	became   []byte
}

// scrubber finds the texts of a body. Those that stand in the same place of a stream's events are one text.
type scrubber struct {
	body   []byte
	clean  func([]byte) []byte
	nested int
	alone  bool // each text is one of its own
	all    []said
	group  [][]int
	groups map[uint64]int
}

// events reads the data of all events.
func (s *scrubber) events() {
	at := 0
	for line := range bytes.Lines(s.body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			s.read(at+len(line)-len(data), data)
		}
		at += len(line)
	}
}

// read reads one JSON value, which begins at a place of the body, as far as it is valid.
func (s *scrubber) read(at int, text []byte) {
	r := jsonscan.New(text)
	s.value(&r, text, at, fnv.New64a().Sum64(), 0)
}

// value reads a value. path tells its place from others; arrays have one place for all, as what numbers their elements in events is a member of them.
func (s *scrubber) value(r *jsonscan.Reader, text []byte, at int, path uint64, level int) {
	switch r.Kind() {
	case jsonscan.Object:
		if !s.alone && level < mostNumbered {
			path = step(path, numbers(text[r.Offset():]))
		}
		if !r.Object() {
			return
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			s.value(r, text, at, step(path, key), level+1)
		}
	case jsonscan.Array:
		if !r.Array() {
			return
		}
		for r.Elem() {
			s.value(r, text, at, step(path, []byte("[]")), level+1)
		}
	case jsonscan.String:
		from := r.Offset()
		value, ok := r.Literal()
		if ok && len(value) > 0 {
			s.add(said{from: at + from, to: at + r.Offset(), value: value}, path)
		}
	default:
		r.Skip()
	}
}

func step(path uint64, name []byte) uint64 {
	const prime = 1099511628211
	path = (path ^ 0xff) * prime
	for _, c := range name {
		path = (path ^ uint64(c)) * prime
	}
	return path
}

// numbers are an object's members that number it among others of its kind.
func numbers(text []byte) []byte {
	r := jsonscan.New(text)
	var out []byte
	if !r.Object() {
		return nil
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "index", "output_index", "content_index", "summary_index":
			out = append(append(out, key...), r.Raw()...)
		default:
			r.Skip()
		}
	}
	return out
}

func (s *scrubber) add(t said, path uint64) {
	s.all = append(s.all, t)
	i, known := s.groups[path]
	if !known || s.alone {
		i = len(s.group)
		s.groups[path] = i
		s.group = append(s.group, nil)
	}
	s.group[i] = append(s.group[i], len(s.all)-1)
}

// cleaned gives the body with all texts cleaned.
func (s *scrubber) cleaned() []byte {
	changed := false
	for _, g := range s.group {
		changed = s.settle(g) || changed
	}
	if !changed {
		return s.body
	}
	var out []byte
	done := 0
	for i := range s.all {
		t := &s.all[i]
		if t.became == nil {
			continue
		}
		out = append(out, s.body[done:t.from]...)
		out = jsonscan.AppendText(out, t.became)
		done = t.to
	}
	return append(out, s.body[done:]...)
}

// settle cleans the text that pieces come to. Pieces before and after what changed stay as they are; the first that changed has all that was left
// of those that did, and the others have nothing.
func (s *scrubber) settle(pieces []int) bool {
	var joined []byte
	if len(pieces) == 1 {
		joined = s.all[pieces[0]].value
	} else {
		for _, i := range pieces {
			joined = append(joined, s.all[i].value...)
		}
	}
	now := slices.Clone(joined)
	if s.nested < mostNested && isJSON(now) {
		now = scrub(now, s.clean, s.nested+1)
	}
	now = s.clean(now)
	if bytes.Equal(now, joined) {
		return false
	}
	head := 0
	for head < len(now) && head < len(joined) && now[head] == joined[head] {
		head++
	}
	tail := 0
	for tail < len(now)-head && tail < len(joined)-head && now[len(now)-1-tail] == joined[len(joined)-1-tail] {
		tail++
	}
	// Whole pieces within the head and the tail stay.
	first, before := 0, 0
	for first < len(pieces)-1 && before+len(s.all[pieces[first]].value) <= head {
		before += len(s.all[pieces[first]].value)
		first++
	}
	last, after := len(pieces)-1, 0
	for last > first && after+len(s.all[pieces[last]].value) <= tail {
		after += len(s.all[pieces[last]].value)
		last--
	}
	s.all[pieces[first]].became = now[before : len(now)-after : len(now)-after]
	for _, i := range pieces[first+1 : last+1] {
		s.all[i].became = []byte{}
	}
	return true
}

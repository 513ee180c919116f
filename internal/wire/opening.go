package wire

import "evergate/internal/jsonscan"

// Conversing is a dialect whose requests are turns of conversations (R47).
type Conversing interface {
	// Opening finds what the conversation of a request is known by that ReadRequest gave.
	Opening(q *Request) Opening
}

// Opening says where in a request's body stands what its conversation is known by: what stays the same from one turn to the
// next. What is not there is absent.
type Opening struct {
	// CacheKey and User are texts, quotes included: the client's own name for what may be cached, and for whom it asks.
	CacheKey, User Span
	// System and Tools are values. First is the user's first message and those before it: a text, or an array's beginning up
	// to there.
	System, Tools, First Span
	// GoesOn: there has been an answer in this conversation.
	GoesOn bool
}

// Place reads a value and gives its place.
func Place(r *jsonscan.Reader) Span {
	r.Kind()
	from, to := r.Skip()
	return Span{From: from, To: to}
}

// PlaceTurns reads the conversation and notes its place. levels is how many arrays and objects can lie in one another there, the whole
// included, before anything but text can be in it: a picture's or a file's part is deeper.
func (s *Spans) PlaceTurns(r *jsonscan.Reader, levels int) {
	kind := r.Kind()
	from, to, n := r.SkipDeep()
	s.Turns, s.Texts = Span{From: from, To: to}, kind == jsonscan.String || n > 0 && n <= levels
}

// TextPlace is Place of a text; absent, if the value is none, or an empty one.
func TextPlace(r *jsonscan.Reader) Span {
	if r.Kind() != jsonscan.String {
		r.Skip()
		return Span{}
	}
	if s := Place(r); s.To-s.From > 2 {
		return s
	}
	return Span{}
}

// maxOpening is how many messages are looked at for an answer among them: clients may begin with several of the user's.
const maxOpening = 32

// Turns reads the messages: an array, or a text, which is the user's only one. known is where they are, if that is known: of a
// long conversation only the beginning is looked at then.
func (o *Opening) Turns(r *jsonscan.Reader, known Span) {
	kind := r.Kind()
	walk, whole := *r, known
	if r.Offset() != known.From || !r.Leap(known.To) {
		whole = Place(r)
	}
	o.First, o.GoesOn = Span{}, false
	if kind == jsonscan.String {
		o.First = whole
	}
	if kind != jsonscan.Array || !walk.Array() {
		return
	}
	for n := 0; n < maxOpening && walk.Elem(); n++ {
		switch speaker(&walk) {
		case user:
			if o.First.Absent() {
				o.First = Span{From: whole.From, To: walk.Offset()}
			}
		case model:
			o.GoesOn = true
			return
		case operator:
		}
	}
}

// who is who speaks.
type who uint8

const (
	user who = iota
	operator
	model // or its tools
)

// speaker reads a message and says whose it is.
func speaker(r *jsonscan.Reader) who {
	if !r.Object() {
		return user
	}
	is, said, other := user, false, false
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "role":
			text, _ := r.RawString()
			said = true
			switch string(text) {
			case "user":
				is = user
			case "system", "developer":
				is = operator
			default:
				is = model
			}
		case "type":
			text, _ := r.RawString()
			other = string(text) != "message"
		default:
			r.Skip()
		}
	}
	if !said && other { // the Responses API has calls, their results and reasoning as items of no role
		return model
	}
	return is
}

// Words gives the words in a value of an Opening, raw: its texts, at most limit bytes of each, with their whole lengths. What
// stands around them is left out, because clients change it from turn to turn (marks for caches) or write it in two ways (a text, or a list
// with one part).
func Words(value []byte, limit int, yield func(words []byte, length int)) {
	r := jsonscan.Again(value)
	words(&r, limit, yield)
}

func words(r *jsonscan.Reader, limit int, yield func([]byte, int)) {
	switch r.Kind() {
	case jsonscan.String:
		raw, _ := r.RawString()
		yield(raw[:min(len(raw), limit)], len(raw))
	case jsonscan.Array:
		for r.Array(); r.Elem(); {
			words(r, limit, yield)
		}
	case jsonscan.Object:
		r.Object()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "text", "content", "parts":
				words(r, limit, yield)
			default:
				r.Skip()
			}
		}
	default:
		r.Skip()
	}
}

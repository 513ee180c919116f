package openaichat

import (
	"slices"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// Aside is an operation beside the talk and the vectors: pictures, sound, moderation, reranking. Its requests and answers
// are passed on as they are; only the model's name is changed. It is immutable and safe for concurrent use.
type Aside struct {
	streamed

	name, path string
	// answer is the member of a whole answer that must be there, and be what holds says.
	answer string
	holds  jsonscan.Kind
	// raw: an answer may be no JSON. sound: it is sound then; else text.
	raw, sound bool
	// named: its events carry their type as the event's name, too.
	named bool
	// model is asked where the request names none; empty: it must name one.
	model string
}

// Form is an Aside that takes forms, too. It is safe for concurrent use.
type Form struct{ Aside }

var (
	_ wire.Opaque = Aside{}
	_ wire.Opaque = Form{}
	_ wire.Former = Form{}
)

// Asides are all operations of that kind, by their names: images, image_edits, speech, transcriptions, translations,
// moderations, rerank.
func Asides() []wire.Dialect {
	return []wire.Dialect{
		Aside{name: "images", path: "/images/generations", answer: "data", holds: jsonscan.Array, named: true},
		Form{Aside{name: "image_edits", path: "/images/edits", answer: "data", holds: jsonscan.Array, named: true}},
		Aside{name: "speech", path: "/audio/speech", raw: true, sound: true},
		Form{Aside{name: "transcriptions", path: "/audio/transcriptions", answer: "text", holds: jsonscan.String, raw: true}},
		Form{Aside{name: "translations", path: "/audio/translations", answer: "text", holds: jsonscan.String, raw: true}},
		Aside{name: "moderations", path: "/moderations", answer: "results", holds: jsonscan.Array, model: "omni-moderation-latest"},
		Aside{name: "rerank", path: "/rerank", answer: "results", holds: jsonscan.Array},
	}
}

// Name is the operation's, such as "images".
func (s Aside) Name() string { return s.name }

// Path is where clients find it.
func (s Aside) Path() string { return s.path }

// Side is true: most providers lack most of these.
func (Aside) Side() bool { return true }

// ReadRequest reads the model, and whether a stream is wanted: stream, and stream_format for speech.
func (s Aside) ReadRequest(body []byte) (wire.Request, error) {
	q := wire.Request{Body: body}
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return q, wire.NoObject(body)
	}
	var named wire.Naming
	var stream jsonscan.Kind // what the last one is; None: there is none
	var format string
	r.Object()
	q.Spans.Insert = r.Offset()
	q.Spans.Empty = true
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		q.Spans.Empty = false
		switch string(key) {
		case "model":
			named.Read(&q, &r)
		case "stream":
			stream = r.Kind()
			q.Stream, _ = r.Bool()
		case "stream_format":
			format, _ = r.Text()
		case "response_format":
			if s.raw && !s.sound {
				text, _ := r.Text()
				q.Raw = plainFormat(text)
			} else {
				r.Skip()
			}
		case "n":
			n, _ := r.Int()
			q.Choices = int(min(max(n, 0), 64))
		case "provider":
			q.Prefers = true
			r.Skip()
		case "models":
			q.Prefers, named.Models = true, r.Kind()
			r.Skip()
		default:
			named.Other(key)
			r.Skip()
		}
	}
	if !r.End() {
		return q, wire.NoJSON(body, r.Err())
	}
	if err := s.settle(&q, &named, format); err != nil {
		return q, err
	}
	return q, wire.CheckStream(stream)
}

// settle completes what was read of a request.
func (s Aside) settle(q *wire.Request, named *wire.Naming, format string) error {
	if s.sound {
		q.Stream = format == "sse"
		q.Raw = !q.Stream
	}
	if q.Stream {
		q.Raw = false
	}
	if s.model != "" && named.Silent() {
		q.Model = s.model
		return named.Unlike()
	}
	return named.Check(q.Model, s.example())
}

func (s Aside) example() string {
	switch s.name {
	case "images", "image_edits":
		return "gpt-image-1"
	case "speech":
		return "gpt-4o-mini-tts"
	case "rerank":
		return "rerank-v3.5"
	}
	return "gpt-4o-transcribe"
}

// plainFormat says whether a transcription's format is no JSON.
func plainFormat(format string) bool { return format == "text" || format == "srt" || format == "vtt" }

// AppendRequest changes the model, and puts it in where the request names none and the target is another than the usual one.
func (s Aside) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	if r.Spans.Model.Absent() && w.Model != "" && w.Model != r.Model && !w.OmitModel {
		w.Params = slices.DeleteFunc(slices.Clone(w.Params), func(p wire.Param) bool { return p.Name == "model" })
		named := append(slices.Clone(r.Body[:r.Spans.Insert]), `"model":`...)
		named = jsonscan.AppendString(named, w.Model)
		if !r.Spans.Empty {
			named = append(named, ',')
		}
		q := *r
		q.Body = append(named, r.Body[r.Spans.Insert:]...)
		w.Model = ""
		if len(w.Params) == 0 {
			return append(dst, q.Body...)
		}
		return wire.AppendRewritten(dst, &q, w)
	}
	return wire.AppendRewritten(dst, r, w)
}

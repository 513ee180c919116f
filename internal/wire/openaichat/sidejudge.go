package openaichat

import (
	"bytes"
	"strings"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// Judge reads a whole answer: an object that has the operation's member, of the kind that it must be.
func (s Aside) Judge(body []byte) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, openaiwords.FaultIn); f != nil {
		return reply, f
	}
	var errorRaw []byte
	kind, members := jsonscan.None, 0
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "model":
			reply.Model, _ = r.Text()
		case "usage":
			reply.Usage = openaiwords.ReadUsage(&r)
		case "error":
			errorRaw = openaiwords.ErrorValue(&r)
		default:
			if string(key) != s.answer {
				r.Skip()
				continue
			}
			kind, members = r.Kind(), 0
			if kind != jsonscan.Array || !r.Array() {
				r.Skip()
				continue
			}
			for r.Elem() {
				r.Skip()
				members++
			}
		}
	}
	if !r.End() {
		return wire.Reply{}, wire.BrokenAnswer(r.Err())
	}
	switch {
	case s.answer != "" && kind == s.holds && (kind != jsonscan.Array || members > 0):
		return reply, nil
	case errorRaw != nil:
		return reply, openaiwords.FaultOf(errorRaw)
	}
	if f := openaiwords.FaultIn(body); f != nil {
		return reply, f
	}
	switch {
	case s.answer == "":
		return reply, wire.Invalid("the upstream answered with JSON where sound was asked for")
	case s.holds == jsonscan.Array && kind == jsonscan.Array:
		return reply, wire.Invalid(`"` + s.answer + `" in the upstream's answer is empty`)
	case s.holds == jsonscan.Array:
		return reply, wire.NoArray(s.answer, kind)
	}
	return reply, wire.Invalid(`the upstream's answer has no "` + s.answer + `"`)
}

// JudgeRaw says what is wrong with sound or subtitles (R14): a page, or text where sound was asked for.
func (s Aside) JudgeRaw(contentType string, head []byte) *fault.Fault {
	start := strings.ToLower(string(bytes.TrimSpace(head[:min(len(head), 64)])))
	media := strings.ToLower(contentType)
	switch {
	case strings.HasPrefix(media, "text/html"), strings.HasPrefix(start, "<!doctype html"), strings.HasPrefix(start, "<html"):
		return wire.Invalid("the upstream answered with an HTML page")
	case s.sound && strings.HasPrefix(media, "text/"):
		return wire.Invalid("the upstream answered with text where sound was asked for")
	}
	return nil
}

// JudgeEvent reads one event: a piece of the answer, its end (….completed, ….done), or an error.
func (s Aside) JudgeEvent(data []byte, p *wire.Progress) wire.Event {
	data = bytes.TrimSpace(data)
	if wire.IsDone(data) {
		return wire.Event{End: true}
	}
	r := jsonscan.New(data)
	if r.Kind() != jsonscan.Object {
		return wire.OddEvent(data, openaiwords.FaultIn)
	}
	var kind, errorRaw []byte
	var usage wire.Usage
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			kind, _ = r.Literal()
		case "usage":
			usage = openaiwords.ReadUsage(&r)
		case "error":
			errorRaw = openaiwords.ErrorValue(&r)
		default:
			r.Skip()
		}
	}
	switch {
	case !r.End():
		return wire.Event{Malformed: true}
	case errorRaw != nil:
		return wire.Event{Fault: openaiwords.FaultOf(errorRaw)}
	case string(kind) == "error":
		if f := openaiwords.FaultIn(data); f != nil {
			return wire.Event{Fault: f}
		}
		return wire.Event{Fault: wire.Invalid("the upstream broke its stream off with an error")}
	}
	e := wire.Event{Content: true}
	if s.named {
		e.Name = kind
	}
	if usage.Known {
		p.Reply.Usage = usage
	}
	p.SawContent = true
	if e.Finish = bytes.HasSuffix(kind, []byte(".completed")) || bytes.HasSuffix(kind, []byte(".done")); e.Finish {
		p.Sequence++ // of pictures that are ready
		p.SawFinish = p.Sequence >= int64(max(p.Choices, 1))
	}
	return e
}

// AppendEnd appends nothing: the last event says that it is the last.
func (Aside) AppendEnd(dst []byte, _ *wire.Progress) []byte { return dst }

// ReplyFromStream is an error: nobody streams these unasked.
func (Aside) ReplyFromStream([]byte) ([]byte, error) {
	return nil, wire.Invalid("the upstream answered with a stream that was not asked for")
}

// StreamFromReply turns a whole answer, which Judge found good, into the events of a stream: not every model of an
// operation can be streamed, and those that cannot ignore the wish.
func (s Aside) StreamFromReply(body []byte, _ bool) ([]byte, error) {
	switch s.name {
	case "transcriptions":
		return transcriptEvents(body), nil
	case "images":
		return pictureEvents("image_generation.completed", body), nil
	case "image_edits":
		return pictureEvents("image_edit.completed", body), nil
	}
	return nil, wire.Invalid("the upstream's answer cannot be told as a stream")
}

// transcriptEvents are one delta with the whole text and the end.
func transcriptEvents(body []byte) []byte {
	var text, usage []byte
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "text":
			text = r.Raw()
		case "usage":
			usage = r.Raw()
		default:
			r.Skip()
		}
	}
	delta := append([]byte(`{"type":"transcript.text.delta","delta":`), text...)
	done := append([]byte(`{"type":"transcript.text.done","text":`), text...)
	if usage != nil {
		done = append(append(done, `,"usage":`...), usage...)
	}
	out := wire.AppendEvent(nil, nil, append(delta, '}'))
	return wire.AppendEvent(out, nil, append(done, '}'))
}

// pictureEvents are one event for each picture: its own members, with those of the whole answer that are not the list of
// pictures.
func pictureEvents(kind string, body []byte) []byte {
	var common, out []byte
	var pictures [][]byte
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch name := string(key); name {
		case "data":
			r.Array()
			for r.Elem() {
				pictures = append(pictures, r.Raw())
			}
		case "created":
			common = append(append(common, `,"created_at":`...), r.Raw()...)
		default:
			common = append(jsonscan.AppendString(append(common, ','), name), ':')
			common = append(common, r.Raw()...)
		}
	}
	for _, p := range pictures {
		event := jsonscan.AppendString([]byte(`{"type":`), kind)
		event = append(event, common...)
		if inside := bytes.TrimSpace(p); len(inside) > 2 && inside[0] == '{' {
			event = append(append(event, ','), inside[1:len(inside)-1]...)
		}
		out = wire.AppendEvent(out, []byte(kind), append(event, '}'))
	}
	return out
}

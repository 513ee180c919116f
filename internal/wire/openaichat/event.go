package openaichat

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// judgeEvent reads the data of one event in one pass. p changes only once the data has turned out to be valid.
func judgeEvent(data []byte, p *wire.Progress, s shape) (e wire.Event) {
	if len(data) == 0 || data[0] <= ' ' || data[len(data)-1] <= ' ' {
		data = bytes.TrimSpace(data)
	}
	if wire.IsDone(data) {
		return wire.Event{End: true}
	}
	if sameButText(data, &p.Pattern) {
		return wire.Event{Content: true}
	}
	r := jsonscan.New(data)
	if r.Kind() != jsonscan.Object {
		return wire.OddEvent(data, openaiwords.FaultIn)
	}
	var (
		model, id, finish, failure, errorRaw []byte

		created                   int64
		usage                     wire.Usage
		begun, ended              uint64
		content, tool, hasChoices bool
		first                     = true
		text                      wire.Span
	)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "id":
			id, _ = r.Literal()
		case "created":
			if p.ID != "" {
				r.Skip()
				continue
			}
			created, _ = r.Int()
		case "model":
			model, _ = r.Literal()
		case "choices":
			hasChoices = r.Kind() == jsonscan.Array
			if !r.Array() {
				continue
			}
			for r.Elem() {
				c := readChoice(&r, s)
				begun |= c.bit()
				content = content || c.content
				tool = tool || c.tool
				text = c.text
				if c.fault != nil {
					errorRaw = c.fault
				}
				switch {
				case len(c.finish) == 0:
				case failed(c.finish):
					failure = c.finish
				default:
					ended |= c.bit()
					if first {
						finish = c.finish
					}
				}
				first = false
			}
		case "usage":
			if u := openaiwords.ReadUsage(&r); u.Known {
				usage = u
			}
		case "x_groq":
			if u, raw := readGroq(&r); raw != nil {
				errorRaw = raw
			} else if u.Known && !usage.Known {
				usage = u
			}
		case "error":
			if raw := openaiwords.ErrorValue(&r); raw != nil {
				errorRaw = raw
			}
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return wire.Event{Malformed: true}
	}

	if p.Reply.Model == "" && len(model) > 0 {
		p.Reply.Model = string(model)
	}
	if p.ID == "" && len(id) > 0 {
		p.ID, p.Created = string(id), created
	}
	if usage.Known {
		p.Reply.Usage = usage
	}
	switch {
	case errorRaw != nil && (!isEmptyObject(errorRaw) || begun == 0):
		e.Fault = openaiwords.FaultOf(errorRaw)
		return e
	case failure != nil:
		e.Fault = failedFinish(failure)
		return e
	case !hasChoices && !usage.Known:
		e.Fault = openaiwords.FaultIn(data)
		return e
	}
	e.Finish = ended != 0
	e.Content = content || e.Finish
	e.UsageOnly = usage.Known && begun == 0
	p.Begun |= begun
	p.Ended |= ended
	p.SawContent = p.SawContent || e.Content
	p.SawTool = p.SawTool || tool
	if len(finish) > 0 && p.Reply.Finish == "" {
		p.Reply.Finish = finishWord(finish)
	}
	settle(p)
	if e.Content && !e.Finish && !usage.Known && !tool && text.To > text.From {
		p.Pattern.Before = append(p.Pattern.Before[:0], data[:text.From]...)
		p.Pattern.After = append(p.Pattern.After[:0], data[text.To:]...)
	}
	return e
}

// sameButText says whether an event is the one of the pattern with another text, which is sound and not empty: then it is
// valid, has content, and moves nothing else.
func sameButText(data []byte, p *wire.Pattern) bool {
	from, to := len(p.Before), len(data)-len(p.After)
	return from > 0 && to > from && bytes.HasSuffix(data, p.After) && bytes.HasPrefix(data, p.Before) &&
		jsonscan.StringEnd(data, from) == to
}

// readGroq reads Groq's own member: usage in its last event, and an error if the stream broke off inside.
func readGroq(r *jsonscan.Reader) (u wire.Usage, errorRaw []byte) {
	if !r.Object() {
		return u, nil
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "usage":
			u = openaiwords.ReadUsage(r)
		case "error":
			errorRaw = openaiwords.ErrorValue(r)
		default:
			r.Skip()
		}
	}
	return u, errorRaw
}

func isEmptyObject(raw []byte) bool {
	r := jsonscan.New(raw)
	if !r.Object() {
		return false
	}
	_, more := r.Key()
	return !more
}

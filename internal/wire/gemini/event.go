package gemini

import (
	"bytes"
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// judgeEvent reads the data of one event in one pass. p changes only once the data has turned out to be valid.
func judgeEvent(data []byte, p *wire.Progress) (e wire.Event) {
	if len(data) == 0 || data[0] <= ' ' || data[len(data)-1] <= ' ' {
		data = bytes.TrimSpace(data)
	}
	if wire.IsDone(data) {
		return wire.Event{End: true}
	}
	r := jsonscan.New(data)
	if r.Kind() != jsonscan.Object {
		return wire.OddEvent(data, arrayFault)
	}
	var (
		model, id, finish, errorRaw []byte

		usage                  wire.Usage
		said                   feedback
		begun, ended           uint64
		content, tool, partial bool
	)
	first := true
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "candidates":
			if !r.Array() {
				continue
			}
			for r.Elem() {
				c := readCandidate(&r)
				begun |= c.bit()
				content = content || c.content
				tool, partial = tool || c.tool, c.partial
				if len(c.finish) > 0 {
					ended |= c.bit()
					if first {
						finish = c.finish
					}
				}
				first = false
			}
		case "usageMetadata":
			usage, _ = readUsage(&r)
		case "modelVersion":
			model, _ = r.Literal()
		case "responseId":
			id, _ = r.Literal()
		case "promptFeedback":
			said = readFeedback(&r)
		case "error":
			errorRaw = errorValue(&r)
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
		p.ID = string(id)
	}
	if usage.Known {
		p.Reply.Usage = usage
	}
	switch {
	case errorRaw != nil && begun == 0:
		d, _ := readDetail(errorRaw)
		e.Fault = d.fault()
		return e
	case said.reason != "" && begun == 0:
		e.Fault = said.blocked()
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
	p.OpenTool = partial && !p.SawFinish
	return e
}

// appendEnd appends an event with the finish of each candidate that has begun and has none (R17, after another
// vendor's end marker).
func appendEnd(dst []byte, p *wire.Progress) []byte {
	open := p.Begun &^ p.Ended
	if !p.SawContent || open == 0 {
		return dst
	}
	out := list{dst: append(dst, eventStart+"{"...)}
	out.open("candidates", '[')
	for i := range 64 {
		if open>>i&1 == 0 {
			continue
		}
		out.next()
		out.dst = append(out.dst, `{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":`...)
		out.dst = append(strconv.AppendInt(out.dst, int64(i), 10), '}')
	}
	out.close(']')
	appendNames(&out, p.Reply.Model, p.ID)
	return append(out.dst, "}"+eventEnd...)
}

// appendNames appends who answered and what the answer is called, as far as it is known.
func appendNames(out *list, model, id string) {
	if model != "" {
		out.text("modelVersion", model)
	}
	if id != "" {
		out.text("responseId", id)
	}
}

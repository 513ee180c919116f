package cohere

import (
	"bytes"
	"strconv"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// Judge reads a whole reply: one without a message or a finish reason is no answer (R14), nor is one that says that it
// failed.
func (Chat) Judge(body []byte) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, nil); f != nil {
		return reply, f
	}
	said := false
	r := jsonscan.New(body)
	enter(&r, func(key string) {
		switch key {
		case "message":
			said = r.Kind() == jsonscan.Object
			r.Skip()
		case "finish_reason":
			reply.Finish, _ = r.Text()
		case "usage":
			reply.Usage = readUsage(&r)
		default:
			r.Skip()
		}
	})
	if !r.End() {
		return wire.Reply{}, wire.BrokenAnswer(r.Err())
	}
	switch {
	case failed([]byte(reply.Finish)):
		return reply, broken(reply.Finish, "")
	case said && reply.Finish != "":
		return reply, nil
	case said:
		return reply, wire.Invalid(`the upstream's answer has no "finish_reason"`)
	}
	return reply, noAnswer(body, `the upstream's answer has no "message"`)
}

// noAnswer is the error that a body is, or else one that says what is missing.
func noAnswer(body []byte, missing string) *fault.Fault {
	if err := jsonscan.Valid(body); err != nil {
		return wire.BrokenAnswer(err)
	}
	if code, message := readError(body); message != "" {
		return &fault.Fault{Class: fault.Invalid, Code: code, Message: message}
	}
	return wire.Invalid(missing)
}

// broken is the fault of an answer that ended with a finish reason that stands for a failure.
func broken(finish, message string) *fault.Fault {
	f := &fault.Fault{Class: fault.Upstream, Code: finish, Message: message}
	if message == "" {
		f.Message = "the upstream broke the answer off with finish_reason " + strconv.Quote(finish)
	}
	return f
}

// JudgeEvent reads one event. A message-end is the finish; [DONE] may come after it.
func (Chat) JudgeEvent(data []byte, p *wire.Progress) (e wire.Event) {
	data = bytes.TrimSpace(data)
	if wire.IsDone(data) {
		return wire.Event{End: true}
	}
	r := jsonscan.New(data)
	if r.Kind() != jsonscan.Object {
		return wire.Event{Malformed: true}
	}
	var kind, id, delta, message []byte
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			kind, _ = r.Literal()
		case "id":
			id, _ = r.Literal()
		case "delta":
			delta = r.Raw()
		case "message":
			message, _ = r.Literal()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return wire.Event{Malformed: true}
	}
	if len(message) > 0 && len(delta) == 0 {
		return wire.Event{Fault: noAnswer(data, "")}
	}
	e.Name = kind
	if p.ID == "" && len(id) > 0 {
		p.ID = string(id)
	}
	switch string(kind) {
	case "content-start", "content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta":
		var call bool
		e.Content, call = judgeDelta(delta)
		if call {
			p.SawTool, p.OpenTool = true, true
		}
	case "tool-call-end":
		p.OpenTool = false
	case "message-end":
		if e.Fault = judgeEnd(delta, p); e.Fault != nil {
			return e
		}
		if p.Reply.Finish != "" {
			e.Content, e.Finish, p.SawFinish, p.OpenTool = true, true, true, false
		}
	}
	p.SawContent = p.SawContent || e.Content
	return e
}

// judgeDelta says whether a piece is content: text, thoughts, a plan, or a call's name or arguments.
func judgeDelta(delta []byte) (content, call bool) {
	r := jsonscan.New(delta)
	if !r.Object() {
		return false, false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "message" {
			r.Skip()
			continue
		}
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "tool_plan":
				content = filled(&r) || content
			case "content":
				if !r.Object() {
					continue
				}
				for key, ok := r.Key(); ok; key, ok = r.Key() {
					if string(key) == "text" || string(key) == "thinking" {
						content = filled(&r) || content
					} else {
						r.Skip()
					}
				}
			case "tool_calls":
				name, arguments := judgeCalls(&r)
				call = call || name
				content = content || name || arguments
			default:
				r.Skip()
			}
		}
	}
	return content, call
}

func filled(r *jsonscan.Reader) bool {
	raw, _ := r.RawString()
	return len(raw) > 0
}

func judgeCalls(r *jsonscan.Reader) (name, arguments bool) {
	if r.Kind() == jsonscan.Array {
		r.Array()
		for r.Elem() {
			n, a := judgeCall(r)
			name, arguments = name || n, arguments || a
		}
		return name, arguments
	}
	return judgeCall(r)
}

func judgeCall(r *jsonscan.Reader) (name, arguments bool) {
	if !r.Object() {
		return false, false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "function" {
			r.Skip()
			continue
		}
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "name":
				name = filled(r) || name
			case "arguments":
				arguments = filled(r) || arguments
			default:
				r.Skip()
			}
		}
	}
	return name, arguments
}

// judgeEnd reads what a message-end says; the fault is that of an answer which failed.
func judgeEnd(delta []byte, p *wire.Progress) *fault.Fault {
	var finish, message []byte
	r := jsonscan.New(delta)
	enter(&r, func(key string) {
		switch key {
		case "finish_reason":
			finish, _ = r.Literal()
		case "usage":
			if u := readUsage(&r); u.Known {
				p.Reply.Usage = u
			}
		case "error":
			message, _ = r.Literal()
		default:
			r.Skip()
		}
	})
	if failed(finish) || len(finish) == 0 && len(message) > 0 {
		return broken(string(finish), string(message))
	}
	if p.Reply.Finish == "" {
		p.Reply.Finish = string(finish)
	}
	return nil
}

// readError reads {"message":…,"error_type":…}; the type is not always there.
func readError(body []byte) (code, message string) {
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return "", ""
	}
	enter(&r, func(key string) {
		switch key {
		case "message":
			message, _ = r.Text()
		case "error_type":
			code, _ = r.Text()
		default:
			r.Skip()
		}
	})
	if !r.End() || message == "" {
		return "", ""
	}
	return code, message
}

// enter walks an object's members and hands each to read, which must read its value.
func enter(r *jsonscan.Reader, read func(key string)) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		read(string(key))
	}
}

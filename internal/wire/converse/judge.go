package converse

import (
	"strings"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// Judge reads a whole ConverseResponse: one without a message or a stop reason is no answer (R14). An empty message with
// a stop reason is one.
func (Converse) Judge(body []byte) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, nil); f != nil {
		return reply, f
	}
	message := false
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "output":
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				message = message || string(key) == "message" && r.Kind() == jsonscan.Object
				r.Skip()
			}
		case "stopReason":
			reply.Finish, _ = r.Text()
		case "usage":
			reply.Usage = readUsage(&r)
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return wire.Reply{}, wire.BrokenAnswer(r.Err())
	}
	switch {
	case message && reply.Finish != "":
		return reply, nil
	case message:
		return reply, wire.Invalid(`the upstream's answer has no "stopReason"`)
	}
	return reply, noAnswer(body, `the upstream's answer has no "output" with a message`)
}

// noAnswer is the error that a body is, or else one that says what is missing.
func noAnswer(body []byte, missing string) *fault.Fault {
	if err := jsonscan.Valid(body); err != nil {
		return wire.BrokenAnswer(err)
	}
	if code, message := readError(body); message != "" {
		return exception(code, message, 0)
	}
	return wire.Invalid(missing)
}

// JudgeEvent reads one event. There is no end marker: a messageStop is the finish, and the usage comes after it.
func (Converse) JudgeEvent(data []byte, p *wire.Progress) (e wire.Event) {
	r := jsonscan.New(data)
	if r.Kind() != jsonscan.Object {
		return wire.Event{Malformed: true}
	}
	var (
		stop, code []byte
		start      bool // of a call
		closed     bool
		usage      wire.Usage
	)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "contentBlockDelta":
			e.Content = judgeDelta(&r) || e.Content
		case "contentBlockStart":
			start = judgeStart(&r) || start
		case "contentBlockStop":
			closed = true
			r.Skip()
		case "messageStop":
			stop = judgeStop(&r)
		case "metadata":
			usage = judgeMetadata(&r)
		case "exception":
			code, _ = r.Literal()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return wire.Event{Malformed: true}
	}
	if len(code) > 0 {
		return wire.Event{Fault: readException(data)}
	}
	if start {
		e.Content, p.SawTool, p.OpenTool = true, true, true
	}
	if closed {
		p.OpenTool = false
	}
	if usage.Known {
		p.Reply.Usage = usage
	}
	if len(stop) > 0 {
		e.Content, e.Finish = true, true
		p.SawFinish, p.OpenTool = true, false
		if p.Reply.Finish == "" {
			p.Reply.Finish = string(stop)
		}
	}
	p.SawContent = p.SawContent || e.Content
	return e
}

// judgeDelta says whether a contentBlockDelta is content: text, thoughts, arguments or a picture that are not empty. A
// signature and a citation are not.
func judgeDelta(r *jsonscan.Reader) (content bool) {
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "delta" {
			r.Skip()
			continue
		}
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "text":
				content = filled(r) || content
			case "reasoningContent", "toolUse":
				content = anyFilled(r) || content
			case "image":
				content = true
				r.Skip()
			default:
				r.Skip()
			}
		}
	}
	return content
}

func filled(r *jsonscan.Reader) bool {
	raw, _ := r.RawString()
	return len(raw) > 0
}

// anyFilled says whether one of an object's members is text that is not empty, a signature aside.
func anyFilled(r *jsonscan.Reader) (is bool) {
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "signature" {
			r.Skip()
			continue
		}
		is = filled(r) || is
	}
	return is
}

// judgeStart says whether a contentBlockStart begins a tool's call, which its name makes content.
func judgeStart(r *jsonscan.Reader) (call bool) {
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "start" {
			r.Skip()
			continue
		}
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			call = call || string(key) == "toolUse"
			r.Skip()
		}
	}
	return call
}

func judgeStop(r *jsonscan.Reader) (stop []byte) {
	if !r.Object() {
		return nil
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "stopReason" {
			stop, _ = r.Literal()
		} else {
			r.Skip()
		}
	}
	return stop
}

func judgeMetadata(r *jsonscan.Reader) (u wire.Usage) {
	if !r.Object() {
		return u
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "usage" {
			u = readUsage(r)
		} else {
			r.Skip()
		}
	}
	return u
}

// readException reads {"exception":"throttlingException","message":…}.
func readException(data []byte) *fault.Fault {
	var code, message, original string
	var status int64
	r := jsonscan.New(data)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "exception":
			code, _ = r.Text()
		case "message", "Message":
			message, _ = r.Text()
		case "originalMessage":
			original, _ = r.Text()
		case "originalStatusCode":
			status, _ = r.Int()
		default:
			r.Skip()
		}
	}
	if message == "" {
		message = original
	}
	if message == "" {
		message = "the upstream broke the stream off: " + code
	}
	return exception(code, message, int(status))
}

// statuses are the HTTP statuses that AWS answers the exceptions with. Where the model's own status is known it says
// more.
var statuses = [...]struct {
	name   string
	status int
}{
	{"throttlingexception", 429},
	{"toomanyrequestsexception", 429},
	{"servicequotaexceededexception", 429},
	{"modelnotreadyexception", 503}, // AWS says 429; it says nothing of the caller's rate
	{"validationexception", 400},
	{"accessdeniedexception", 403},
	{"unrecognizedclientexception", 403},
	{"expiredtokenexception", 403},
	{"resourcenotfoundexception", 404},
	{"internalserverexception", 500},
	{"serviceunavailableexception", 503},
	{"modeltimeoutexception", 504}, // AWS says 408
	{"modelerrorexception", 502},   // AWS says 424, and
	{"modelstreamerrorexception", 502},
}

// exception is the fault that an exception is, classified by its own name (R14). The provider's table refines it.
func exception(code, message string, original int) *fault.Fault {
	f := &fault.Fault{Class: fault.Invalid, Code: code, Message: message}
	name := strings.ToLower(code)
	for i := range statuses {
		if statuses[i].name == name {
			f.Status = statuses[i].status
		}
	}
	if original >= 400 && original <= 599 && (f.Status == 0 || f.Status == 502) {
		f.Status = original
	}
	switch {
	case f.Status == 429:
		f.Class = fault.RateLimited
	case f.Status >= 500:
		f.Class = fault.Upstream
	case f.Status == 404:
		f.Class = fault.ModelMissing
	case f.Status == 403:
		f.Class = fault.Auth
	case f.Status >= 400:
		f.Class = fault.Rejected
	}
	return f
}

// readError reads {"message":…}, with the type beside it where AWS puts it into the body: "__type" with a name space
// before a #, or "code".
func readError(body []byte) (code, message string) {
	r := jsonscan.New(body)
	if !r.Object() {
		return "", ""
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "message", "Message", "errorMessage":
			if m, _ := r.Text(); m != "" {
				message = m
			}
		case "__type", "code", "exception":
			if c, _ := r.Text(); c != "" {
				code = c
			}
		case "Output": // {"Output":{"__type":…},"Version":"1.0"}: an operation that is not known there
			c, m := readError(r.Raw())
			if c != "" {
				code = c
			}
			if message == "" {
				message = m
			}
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return "", ""
	}
	if i := strings.LastIndexByte(code, '#'); i >= 0 {
		code = code[i+1:]
	}
	code, _, _ = strings.Cut(code, ":")
	if message == "" {
		message = code
	}
	return code, message
}

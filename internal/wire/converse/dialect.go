package converse

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// Converse is the operations Converse and ConverseStream. It holds nothing and is safe for concurrent use.
type Converse struct{}

var (
	_ wire.Upstream = Converse{}
	_ wire.Unsealer = Converse{}
)

// Name is "converse".
func (Converse) Name() string { return "converse" }

// Path is empty: no client speaks it, and providers have the model in their path.
func (Converse) Path() string { return "" }

// Side is false.
func (Converse) Side() bool { return false }

// ReadRequest checks that the body is an object. Model and kind of answer are in the path, the caller sets them.
func (Converse) ReadRequest(body []byte) (wire.Request, error) { return readRequest(body) }

func readRequest(body []byte) (wire.Request, error) {
	if !jsonscan.IsObject(body) {
		return wire.Request{Body: body}, wire.NoObject(body)
	}
	return wire.Request{Body: body}, nil
}

// AppendRequest applies parameters; the model is not in the body.
func (Converse) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return appendParams(dst, r, w.Params)
}

// AppendEnd appends nothing: a stream ends where it ends.
func (Converse) AppendEnd(dst []byte, _ *wire.Progress) []byte { return dst }

// AppendError appends {"message":…}, as AWS says errors.
func (Converse) AppendError(dst []byte, f wire.Failure) []byte { return appendError(dst, f) }

func appendError(dst []byte, f wire.Failure) []byte {
	return append(jsonscan.AppendStringMember(append(dst, '{'), "message", f.Message), '}')
}

// AppendStreamError appends an exception's event.
func (Converse) AppendStreamError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, "event: error\ndata: {"...)
	dst = jsonscan.AppendStringMember(dst, "exception", exceptionOf(f.Status))
	dst = jsonscan.AppendStringMember(dst, "message", f.Message)
	return append(dst, "}\n\n"...)
}

// exceptionOf is the exception that stands for a status in a stream.
func exceptionOf(status int) string {
	switch {
	case status == 429:
		return "throttlingException"
	case status >= 400 && status < 500:
		return "validationException"
	case status == 503:
		return "serviceUnavailableException"
	}
	return "internalServerException"
}

// ReadError reads AWS's error body. Its code is mostly not there but in a header, which the provider adapter reads.
func (Converse) ReadError(body []byte) (code, message string) { return readError(body) }

// inference are the parameters that stand in inferenceConfig, under the names that a target's parameters may have.
var inference = [...]struct{ name, member string }{
	{"temperature", "temperature"},
	{"max_tokens", "maxTokens"},
	{"max_completion_tokens", "maxTokens"},
	{"maxTokens", "maxTokens"},
	{"top_p", "topP"},
	{"topP", "topP"},
	{"stop_sequences", "stopSequences"},
	{"stopSequences", "stopSequences"},
}

func inferenceMember(name string) string {
	for i := range inference {
		if inference[i].name == name {
			return inference[i].member
		}
	}
	return ""
}

// appendParams overrides members of a body: those of inferenceConfig in there, all others at the top. One named model or
// stream has no say.
func appendParams(dst []byte, q *wire.Request, params []wire.Param) []byte {
	if len(params) == 0 {
		return q.Body
	}
	var top, inner []wire.Param
	for _, p := range params {
		switch m := inferenceMember(p.Name); {
		case p.Name == "model" || p.Name == "modelId" || p.Name == "stream":
		case m != "":
			inner = append(inner, wire.Param{Name: m, Value: p.Value})
		default:
			top = append(top, p)
		}
	}
	if len(inner) > 0 {
		config := []byte("{}")
		r := jsonscan.New(q.Body)
		r.Object()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if raw := r.Raw(); string(key) == "inferenceConfig" && jsonscan.IsObject(raw) {
				config = raw
			}
		}
		for _, p := range top {
			if p.Name == "inferenceConfig" && jsonscan.IsObject(p.Value) {
				config = p.Value
			}
		}
		config = wire.AppendRewritten(nil, &wire.Request{Body: config}, wire.Rewrite{Params: inner})
		top = append(top, wire.Param{Name: "inferenceConfig", Value: config})
	}
	return wire.AppendRewritten(dst, q, wire.Rewrite{Params: top})
}

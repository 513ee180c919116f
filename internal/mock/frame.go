package mock

import (
	"bytes"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// framing is how events go into a body.
type framing struct {
	contentType string
	// beat is what is sent in a silence; empty where the framing has nothing for that.
	beat string
	// frame puts an event into the body; first says that it is the first one.
	frame func(e event, first bool) []byte
}

// sse is server-sent events; an event with a name says it.
func sse() framing {
	return framing{"text/event-stream; charset=utf-8", ": keepalive\n\n", func(e event, _ bool) []byte {
		var out []byte
		if e.name != "" {
			out = append(out, "event: "+e.name+"\n"...)
		}
		out = append(out, "data: "...)
		out = append(out, e.data...)
		return append(out, "\n\n"...)
	}}
}

// jsonArray is one JSON list that grows; the end marker is its bracket.
func jsonArray() framing {
	return framing{"application/json; charset=UTF-8", "\n", func(e event, first bool) []byte {
		switch {
		case e.kind == kindDone:
			return e.data
		case first:
			return append([]byte("["), e.data...)
		}
		return append([]byte("\n,\r\n"), e.data...)
	}}
}

// eventStream is AWS's binary framing. It has nothing that could be sent in a silence.
func eventStream() framing {
	return framing{"application/vnd.amazon.eventstream", "", func(e event, _ bool) []byte {
		kind, name := "event", ":event-type"
		if e.exception {
			kind, name = "exception", ":exception-type"
		}
		var h eventstream.Headers
		h.Set(name, eventstream.StringValue(e.name))
		h.Set(":content-type", eventstream.StringValue("application/json"))
		h.Set(":message-type", eventstream.StringValue(kind))
		var out bytes.Buffer
		if err := eventstream.NewEncoder().Encode(&out, eventstream.Message{Headers: h, Payload: e.data}); err != nil {
			panic("BUG: mock event does not encode: " + err.Error())
		}
		return out.Bytes()
	}}
}

// asIs sends events that have their frames already.
func asIs(contentType string) framing {
	return framing{contentType: contentType, frame: func(e event, _ bool) []byte { return e.data }}
}

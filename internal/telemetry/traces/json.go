package traces

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
)

// jsonForm writes the same message as protobuf does in OTLP's JSON: ids in hex, numbers of 64 bits in quotes.
type jsonForm struct{}

func (jsonForm) batch(dst []byte, r *origin, spans func(each func(*span))) []byte {
	dst = append(dst, `{"resourceSpans":[{"resource":{"attributes":[`...)
	for _, p := range r.resource {
		dst = jsonAttr(jsonscan.AppendComma(dst), &attr{key: p.Key, text: p.Value})
	}
	dst = append(dst, `]},"scopeSpans":[{"scope":{"name":`...)
	dst = jsonscan.AppendString(dst, scope)
	dst = append(dst, `,"version":`...)
	dst = jsonscan.AppendString(dst, r.version)
	dst = append(dst, `},"spans":[`...)
	spans(func(s *span) { dst = jsonSpan(jsonscan.AppendComma(dst), s) })
	return append(dst, `]}]}]}`...)
}

func jsonSpan(dst []byte, s *span) []byte {
	dst = append(dst, `{"traceId":"`...)
	dst = hex.AppendEncode(dst, s.trace[:])
	dst = append(dst, `","spanId":"`...)
	dst = hex.AppendEncode(dst, s.id[:])
	if s.state != "" {
		dst = append(dst, `","traceState":`...)
		dst = jsonscan.AppendString(dst, s.state)
		dst = append(dst, `,"parentSpanId":"`...)
	} else {
		dst = append(dst, `","parentSpanId":"`...)
	}
	if s.parent != [8]byte{} {
		dst = hex.AppendEncode(dst, s.parent[:])
	}
	dst = append(dst, `","name":`...)
	dst = jsonscan.AppendString(dst, s.name)
	dst = append(dst, `,"kind":`...)
	dst = strconv.AppendInt(dst, int64(s.kind), 10)
	dst = append(dst, `,"startTimeUnixNano":"`...)
	dst = strconv.AppendUint(dst, nanos(s.start), 10)
	dst = append(dst, `","endTimeUnixNano":"`...)
	dst = strconv.AppendUint(dst, nanos(s.end), 10)
	dst = append(dst, `","attributes":[`...)
	dst = jsonAttrs(dst, s.attrs)
	dst = append(dst, `],"events":[`...)
	for i := range s.events {
		e := &s.events[i]
		dst = append(jsonscan.AppendComma(dst), `{"timeUnixNano":"`...)
		dst = strconv.AppendUint(dst, nanos(e.at), 10)
		dst = append(dst, `","name":`...)
		dst = jsonscan.AppendString(dst, e.name)
		dst = append(dst, `,"attributes":[`...)
		dst = append(jsonAttrs(dst, e.attrs), `]}`...)
	}
	dst = append(dst, `],"status":{`...)
	if s.failed {
		dst = append(dst, `"code":`...)
		dst = strconv.AppendInt(dst, statusError, 10)
	}
	dst = append(dst, `},"flags":`...)
	return append(strconv.AppendUint(dst, uint64(s.flags()), 10), '}')
}

func jsonAttrs(dst []byte, attrs []attr) []byte {
	for i := range attrs {
		dst = jsonAttr(jsonscan.AppendComma(dst), &attrs[i])
	}
	return dst
}

func jsonAttr(dst []byte, a *attr) []byte {
	dst = append(dst, `{"key":`...)
	dst = jsonscan.AppendString(dst, a.key)
	dst = append(dst, `,"value":{`...)
	switch a.kind {
	case textKind:
		dst = append(dst, `"stringValue":`...)
		dst = jsonscan.AppendString(dst, a.text)
	case boolKind:
		dst = append(dst, `"boolValue":`...)
		dst = strconv.AppendBool(dst, a.n != 0)
	case intKind:
		dst = append(dst, `"intValue":"`...)
		dst = append(strconv.AppendInt(dst, a.n, 10), '"')
	case floatKind:
		dst = append(dst, `"doubleValue":`...)
		if math.IsNaN(a.f) || math.IsInf(a.f, 0) {
			dst = append(dst, '0')
		} else {
			dst = strconv.AppendFloat(dst, a.f, 'g', -1, 64)
		}
	case listKind:
		dst = append(dst, `"arrayValue":{"values":[`...)
		for _, v := range a.list {
			dst = append(jsonscan.AppendComma(dst), `{"stringValue":`...)
			dst = append(jsonscan.AppendString(dst, v), '}')
		}
		dst = append(dst, `]}`...)
	}
	return append(dst, `}}`...)
}

// rejectedJSON is how many spans a collector did not take, by its answer.
func rejectedJSON(answer []byte) int64 {
	var said struct {
		PartialSuccess struct {
			RejectedSpans json.RawMessage `json:"rejectedSpans"` // a number in quotes, or not
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.Trim(string(said.PartialSuccess.RejectedSpans), `"`), 10, 64) // 0 if it is none
	return n
}

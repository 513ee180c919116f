package openaichat

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// show writes a canonical value so that a person can read it: one field a line, what is zero left out.
func show(v any) []byte {
	var out bytes.Buffer
	showValue(&out, reflect.ValueOf(v), "")
	out.WriteByte('\n')
	return out.Bytes()
}

var kindNames = map[llm.PartKind]string{
	llm.Text: "Text", llm.Image: "Image", llm.Document: "Document", llm.Audio: "Audio", llm.Video: "Video",
	llm.ToolCall: "ToolCall", llm.ToolResult: "ToolResult", llm.Reasoning: "Reasoning", llm.Refusal: "Refusal", llm.Opaque: "Opaque",
}

var stopNames = [...]string{"Unstopped", "EndTurn", "Length", "ToolUse", "StopSequence", "ContentFilter", "Refused", "Paused", "ContextFull", "OtherStop"}

func showValue(out *bytes.Buffer, v reflect.Value, indent string) {
	switch x := v.Interface().(type) {
	case *llm.Dropped:
		fmt.Fprintf(out, "%q", x.Names())
		return
	case llm.PartKind:
		out.WriteString(kindNames[x])
		return
	case llm.Role:
		out.WriteString([...]string{"-", "User", "Assistant", "System"}[x])
		return
	case llm.Choosing:
		out.WriteString([...]string{"Unsaid", "Auto", "None", "Required", "Named"}[x])
		return
	case llm.FormatKind:
		out.WriteString([...]string{"FreeText", "JSONObject", "JSONSchema"}[x])
		return
	case llm.SealKind:
		out.WriteString([...]string{"-", "Signed", "Redacted", "Encrypted"}[x])
		return
	case llm.Stop:
		out.WriteString(stopNames[x])
		return
	case llm.EventKind:
		out.WriteString([...]string{"-", "Start", "PartStart", "Delta", "Sealing", "Cited", "Probs", "PartStop", "Finish", "Used", "Alive"}[x])
		return
	case []byte:
		fmt.Fprintf(out, "%s", shorten(string(x)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		showValue(out, v.Elem(), indent)
	case reflect.Struct:
		out.WriteString("{")
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				continue
			}
			fmt.Fprintf(out, "\n%s  %s: ", indent, v.Type().Field(i).Name)
			showValue(out, v.Field(i), indent+"  ")
		}
		out.WriteString("\n" + indent + "}")
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String {
			fmt.Fprintf(out, "%q", v.Interface())
			return
		}
		out.WriteString("[")
		for i := range v.Len() {
			out.WriteString("\n" + indent + "  ")
			showValue(out, v.Index(i), indent+"  ")
		}
		out.WriteString("\n" + indent + "]")
	case reflect.String:
		fmt.Fprintf(out, "%q", shorten(v.String()))
	default:
		fmt.Fprint(out, v.Interface())
	}
}

// shorten leaves out the middle of what is very long.
func shorten(s string) string {
	if len(s) > 600 {
		return fmt.Sprintf("%s … %d bytes … %s", strings.ToValidUTF8(s[:200], ""), len(s)-400, strings.ToValidUTF8(s[len(s)-200:], ""))
	}
	return s
}

// read reads a request as the gateway does: what it must know first, then all of it.
func read(tb testing.TB, body string) *llm.Request {
	tb.Helper()
	q, err := tryRead(body)
	if err != nil {
		tb.Fatalf("%v\n%s", err, body)
	}
	return q
}

func tryRead(body string) (*llm.Request, error) {
	r, err := Chat{}.ReadRequest([]byte(body))
	if err != nil {
		return nil, err
	}
	return Chat{}.DecodeRequest(&r)
}

// answers decodes a stream of data, the proper end included, to the reply that it says.
func answers(tb testing.TB, events []string) *llm.Reply {
	tb.Helper()
	var fold llm.Fold
	var order llm.Order
	put := func(e *llm.Event) { order.Put(e, fold.Put) }
	d := Chat{}.NewDecoder()
	for _, data := range events {
		if err := d.Decode([]byte(data), put); err != nil {
			tb.Fatalf("%v\n%s", err, data)
		}
	}
	d.End(put)
	order.End(fold.Put)
	return fold.Reply()
}

// framesOf are the events of a stream whose bytes come in pieces of a size.
func framesOf(tb testing.TB, stream []byte, size int) (out []string) {
	tb.Helper()
	s := sse.Splitter{Whole: wire.WholeEvent}
	var unread []byte
	for at := 0; at < len(stream) || len(unread) > 0; {
		end := min(at+size, len(stream))
		unread = append(unread, stream[at:end]...)
		at = end
		for {
			f, n, err := s.Next(unread, at == len(stream))
			if err != nil {
				tb.Fatal(err)
			}
			if n == 0 {
				break
			}
			if !f.Comment {
				out = append(out, string(f.Data))
			}
			unread = unread[n:]
		}
		if at == len(stream) {
			break
		}
	}
	return out
}

// encode writes a reply as a stream in a client's dialect.
func encode(d wire.Client, a *llm.Reply, q *llm.Request, end bool) []byte {
	e := d.NewEncoder(q)
	var order llm.Order
	var out []byte
	say := func(v *llm.Event) { out = e.Append(out, v) }
	llm.Unfold(a, func(v *llm.Event) { order.Put(v, say) })
	if end {
		order.End(say)
		out = e.AppendEnd(out)
	}
	return out
}

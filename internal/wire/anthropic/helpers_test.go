package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// files gives the recordings of a folder by name.
func files(tb testing.TB, folder string) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil || len(names) == 0 {
		tb.Fatalf("%s: %d files, %v", folder, len(names), err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		out[filepath.Base(name)] = text
	}
	return out
}

// wholeBytes compares raw JSON at once: byte for byte takes its time.
var wholeBytes = cmp.Comparer(bytes.Equal)

// frames cuts a stream into its events.
func frames(tb testing.TB, stream []byte) (out []sse.Frame) {
	tb.Helper()
	s := sse.Splitter{Whole: wire.WholeEvent}
	for {
		f, n, err := s.Next(stream, true)
		if err != nil {
			tb.Fatal(err)
		}
		if n == 0 {
			return out
		}
		stream = stream[n:]
		if !f.Comment {
			f.Data, f.Event = bytes.Clone(f.Data), bytes.Clone(f.Event)
			out = append(out, f)
		}
	}
}

// say writes one event as the wire has it.
func say(data string) string {
	var e struct{ Type string }
	_ = json.Unmarshal([]byte(data), &e)
	return string(wire.AppendEvent(nil, []byte(e.Type), []byte(data)))
}

func sayAll(events ...string) (stream []byte) {
	for _, e := range events {
		stream = append(stream, say(e)...)
	}
	return stream
}

// decodeStream folds a stream by way of the decoder and the order.
func decodeStream(tb testing.TB, stream []byte) *llm.Reply {
	tb.Helper()
	var order llm.Order
	var fold llm.Fold
	d := Messages{}.NewDecoder()
	put := func(e *llm.Event) { order.Put(e, fold.Put) }
	for _, f := range frames(tb, stream) {
		if err := d.Decode(f.Data, put); err != nil {
			tb.Fatalf("%s: %v", f.Data, err)
		}
	}
	d.End(put)
	order.End(fold.Put)
	return fold.Reply()
}

// show writes a value with what is set in it, one field a line.
func show(v any) []byte {
	var b bytes.Buffer
	showValue(&b, reflect.ValueOf(v), "")
	return b.Bytes()
}

func showValue(b *bytes.Buffer, v reflect.Value, indent string) {
	switch v.Kind() {
	case reflect.Pointer:
		if d, ok := v.Interface().(*llm.Dropped); ok {
			fmt.Fprintf(b, "%v\n", d.Names())
			return
		}
		showValue(b, v.Elem(), indent)
	case reflect.Struct:
		b.WriteString("\n")
		for i := range v.NumField() {
			f := v.Field(i)
			if f.IsZero() || !v.Type().Field(i).IsExported() {
				continue
			}
			fmt.Fprintf(b, "%s%s: ", indent, v.Type().Field(i).Name)
			showValue(b, f, indent+"  ")
		}
	case reflect.Slice:
		if raw, ok := v.Interface().([]byte); ok {
			fmt.Fprintf(b, "%s\n", shorten(string(raw)))
			return
		}
		b.WriteString("\n")
		for i := range v.Len() {
			fmt.Fprintf(b, "%s- ", indent)
			showValue(b, v.Index(i), indent+"  ")
		}
	case reflect.String:
		fmt.Fprintf(b, "%q\n", shorten(v.String()))
	case reflect.Uint8:
		fmt.Fprintf(b, "%v\n", enum(v))
	default:
		fmt.Fprintf(b, "%v\n", v.Interface())
	}
}

func shorten(s string) string {
	if len(s) > 400 {
		return fmt.Sprintf("%s … %d bytes … %s", s[:200], len(s), s[len(s)-60:])
	}
	return s
}

func enum(v reflect.Value) string {
	words := map[string][]string{
		"PartKind":   {"", "text", "image", "document", "audio", "video", "tool call", "tool result", "reasoning", "refusal", "opaque"},
		"Stop":       {"unstopped", "end of turn", "length", "tool use", "stop sequence", "content filter", "refused", "paused", "context full", "other"},
		"SealKind":   {"", "signed", "redacted", "encrypted"},
		"Role":       {"", "user", "assistant", "system"},
		"Choosing":   {"", "auto", "none", "required", "named"},
		"FormatKind": {"", "json object", "json schema"},
	}[v.Type().Name()]
	if int(v.Uint()) < len(words) {
		return words[v.Uint()]
	}
	return fmt.Sprint(v.Uint())
}

// grammar checks a stream against the rules of the dialect's events and gives what is wrong.
func grammar(stream []byte) error {
	type body struct {
		Type    string
		Index   *int
		Message *struct {
			ID, Type, Role, Model string
			Content               []any
			StopReason            *string `json:"stop_reason"`
			Usage                 map[string]any
		}
		Block map[string]any `json:"content_block"`
		Delta map[string]any
		Usage map[string]any
	}
	want := map[string]string{
		"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
		"input_json_delta": "tool_use",
	}
	field := map[string]string{
		"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature", "input_json_delta": "partial_json",
		"citations_delta": "citation",
	}
	state, next, open := "start", 0, ""
	for _, chunk := range bytes.SplitAfter(stream, []byte("\n\n")) {
		if len(chunk) == 0 {
			continue
		}
		name, data, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(string(chunk), "event: "), "\n\n"), "\ndata: ")
		var e body
		if err := json.Unmarshal([]byte(data), &e); !ok || err != nil || strings.Contains(data, "\n") || e.Type != name {
			return fmt.Errorf("no event: %q: %w", chunk, err)
		}
		at := -1
		if e.Index != nil {
			at = *e.Index
		}
		switch {
		case e.Type == "ping" && state != "end":
		case e.Type == "message_start" && state == "start":
			state = "blocks"
			m := e.Message
			if m == nil || !strings.HasPrefix(m.ID, "msg_") || m.Type != "message" || m.Role != "assistant" || m.Content == nil ||
				len(m.Content) > 0 || m.StopReason != nil || m.Usage["input_tokens"] == nil || m.Usage["output_tokens"] == nil {
				return fmt.Errorf("message_start: %s", data)
			}
		case e.Type == "content_block_start" && state == "blocks" && open == "" && at == next:
			if open, _ = e.Block["type"].(string); open == "" {
				return fmt.Errorf("a block without type: %s", data)
			}
			if id, call := e.Block["id"].(string); call && open == "tool_use" && legalID(id) != id {
				return fmt.Errorf("id %q", id)
			}
		case e.Type == "content_block_delta" && state == "blocks" && open != "" && at == next:
			kind, _ := e.Delta["type"].(string)
			if want[kind] != open || e.Delta[field[kind]] == nil {
				return fmt.Errorf("%s in a block of %s: %s", kind, open, data)
			}
		case e.Type == "content_block_stop" && state == "blocks" && open != "" && at == next:
			open = ""
			next++
		case e.Type == "message_delta" && state == "blocks" && open == "":
			state = "delta"
			if _, ok := e.Delta["stop_reason"].(string); !ok || e.Usage["output_tokens"] == nil {
				return fmt.Errorf("message_delta: %s", data)
			}
		case e.Type == "message_stop" && state == "delta":
			state = "end"
		default:
			return fmt.Errorf("%s does not belong here (%s, open %q, next %d)", data, state, open, next)
		}
	}
	if state != "end" {
		return fmt.Errorf("it ends in %s", state)
	}
	return nil
}

func containsMessage(err error, message string) bool { return strings.Contains(err.Error(), message) }

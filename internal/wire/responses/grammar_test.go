package responses

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// grammar has the documented fields of each stream event, by its type.
type grammar map[string]documentedEvent

func newGrammar(tb testing.TB) grammar {
	tb.Helper()
	raw, err := os.ReadFile("testdata/stream-events.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct {
		Events []documentedEvent `json:"events"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		tb.Fatal(err)
	}
	out := grammar{}
	for _, e := range file.Events {
		out[e.Event] = e
	}
	return out
}

type documentedEvent struct {
	Event      string            `json:"event"`
	Required   []string          `json:"required"`
	Properties map[string]string `json:"properties"`
}

// check says what an event's fields lack.
func (d documentedEvent) check(e map[string]any) string {
	for _, name := range d.Required {
		if _, ok := e[name]; !ok {
			return "no " + name
		}
	}
	for name, kind := range d.Properties {
		v, ok := e[name]
		if !ok {
			continue
		}
		switch kind {
		case "string":
			_, ok = v.(string)
		case "integer":
			var n float64
			n, ok = v.(float64)
			ok = ok && n == float64(int(n)) && n >= 0
		case "object", "Response", "OutputItem", "OutputContent":
			_, ok = v.(map[string]any)
		case "ResponseLogProb[]":
			_, ok = v.([]any)
		}
		if !ok {
			return name + " is no " + kind
		}
	}
	return ""
}

type obj = map[string]any

// check checks a stream of ours: each event has its documented fields, its type for a name and the next number;
// items and parts begin and end in order, deltas add up to what their ends say, and the response at the end holds the
// items as they ended.
func (g grammar) check(tb testing.TB, stream []byte) {
	tb.Helper()
	var items []any             // done
	var item, part, summary obj // open
	said, state, lastKind := "", "", ""
	parts, summaries, sequence := 0, 0, 0
	for _, frame := range strings.Split(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(frame, "\n")
		name, named := strings.CutPrefix(name, "event: ")
		data, dated := strings.CutPrefix(data, "data: ")
		if !ok || !named || !dated || strings.ContainsAny(data, "\r\n") {
			tb.Fatalf("a frame of another form: %q", frame)
		}
		e, isObject := normal(tb, []byte(data)).(obj)
		if !isObject || e["type"] != name {
			tb.Fatalf("event %s has type %v", name, e["type"])
		}
		d, known := g[name]
		if !known {
			tb.Fatalf("no such event: %s", name)
		}
		if lack := d.check(e); lack != "" {
			tb.Errorf("%s: %s: %s", name, lack, data)
		}
		if e["sequence_number"] != float64(sequence) {
			tb.Fatalf("event %d has the number %v", sequence, e["sequence_number"])
		}
		sequence++
		if state == "completed" {
			tb.Fatalf("%s comes after the end", name)
		}
		at := func(index string, want int) {
			tb.Helper()
			if e[index] != float64(want) {
				tb.Fatalf("%s has %s %v, not %d", name, index, e[index], want)
			}
		}
		if _, ok := e["output_index"]; ok {
			at("output_index", len(items))
		}
		if id, ok := e["item_id"]; ok && (item == nil || item["id"] != id) {
			tb.Fatalf("%s is of item %v, but %v is open", name, id, item["id"])
		}
		end := func(what string, whole any) {
			tb.Helper()
			if whole != said {
				tb.Fatalf("%s: the deltas of %s are %q, its end says %q", name, what, said, whole)
			}
		}
		delta, _ := e["delta"].(string)
		switch name {
		case "response.created":
			if sequence != 1 {
				tb.Fatal("response.created is not the first event")
			}
		case "response.in_progress":
			if lastKind != "response.created" {
				tb.Fatal("response.in_progress comes after " + lastKind)
			}
		case "response.output_item.added":
			if item != nil {
				tb.Fatalf("an item begins while one is open: %s", data)
			}
			item, _ = e["item"].(obj)
			parts, summaries, said = 0, 0, ""
		case "response.output_item.done":
			if item == nil || part != nil || summary != nil {
				tb.Fatalf("an item ends that is not open, or has an open part: %s", data)
			}
			done, _ := e["item"].(obj)
			if done["id"] != item["id"] || done["type"] != item["type"] {
				tb.Fatalf("item %v ends as %v", item["id"], done["id"])
			}
			items, item = append(items, done), nil
		case "response.content_part.added":
			at("content_index", parts)
			part, _ = e["part"].(obj)
			said = ""
		case "response.content_part.done":
			at("content_index", parts)
			whole, _ := e["part"].(obj)
			if whole["type"] == "refusal" {
				end("a refusal", whole["refusal"])
			} else {
				end("a part", whole["text"])
			}
			part = nil
			parts++
		case "response.output_text.delta", "response.refusal.delta", "response.reasoning_text.delta":
			if part == nil {
				tb.Fatal("a text without a part")
			}
			at("content_index", parts)
			said += delta
		case "response.output_text.done", "response.reasoning_text.done":
			end("a text", e["text"])
		case "response.refusal.done":
			end("a refusal", e["refusal"])
		case "response.reasoning_summary_part.added":
			at("summary_index", summaries)
			summary, _ = e["part"].(obj)
			said = ""
		case "response.reasoning_summary_text.delta":
			if summary == nil {
				tb.Fatal("a summary's text without its part")
			}
			said += delta
		case "response.reasoning_summary_text.done":
			end("a summary", e["text"])
		case "response.reasoning_summary_part.done":
			whole, _ := e["part"].(obj)
			end("a summary", whole["text"])
			summary = nil
			summaries++
		case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
			said += delta
		case "response.function_call_arguments.done":
			end("arguments", e["arguments"])
		case "response.custom_tool_call_input.done":
			end("an input", e["input"])
		case "response.output_text.annotation.added":
			if part == nil {
				tb.Fatal("an annotation without a part")
			}
		case "response.completed", "response.incomplete":
			r, _ := e["response"].(obj)
			if "response."+r["status"].(string) != name {
				tb.Errorf("%s says %v", name, r["status"])
			}
			output, _ := r["output"].([]any)
			if len(items) == 0 && len(output) == 0 {
				items, output = nil, nil
			}
			if diff := cmp.Diff(items, output); diff != "" {
				tb.Errorf("the output at the end differs from the items as they ended:\n%s", diff)
			}
			state = "completed"
		default:
			tb.Fatalf("an event that is never ours: %s", name)
		}
		lastKind = name
	}
	if state != "completed" {
		tb.Fatalf("no end: %s", stream[max(0, len(stream)-200):])
	}
	if !bytes.HasSuffix(stream, []byte("\n\n")) {
		tb.Error("the last event has no blank line")
	}
}

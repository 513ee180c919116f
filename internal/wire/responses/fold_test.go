package responses

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
)

// R17: a stream where a plain reply was asked for. Some vendors leave the output at the end empty, or say no end at all
// but [DONE]: what went by is put in.
func TestReplyFromStream(t *testing.T) {
	t.Parallel()
	const (
		created = `{"type":"response.created","response":{"id":"r","model":"m","status":"in_progress","output":[]}}`
		delta   = `{"type":"response.output_text.delta","output_index":0,"delta":"a"}`
		second  = `{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}`
		first   = `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"a"}]}}`
		items   = `[{"type":"message","content":[{"type":"output_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]`
	)
	for _, c := range []struct {
		name, want string
		events     []string
	}{
		{"whole", `{"id":"r","output":[1]}`, []string{created, delta, `{"type":"response.completed","response":{"id":"r","output":[1]}}`}},
		{"an empty output", `{"id":"r","status":"completed","output":` + items + `}`, []string{created, second, first, `{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`}},
		{"an end marker alone", `{"id":"r","model":"m","status":"completed","output":` + items + `}`, []string{created, second, first, `[DONE]`}},
	} {
		got, err := Responses{}.ReplyFromStream([]byte("data: " + strings.Join(c.events, "\n\ndata: ") + "\n\n"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(normal(t, []byte(c.want)), normal(t, got)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}

	// Items that were never said whole are made of their pieces.
	got, err := Responses{}.ReplyFromStream([]byte("data: " + created + "\n\ndata: " + delta + "\n\ndata: [DONE]\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Responses{}.DecodeReply(got)
	if err != nil || a.Model != "m" || len(a.Choices[0].Content) != 1 || a.Choices[0].Content[0].Text != "a" {
		t.Errorf("%v: %s", err, got)
	}

	for name, stream := range map[string]string{
		"nothing":              "",
		"no content":           "data: " + created + "\n\ndata: [DONE]\n\n",
		"cut":                  "data: " + created + "\n\ndata: " + delta + "\n\n",
		"failed":               "data: " + delta + "\n\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"x\"}}}\n\n",
		"broken inside a call": "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"name\":\"f\"}}\n\ndata: {\"type\":\n\ndata: [DONE]\n\n",
	} {
		_, err := Responses{}.ReplyFromStream([]byte(stream))
		var f *fault.Fault
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

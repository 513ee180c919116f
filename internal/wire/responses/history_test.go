package responses

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, reply, id, output string }{
		{"a response", `{"id":"resp_1","output":[{"type":"message", "x":1}]}`, "resp_1", `[{"type":"message", "x":1}]`},
		{"a terminal event", `{"type":"response.completed","response":{"id":"resp_1","output":[ ]},"sequence_number":3}`, "resp_1", `[ ]`},
		{"no output", `{"id":"resp_1"}`, "", ""},
		{"output null", `{"id":"resp_1","output":null}`, "", ""},
		{"no object", `[]`, "", ""},
		{"broken", `{"id":"resp_1","output":[]`, "", ""},
	} {
		id, output, err := Output([]byte(c.reply))
		if id != c.id || string(output) != c.output || (err == nil) != (c.output != "") {
			t.Errorf("%s: %q %q %v", c.name, id, output, err)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		history    []string
		want       string
	}{
		{
			"a text", `{"model":"m", "previous_response_id":"resp_1","input":"And now?","seed":1e3}`,
			[]string{`"hi"`, `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]`},
			`{"model":"m","seed":1e3,"input":[{"type":"message","role":"user","content":"hi"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},{"type":"message","role":"user","content":"And now?"}]}`,
		},
		{
			"items", `{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":"1"}],"previous_response_id":"resp_1"}`,
			[]string{`[{"role":"user","content":"x"}]`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`},
			`{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]}`,
		},
		{
			"no input", `{"model":"m","previous_response_id":"resp_1"}`,
			[]string{`"hi"`},
			`{"model":"m","input":[{"type":"message","role":"user","content":"hi"}]}`,
		},
		{
			"thoughts that only their keeper knows", `{"model":"m","input":"x"}`,
			[]string{`[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":null},{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gA"},{"type":"reasoning","id":"rs_3","summary":[],"content":[{"type":"reasoning_text","text":"t"}]}]`},
			`{"model":"m","input":[{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gA"},{"type":"reasoning","id":"rs_3","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},{"type":"message","role":"user","content":"x"}]}`,
		},
	} {
		var history [][]byte
		for _, h := range c.history {
			history = append(history, []byte(h))
		}
		got, err := Expand([]byte(c.body), history)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(normal(t, []byte(c.want)), normal(t, got)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if _, err := (Responses{}).ReadRequest(got); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Expand([]byte(`{"model":"m"}`), [][]byte{[]byte(`[`)}); err == nil {
		t.Error("a broken history was put in")
	}
	if _, err := Expand([]byte(`[]`), nil); err == nil {
		t.Error("a body that is no object was expanded")
	}
	input, err := Input([]byte(`{"model":"m","input":[1]}`))
	if string(input) != "[1]" || err != nil {
		t.Error(input, err)
	}
}

// A turn that was answered, kept and gone on from is understood as the whole conversation.
func TestExpandedConversation(t *testing.T) {
	t.Parallel()
	for name, body := range recorded(t, ".json") {
		_, output, err := Output(body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expanded, err := Expand([]byte(`{"model":"m","input":"go on","previous_response_id":"r"}`), [][]byte{[]byte(`"begin"`), output})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		q := request(t, string(expanded))
		a, err := Responses{}.DecodeReply(body)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(q.Messages); n != 3 {
			t.Errorf("%s: %d turns", name, n)
			continue
		}
		if diff := cmp.Diff(a.Choices[0].Content, q.Messages[1].Content); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// R10: a request whose sealed thoughts were refused is repaired without them.
func TestAppendUnsealed(t *testing.T) {
	t.Parallel()
	const body = `{"model":"m","input":[{"role":"user","content":"x"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"},` +
		`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1","id":"kept"},` +
		`{"type":"message","id":"msg_1","role":"assistant","content":[]}],"store":false}`
	const want = `x{"model":"m","input":[{"role":"user","content":"x"},` +
		`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1","id":"kept"},` +
		`{"type":"message","role":"assistant","content":[]}],"store":false}`
	got, dropped := Responses{}.AppendUnsealed([]byte("x"), []byte(body))
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if diff := cmp.Diff([]string{llm.DropSignatures}, dropped); diff != "" {
		t.Error(diff)
	}
	for _, body := range []string{`{"model":"m","input":"x"}`, `{"model":"m","input":[{"role":"user","content":"x"}]}`, `[]`, `{"input":[{"type":"reasoning"}`} {
		if got, dropped := (Responses{}).AppendUnsealed([]byte("x"), []byte(body)); string(got) != "x" || dropped != nil {
			t.Errorf("%s: %s %v", body, got, dropped)
		}
	}
}

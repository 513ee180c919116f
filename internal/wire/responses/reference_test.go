package responses

import "testing"

func TestDereference(t *testing.T) {
	t.Parallel()
	kept := map[string]string{
		"resp_req_1": `[{"type":"reasoning","id":"rs_req_1_0","summary":[],"encrypted_content":"gA"},{"type":"function_call","id":"fc_req_1_1","call_id":"c","name":"f","arguments":"{}"}]`,
	}
	for _, c := range []struct{ name, body, want string }{
		{
			"a thought among other items",
			`{"model":"m","input":[{"role":"user","content":"x"},{"type":"item_reference","id":"rs_req_1_0"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"seed":1e3}`,
			`{"model":"m","input":[{"role":"user","content":"x"},{"type":"reasoning","id":"rs_req_1_0","summary":[],"encrypted_content":"gA"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"seed":1e3}`,
		},
		{
			"known and unknown",
			`{"input":[{"type":"item_reference","id":"fc_req_1_1"},{"type":"item_reference","id":"fc_req_2_1"},{"id":"rs_req_1_0"}]}`,
			`{"input":[{"type":"function_call","id":"fc_req_1_1","call_id":"c","name":"f","arguments":"{}"},{"type":"item_reference","id":"fc_req_2_1"},{"type":"reasoning","id":"rs_req_1_0","summary":[],"encrypted_content":"gA"}]}`,
		},
		{"an item that its answer has not", `{"input":[{"type":"item_reference","id":"rs_req_1_7"}]}`, ""},
		{"ids of another's making", `{"input":[{"type":"item_reference","id":"rs"},{"type":"item_reference","id":"rs_1"},{"type":"item_reference","id":""},{"type":"item_reference"}]}`, ""},
		{"the word in a text", `{"input":"an \"item_reference\""}`, ""},
		{"none", `{"input":[{"role":"user","content":"x"}]}`, ""},
	} {
		got, err := Dereference([]byte(c.body), func(id string) []byte { return []byte(kept[id]) })
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
	if _, err := Dereference([]byte(`{"input":[{"type":"item_reference"}`), func(string) []byte { return nil }); err == nil {
		t.Error("broken JSON was taken")
	}
}

package openaiwords_test

import (
	"testing"

	"evergate/internal/fault"
	"evergate/internal/openaiwords"
)

// Whichever of the two dialects an error comes in, it is read the same. The dialects' own tests have what vendors sent.
func TestReadError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, code, message string }{
		{"OpenAI", `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, "c", "m"},
		{"a failed response", `{"object":"response","status":"failed","error":{"code":"server_error","message":"m"}}`, "server_error", "m"},
		{"a failed response without a code", `{"status":"failed","error":{"message":"m"}}`, "", "m"},
		{"an event of one", `{"type":"response.failed","response":{"status":"failed","error":{"code":"c","message":"m"}}}`, "c", "m"},
		{"an error event", `{"type":"error","code":"c","message":"m","sequence_number":1}`, "c", "m"},
		{"Google's status", `{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}`, "RESOURCE_EXHAUSTED", "m"},
		{"a word beside a message", `{"error":"Bad Request","message":"m"}`, "Bad Request", "m"},
		{"FastAPI", `{"detail":[{"loc":["body","input",0],"msg":"m","type":"missing"}]}`, "missing", "body.input.0: m"},
		{"an answer", `{"object":"response","status":"completed","error":null}`, "", ""},
		{"broken", `{"error":{"message":"m"}`, "", ""},
	} {
		code, message := openaiwords.ReadError([]byte(c.body))
		if code != c.code || message != c.message {
			t.Errorf("%s: %q, %q", c.name, code, message)
		}
		if f := openaiwords.FaultIn([]byte(c.body)); (f == nil) != (c.message == "") || f != nil && f.Message != c.message {
			t.Errorf("%s: %v", c.name, f)
		}
	}
	if f := openaiwords.FaultOf([]byte(`{"code":503,"message":"m"}`)); f.Class != fault.Upstream || f.Status != 503 {
		t.Errorf("%+v", f)
	}
}

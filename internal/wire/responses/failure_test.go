package responses

import (
	"strings"
	"testing"

	"evergate/internal/wire"
)

func TestAppendError(t *testing.T) {
	t.Parallel()
	got := Responses{}.AppendError([]byte("x"), wire.Failure{
		Status: 502, Code: "all_providers_failed", Message: `all "failed"`, RequestID: "req",
		Attempts: []wire.Attempt{{Target: "a/m", Status: 503, Reason: "upstream_error", Millis: 4}, {Target: "b/m", Reason: "circuit_open", Skipped: true}},
	})
	const want = `x{"error":{"message":"all \"failed\"","type":"server_error","param":null,"code":"all_providers_failed",` +
		`"attempts":[{"target":"a/m","status":503,"reason":"upstream_error","ms":4},{"target":"b/m","status":null,"reason":"circuit_open","ms":0,"skipped":true}],"request_id":"req"}}`
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// R15: a stream that breaks off ends with response.failed, and the official SDKs raise on it.
func TestAppendStreamError(t *testing.T) {
	t.Parallel()
	got := Responses{}.AppendStreamError(nil, wire.Failure{
		Status: 502, Code: "provider_error", Message: "it died",
		Said: wire.Said{ID: "resp_1", Model: "m", Created: 17, Sequence: 9, Begun: true},
	})
	const want = `event: response.failed
data: {"type":"response.failed","sequence_number":9,"response":{"id":"resp_1","object":"response","created_at":17,"status":"failed",` +
		`"error":{"code":"server_error","message":"it died"},"incomplete_details":null,"instructions":null,"max_output_tokens":null,"metadata":{},` +
		`"model":"m","output":[],"parallel_tool_calls":true,"previous_response_id":null,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null},` +
		`"error":{"message":"it died","type":"server_error","param":null,"code":"provider_error"}}

`
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for _, c := range []struct {
		status     int
		code, want string
	}{
		{429, "all_providers_rate_limited", "rate_limit_exceeded"},
		{400, "invalid_image", "invalid_image"},
		{400, "context_length_exceeded", "context_length_exceeded"},
		{504, "deadline_exceeded", "server_error"},
	} {
		got := string(Responses{}.AppendStreamError(nil, wire.Failure{Status: c.status, Code: c.code}))
		if !strings.Contains(got, `"error":{"code":"`+c.want+`"`) || !strings.Contains(got, `"code":"`+c.code+`"`) {
			t.Errorf("%s: %s", c.code, got)
		}
		if !strings.Contains(got, `"id":"resp_unnamed"`) {
			t.Errorf("a response without an id: %s", got)
		}
	}
}

// R17: after content, an explicit end marker without a terminal event is an end.
func TestAppendEnd(t *testing.T) {
	t.Parallel()
	var p wire.Progress
	for _, e := range []string{
		`{"type":"response.created","response":{"id":"resp_1","created_at":5,"model":"m"},"sequence_number":0}`,
		`{"type":"response.output_text.delta","delta":"a","sequence_number":1}`,
	} {
		Responses{}.JudgeEvent([]byte(e), &p)
	}
	got := string(Responses{}.AppendEnd(nil, &p))
	if !strings.HasPrefix(got, "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":5,\"status\":\"completed\",\"error\":null") || !strings.HasSuffix(got, "}\n\n") {
		t.Error(got)
	}
	Responses{}.JudgeEvent([]byte(`{"type":"response.completed","response":{}}`), &p)
	if got := (Responses{}).AppendEnd(nil, &p); len(got) > 0 {
		t.Errorf("after the finish: %s", got)
	}
}

package openaichat

import (
	"slices"
	"strings"
	"testing"

	"evergate/internal/fault"
	"evergate/internal/wire"
)

func aside(t *testing.T, name string) wire.Opaque {
	t.Helper()
	for _, d := range Asides() {
		if o, ok := d.(wire.Opaque); ok && d.Name() == name {
			return o
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

func TestAsideRequests(t *testing.T) {
	for _, tt := range []struct {
		name, body  string
		stream, raw bool
		choices     int
		says        string // of an error
	}{
		{"images", `{"model":"m","prompt":"x","n":3}`, false, false, 3, ""},
		{"images", `{"model":"m","prompt":"x","stream":true}`, true, false, 0, ""},
		{"images", `{"prompt":"x"}`, false, false, 0, "gpt-image-1"},
		{"images", `{"model":"m","stream":"yes"}`, false, false, 0, `"stream" must be true or false`},
		{"images", `[]`, false, false, 0, "must be a JSON object"},
		{"images", `{"model":"m"`, false, false, 0, "not valid JSON"},
		{"speech", `{"model":"m","input":"x"}`, false, true, 0, ""},
		{"speech", `{"model":"m","input":"x","stream_format":"audio"}`, false, true, 0, ""},
		{"speech", `{"model":"m","input":"x","stream_format":"sse"}`, true, false, 0, ""},
		{"transcriptions", `{"model":"m","response_format":"vtt"}`, false, true, 0, ""},
		{"transcriptions", `{"model":"m","response_format":"verbose_json"}`, false, false, 0, ""},
		{"rerank", `{"model":" "}`, false, false, 0, `"model" is empty`},
	} {
		q, err := aside(t, tt.name).ReadRequest([]byte(tt.body))
		switch {
		case tt.says != "":
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s %s: %v", tt.name, tt.body, err)
			}
		case err != nil, q.Model != "m", q.Stream != tt.stream, q.Raw != tt.raw, q.Choices != tt.choices:
			t.Errorf("%s %s: %v %+v", tt.name, tt.body, err, q)
		}
	}
}

// A moderation may leave its model to the API; a target with another one is told so all the same.
func TestModerationWithoutModel(t *testing.T) {
	d := aside(t, "moderations")
	for _, tt := range []struct {
		body string
		w    wire.Rewrite
		want string
	}{
		{`{"input":"x"}`, wire.Rewrite{Model: "omni-moderation-latest"}, `{"input":"x"}`},
		{`{"input":"x"}`, wire.Rewrite{Model: "other"}, `{"model":"other","input":"x"}`},
		{`{ }`, wire.Rewrite{Model: "other"}, `{"model":"other" }`},
		{`{"model":null,"input":"x"}`, wire.Rewrite{Model: "other"}, `{"model":"other","input":"x"}`},
		{`{"input":"x"}`, wire.Rewrite{Model: "other", Params: []wire.Param{{Name: "a", Value: []byte("1")}}}, `{"model":"other","input":"x","a":1}`},
		{`{"input":"x"}`, wire.Rewrite{Model: "omni-moderation-latest", Params: []wire.Param{{Name: "a", Value: []byte("1")}}}, `{"input":"x","a":1}`},
	} {
		q, err := d.ReadRequest([]byte(tt.body))
		if err != nil || q.Model != "omni-moderation-latest" {
			t.Fatalf("%v %q", err, q.Model)
		}
		if got := string(d.AppendRequest(nil, &q, tt.w)); got != tt.want {
			t.Errorf("%s: %s", tt.body, got)
		}
	}
}

// R14: what is an answer.
func TestAsideJudge(t *testing.T) {
	for _, tt := range []struct{ name, body, says string }{
		{"images", `{"created":1,"data":[{"url":"u"}]}`, ""},
		{"images", `{"data":[{"url":"u"}],"error":null}`, ""},
		{"images", `{"data":[]}`, "empty"},
		{"images", `{"data":{}}`, "not an array"},
		{"images", `{"created":1}`, `no "data"`},
		{"images", `{"error":{"message":"busy"}}`, "busy"},
		{"images", `{"detail":"busy"}`, "busy"},
		{"images", ``, "empty body"},
		{"images", `<html>`, "HTML"},
		{"images", `{"data":[`, "broken"},
		{"transcriptions", `{"text":""}`, ""},
		{"transcriptions", `{"text":"a","segments":[]}`, ""},
		{"transcriptions", `{"text":1}`, `no "text"`},
		{"moderations", `{"results":[{}]}`, ""},
		{"rerank", `{"results":[{"index":0,"relevance_score":1}]}`, ""},
		{"rerank", `{"data":[1]}`, `no "results"`},
		{"speech", `{"audio":"QUJD"}`, "where sound was asked for"},
		{"speech", `{"error":{"message":"busy"}}`, "busy"},
	} {
		_, f := aside(t, tt.name).Judge([]byte(tt.body))
		if tt.says == "" && f != nil || tt.says != "" && (f == nil || !strings.Contains(f.Message, tt.says)) {
			t.Errorf("%s %s: %v", tt.name, tt.body, f)
		}
	}
	reply, _ := aside(t, "images").Judge([]byte(`{"data":[1],"usage":{"input_tokens":3,"output_tokens":5}}`))
	if reply.Usage.Input != 3 || reply.Usage.Output != 5 {
		t.Errorf("%+v", reply.Usage)
	}
}

func TestAsideEvents(t *testing.T) {
	d := aside(t, "images")
	p := wire.Progress{Choices: 2}
	for i, tt := range []struct {
		data                                string
		content, finish, malformed, end, is bool // is: all finished
	}{
		{`{"type":"image_generation.partial_image","b64_json":"QQ=="}`, true, false, false, false, false},
		{`{"type":"image_generation.completed","b64_json":"QQ=="}`, true, true, false, false, false},
		{`{"type":`, false, false, true, false, false},
		{` {"type":"image_generation.completed","usage":{"input_tokens":1,"output_tokens":2}} `, true, true, false, false, true},
		{"[DONE]", false, false, false, true, true},
	} {
		e := d.JudgeEvent([]byte(tt.data), &p)
		if e.Content != tt.content || e.Finish != tt.finish || e.Malformed != tt.malformed || e.End != tt.end || e.Fault != nil || p.SawFinish != tt.is {
			t.Errorf("%d: %+v %v", i, e, p.SawFinish)
		}
	}
	if p.Reply.Usage.Output != 2 {
		t.Errorf("%+v", p.Reply)
	}
	for _, data := range []string{`{"type":"error","error":{"message":"busy","code":"rate_limit_exceeded"}}`, `{"error":{"message":"busy"}}`, `{"type":"error","message":"busy"}`} {
		if e := d.JudgeEvent([]byte(data), &p); e.Fault == nil || !strings.Contains(e.Fault.Message, "busy") {
			t.Errorf("%s: %+v", data, e)
		}
	}
	if e := aside(t, "speech").JudgeEvent([]byte(`{"type":"speech.audio.delta","audio":"QQ=="}`), &p); e.Name != nil || !e.Content {
		t.Errorf("%+v", e)
	}
}

func TestJudgeRaw(t *testing.T) {
	for _, tt := range []struct {
		name, kind, head string
		bad              bool
	}{
		{"speech", "audio/mpeg", "ID3", false},
		{"speech", "", "ID3", false},
		{"speech", "application/octet-stream", "{<", false},
		{"speech", "text/plain", "later", true},
		{"speech", "audio/mpeg", "  <!DOCTYPE HTML>", true},
		{"transcriptions", "text/plain; charset=utf-8", "hello", false},
		{"transcriptions", "Text/HTML", "hello", true},
		{"transcriptions", "", "<html>", true},
	} {
		if f := aside(t, tt.name).JudgeRaw(tt.kind, []byte(tt.head)); (f != nil) != tt.bad || f != nil && f.Class != fault.Invalid {
			t.Errorf("%s %s %s: %v", tt.name, tt.kind, tt.head, f)
		}
	}
}

// Every operation is asked where it is served: the names are those that providers know it by.
func TestAsidesAreComplete(t *testing.T) {
	var names []string
	for _, d := range Asides() {
		names = append(names, d.Name())
		if !d.Side() || !strings.HasPrefix(d.Path(), "/") {
			t.Errorf("%s at %q", d.Name(), d.Path())
		}
	}
	if want := []string{"images", "image_edits", "speech", "transcriptions", "translations", "moderations", "rerank"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

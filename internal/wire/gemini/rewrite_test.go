package gemini

import (
	"testing"

	"evergate/internal/wire"
)

func TestRewrite(t *testing.T) {
	t.Parallel()
	param := func(name, value string) wire.Param { return wire.Param{Name: name, Value: []byte(value)} }
	for _, c := range []struct {
		name string
		d    wire.Dialect
		body string
		w    wire.Rewrite
		want string // empty: the body as it is
	}{
		{"nothing to do", Generate{}, `{ "contents" : [] , "x_y":1 }`, wire.Rewrite{Model: "m"}, ``},
		{"the model that it names", Generate{}, `{"model":"models/m","contents":[]}`, wire.Rewrite{Model: "m"}, ``},
		{"another model", Generate{}, `{"model":"models/alias","contents":[],"futureThing":{"a": 1.0}}`, wire.Rewrite{Model: "m"}, `{"model":"models/m","contents":[],"futureThing":{"a": 1.0}}`},
		{"another model, without a prefix", Generate{}, `{"model":"alias","contents":[]}`, wire.Rewrite{Model: "tunedModels/m"}, `{"model":"tunedModels/m","contents":[]}`},
		{"named twice", Generate{}, `{"model":"a","contents":[],"model":"b"}`, wire.Rewrite{Model: "b"}, `{"model":"b","contents":[],"model":"b"}`},
		{"no model there", Generate{}, `{"model":"a","contents":[]}`, wire.Rewrite{Model: "b", OmitModel: true}, `{"contents":[]}`},
		{
			"parameters of the configuration",
			Generate{},
			`{"contents":[],"generation_config":{"top_p":1,"seed":2}}`,
			wire.Rewrite{Model: "m", Params: []wire.Param{param("max_tokens", "5"), param("top_p", "0.5")}},
			`{"contents":[],"generationConfig":{"seed":2,"maxOutputTokens":5,"topP":0.5}}`,
		},
		{
			"a configuration where there is none",
			Generate{},
			`{"contents":[],"generationConfig":null}`,
			wire.Rewrite{Params: []wire.Param{param("temperature", "0")}},
			`{"contents":[],"generationConfig":{"temperature":0}}`,
		},
		{
			"a whole configuration",
			Generate{},
			`{"contents":[],"generationConfig":{"seed":2}}`,
			wire.Rewrite{Params: []wire.Param{param("generationConfig", `{"topK":1}`), param("temperature", "0"), param("safetySettings", `[]`), param("model", `"x"`)}},
			`{"contents":[],"safetySettings":[],"generationConfig":{"topK":1,"temperature":0}}`,
		},
		{"a member is overridden", Generate{}, `{"safety_settings":[1],"contents":[]}`, wire.Rewrite{Params: []wire.Param{param("safetySettings", `[2]`)}}, `{"contents":[],"safetySettings":[2]}`},
		{"counting contents", CountTokens{}, `{"contents":[]}`, wire.Rewrite{Model: "m"}, `{"contents":[]}`},
		{"counting a request", CountTokens{}, `{"generateContentRequest":{"model":"models/alias","contents":[1.0]}}`, wire.Rewrite{Model: "m"}, `{"generateContentRequest":{"model":"models/m","contents":[1.0]}}`},
		{"one vector", Embed{}, `{"model":"models/a","content":{}}`, wire.Rewrite{Model: "m"}, `{"model":"models/m","content":{}}`},
		{"one vector, no model", Embed{}, `{"content":{}}`, wire.Rewrite{Model: "m"}, ``},
		{
			"many vectors",
			BatchEmbed{},
			`{"requests":[{"model":"models/a","content":{}},{"model":"models/a","content":{"x": 1}},7]}`,
			wire.Rewrite{Model: "m"},
			`{"requests":[{"model":"models/m","content":{}},{"model":"models/m","content":{"x": 1}},7]}`,
		},
		{"a prediction", VertexEmbed{}, `{"instances":[{}]}`, wire.Rewrite{Model: "m", Params: []wire.Param{param("parameters", `{"autoTruncate":false}`)}}, `{"instances":[{}],"parameters":{"autoTruncate":false}}`},
	} {
		r, err := c.d.ReadRequest([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := c.d.AppendRequest(nil, &r, c.w)
		if c.want == "" {
			if &got[0] != &r.Body[0] {
				t.Errorf("%s: a copy %s", c.name, got)
			}
			continue
		}
		same(t, c.name, c.want, string(got))
		if string(r.Body) != c.body {
			t.Errorf("%s: the body was changed", c.name)
		}
	}
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	r, err := Generate{}.ReadRequest([]byte(`{"contents":[],"generation_config":{"candidate_count":3}}`))
	if err != nil || r.Choices != 3 || !r.AskedUsage || r.Stream {
		t.Errorf("%+v %v", r, err)
	}
	for _, c := range []struct {
		d    wire.Dialect
		body string
	}{{CountTokens{}, `{}`}, {Embed{}, `{"content":null}`}, {BatchEmbed{}, `{"requests":null}`}, {VertexEmbed{}, `[]`}} {
		if _, err := c.d.ReadRequest([]byte(c.body)); err == nil {
			t.Errorf("%s takes %s", c.d.Name(), c.body)
		}
	}
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	d := CountTokens{}
	reply, f := d.Judge(read(t, "replies/count-tokens-3.5-flash.json"))
	if f != nil || reply.Usage.Input != 8 {
		t.Errorf("%+v %v", reply, f)
	}
	for _, body := range []string{``, `{}`, `{"totalTokens":`, `{"error":{"code":404,"message":"x"}}`} {
		if _, f := d.Judge([]byte(body)); f == nil {
			t.Errorf("%s is a count", body)
		}
	}
	if got := string(AppendTokenCount(nil, 12)); got != `{"totalTokens":12}` {
		t.Error(got)
	}
	if !d.Side() || d.Path() != "" || !d.JudgeEvent([]byte("{}"), &wire.Progress{}).Malformed || d.AppendEnd(nil, nil) != nil {
		t.Error("a count is streamed")
	}
	if _, err := d.StreamFromReply(nil, false); err == nil {
		t.Error("a count is streamed")
	}
	if _, err := d.ReplyFromStream(nil); err == nil {
		t.Error("a count is streamed")
	}
}

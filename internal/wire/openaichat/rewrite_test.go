package openaichat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evergate/internal/wire"
)

func TestAppendRequest(t *testing.T) {
	t.Parallel()
	params := func(pairs ...string) (out []wire.Param) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, wire.Param{Name: pairs[i], Value: []byte(pairs[i+1])})
		}
		return out
	}
	for _, c := range []struct {
		name, body string
		w          wire.Rewrite
		want       string
	}{
		{"nothing changes", `{"model":"m","stream":true,"messages":[]}`, wire.Rewrite{Model: "m"}, ""},
		{"no usage without a stream", `{"model":"m","messages":[]}`, wire.Rewrite{Model: "m", AskUsage: true}, ""},
		{"the client asked for usage itself", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[]}`, wire.Rewrite{Model: "m", AskUsage: true}, ""},
		{"no model named", `{"model":"m","messages":[]}`, wire.Rewrite{}, ""},
		{
			"the model, and every other byte stays", " {\"x\" : 12345678901234567890,\n\"model\":\t\"m\" , \"messages\":[ ]} ",
			wire.Rewrite{Model: `a/"b"`},
			" {\"x\" : 12345678901234567890,\n\"model\":\t\"a/\\\"b\\\"\" , \"messages\":[ ]} ",
		},
		{
			"usage asked for", `{"model":"m","stream":true,"messages":[]}`,
			wire.Rewrite{Model: "m", AskUsage: true},
			`{"stream_options":{"include_usage":true},"model":"m","stream":true,"messages":[]}`,
		},
		{
			"usage in an empty object before the model", `{"stream_options":{ },"model":"m","stream":true,"messages":[]}`,
			wire.Rewrite{Model: "n", AskUsage: true},
			`{"stream_options":{"include_usage":true },"model":"n","stream":true,"messages":[]}`,
		},
		{
			"usage in an object with members after the model", `{"model":"m","stream_options":{"x":1},"stream":true,"messages":[]}`,
			wire.Rewrite{Model: "n", AskUsage: true},
			`{"model":"n","stream_options":{"include_usage":true,"x":1},"stream":true,"messages":[]}`,
		},
		{
			"usage in place of false", `{"model":"m","stream_options":{"x":1,"include_usage":false},"stream":true,"messages":[]}`,
			wire.Rewrite{Model: "m", AskUsage: true},
			`{"model":"m","stream_options":{"x":1,"include_usage":true},"stream":true,"messages":[]}`,
		},
		{
			"usage in place of null", `{"model":"m","stream_options":null,"stream":true,"messages":[]}`,
			wire.Rewrite{Model: "m", AskUsage: true},
			`{"model":"m","stream_options":{"include_usage":true},"stream":true,"messages":[]}`,
		},
		{
			"parameters replaced and added", `{"temperature": 1 ,"model":"m","messages":[]}`,
			wire.Rewrite{Model: "n", Params: params("seed", "7", "temperature", "0.2")},
			`{"temperature": 0.2 ,"model":"n","messages":[],"seed":7}`,
		},
		{
			"parameters and usage", `{"model":"m","stream":true,"messages":[] }`,
			wire.Rewrite{Model: "m", AskUsage: true, Params: params("a\"b", `{"x":[]}`)},
			`{"model":"m","stream":true,"messages":[] ,"stream_options":{"include_usage":true},"a\"b":{"x":[]}}`,
		},
		{
			"parameters and usage in an object that is there", `{"model":"m","stream_options":{"include_usage":null},"stream":true,"messages":[]}`,
			wire.Rewrite{Model: "m", AskUsage: true, Params: params("a", "1")},
			`{"model":"m","stream_options":{"include_usage":true},"stream":true,"messages":[],"a":1}`,
		},
		{
			"a parameter is no way around model and stream", `{"model":"m","stream":false,"messages":[]}`,
			wire.Rewrite{Model: "n", Params: params("model", `"x"`, "stream", "true")},
			`{"model":"n","stream":false,"messages":[]}`,
		},
		{
			"a parameter for stream_options has the last word", `{"model":"m","stream":true,"stream_options":{"x":1},"messages":[]}`,
			wire.Rewrite{Model: "m", AskUsage: true, Params: params("stream_options", "{}")},
			`{"model":"m","stream":true,"stream_options":{},"messages":[]}`,
		},
		{
			"each of several models", `{"model":"a","mod\u0065l":"b","messages":[],"model":"c"}`,
			wire.Rewrite{Model: "n"},
			`{"model":"n","mod\u0065l":"n","messages":[],"model":"n"}`,
		},
		{
			"each of several models, also if the last is right", `{"model":"a","messages":[],"model":"n"}`,
			wire.Rewrite{Model: "n"},
			`{"model":"n","messages":[],"model":"n"}`,
		},
		{
			"each of several stream_options", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"stream_options":3,"stream_options":{},"messages":[]}`,
			wire.Rewrite{Model: "m", AskUsage: true},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"stream_options":{"include_usage":true},"stream_options":{"include_usage":true},"messages":[]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body := []byte(c.body)
			q, err := Chat{}.ReadRequest(body)
			if err != nil {
				t.Fatal(err)
			}
			got := Chat{}.AppendRequest([]byte("before "), &q, c.w)
			if string(body) != c.body {
				t.Error("the body was changed in place")
			}
			if c.want == "" {
				if &got[0] != &body[0] || len(got) != len(body) {
					t.Errorf("got a copy: %s", got)
				}
				return
			}
			if d := cmp.Diff("before "+c.want, string(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func decoded(tb interface{ Fatalf(string, ...any) }, text []byte) (out map[string]any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return out
}

// rewritten is what a request must be equal to after w, made the plain way.
func rewritten(tb interface{ Fatalf(string, ...any) }, q *wire.Request, w wire.Rewrite) map[string]any {
	want := decoded(tb, q.Body)
	if q.Stream && w.AskUsage && !q.AskedUsage {
		options, _ := want["stream_options"].(map[string]any)
		if options == nil {
			options = map[string]any{}
		}
		options["include_usage"] = true
		want["stream_options"] = options
	}
	for _, p := range w.Params {
		if p.Name != "stream" {
			want[p.Name] = decoded(tb, fmt.Appendf(nil, `{"v":%s}`, p.Value))["v"]
		}
	}
	want["model"] = w.Model
	return want
}

func TestAppendRequestOfRecordings(t *testing.T) {
	t.Parallel()
	for name, body := range files(t, "requests") {
		d := dialectOf(name)
		q, err := d.ReadRequest(body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range []wire.Rewrite{
			{Model: "other", AskUsage: true},
			{Model: "other", AskUsage: true, Params: []wire.Param{{Name: "temperature", Value: []byte("0.1")}}},
		} {
			got := decoded(t, d.AppendRequest(nil, &q, w))
			if d := cmp.Diff(rewritten(t, &q, w), got); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
}

// Whatever the body looks like, the rewritten one is the same JSON but for what was to change.
func TestAppendRequestProperty(t *testing.T) {
	t.Parallel()
	gap := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	member := rapid.SampledFrom([]string{
		`"model":"a"`, `"model" : "b\n"`, `"mod\u0065l":"c"`, `"model":7`, `"stream":true`, `"stream":false`, `"stream":null`,
		`"stream_options":{}`, `"stream_options":{ }`, `"stream_options":null`, `"stream_options":{"include_usage":false}`,
		`"stream_options":{"x":{"include_usage":true},"include_usage":true}`, `"stream_options":{"y":1 ,"include_usage":null}`,
		`"messages":[]`, `"messages":[{"role":"user","content":"say \"model\": {"}]`, `"temperature":0.5`, `"seed":1`,
		`"metadata":{"model":"deep"}`, `"":null`, `"big":12345678901234567890`,
	})
	rapid.Check(t, func(t *rapid.T) {
		members := append(rapid.SliceOfN(member, 0, 6).Draw(t, "members"), `"model":"last"`, `"messages":[]`, `"stream":true`)
		members = rapid.Permutation(members).Draw(t, "order")
		var body strings.Builder
		for i, m := range members {
			if i > 0 {
				body.WriteString(",")
			}
			body.WriteString(gap.Draw(t, "gap") + m + gap.Draw(t, "gap"))
		}
		q, err := Chat{}.ReadRequest([]byte(" {" + body.String() + "}"))
		if err != nil {
			t.Skip(err)
		}
		w := wire.Rewrite{Model: rapid.SampledFrom([]string{"last", "x/y:z", "\"q\"\n\x01é"}).Draw(t, "model"), AskUsage: rapid.Bool().Draw(t, "ask")}
		for _, name := range []string{"model", "seed", "stream", "stream_options", "temperature", "top_p"} {
			if rapid.IntRange(0, 3).Draw(t, name) == 0 {
				w.Params = append(w.Params, wire.Param{Name: name, Value: []byte(`{"v":[1,null]}`)})
			}
		}
		dst := []byte("before")
		out := Chat{}.AppendRequest(dst, &q, w)
		if &out[0] != &q.Body[0] {
			out = bytes.TrimPrefix(out, []byte("before"))
		}
		if d := cmp.Diff(rewritten(t, &q, w), decoded(t, out)); d != "" {
			t.Fatalf("%s\nbecame\n%s\n%s", q.Body, out, d)
		}
		// No place says another model than the one that was asked for.
		if q.Spans.Again {
			for _, old := range []string{`"a"`, `"b\n"`, `"c"`} {
				if bytes.Contains(out, []byte(old)) {
					t.Fatalf("%s\nkept %s in\n%s", q.Body, old, out)
				}
			}
		}
	})
}

package wire_test

import (
	"testing"

	"evergate/internal/wire"
)

func TestAppendRewritten(t *testing.T) {
	t.Parallel()
	const body = `{"model":"a", "stream":true,` + "\n" + `"p" : 0.5 }`
	param := func(name, value string) wire.Param { return wire.Param{Name: name, Value: []byte(value)} }
	request := wire.Request{Body: []byte(body), Model: "a", Spans: wire.Spans{Model: wire.Span{From: 9, To: 12}}}
	twice := wire.Request{Body: []byte(`{"model":"a","model":"b"}`), Model: "b", Spans: wire.Spans{Model: wire.Span{From: 21, To: 24}, Again: true}}
	many := make([]wire.Param, 70)
	for i := range many {
		many[i] = param("p", "2")
	}
	for _, c := range []struct {
		name string
		r    wire.Request
		w    wire.Rewrite
		want string
	}{
		{"nothing", request, wire.Rewrite{}, body},
		{"the same model", request, wire.Rewrite{Model: "a"}, body},
		{"another model", request, wire.Rewrite{Model: `"b"`}, `{"model":"\"b\"", "stream":true,` + "\n" + `"p" : 0.5 }`},
		{"no model in the body", wire.Request{Body: []byte(`{}`)}, wire.Rewrite{Model: "b"}, `{}`},
		{"the model left out", request, wire.Rewrite{OmitModel: true}, `{"stream":true,` + "\n" + `"p" : 0.5 }`},
		{"the only member left out", wire.Request{Body: []byte(`{"model":"a"}`)}, wire.Rewrite{OmitModel: true}, `{}`},
		{"a parameter in its place", request, wire.Rewrite{Params: []wire.Param{param("p", "1")}}, `{"model":"a", "stream":true,` + "\n" + `"p" : 1 }`},
		{"a new one", request, wire.Rewrite{Model: "b", Params: []wire.Param{param("k", "2")}}, `{"model":"b", "stream":true,` + "\n" + `"p" : 0.5,"k":2 }`},
		{"one without a say", request, wire.Rewrite{Params: []wire.Param{param("model", `"x"`), param("stream", "false")}}, body},
		{"the last of two", wire.Request{Body: []byte(`{"p":0}`)}, wire.Rewrite{Params: []wire.Param{param("p", "1"), param("k", "1"), param("p", "2"), param("k", "2")}}, `{"p":2,"k":2}`},
		{"more than there is room for", wire.Request{Body: []byte(`{"p":0}`)}, wire.Rewrite{Params: many}, `{"p":2}`},
		{"into nothing", wire.Request{Body: []byte(`{}`)}, wire.Rewrite{Params: []wire.Param{param("a", "1"), param("b", "2")}}, `{"a":1,"b":2}`},
		{"a model said twice", twice, wire.Rewrite{Model: "c"}, `{"model":"c","model":"c"}`},
	} {
		if got := string(wire.AppendRewritten(nil, &c.r, c.w)); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestAppendRewrittenAllocatesNothing(t *testing.T) {
	r := wire.Request{Body: []byte(`{"model":"a","p":0}`), Model: "a", Spans: wire.Spans{Model: wire.Span{From: 9, To: 12}}}
	params := []wire.Param{{Name: "p", Value: []byte("1")}, {Name: "k", Value: []byte("2")}}
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { wire.AppendRewritten(dst, &r, wire.Rewrite{Model: "b", Params: params}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package gemini

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// FuzzEvent: whatever comes, nothing crashes; what is well-formed can be decoded, and said to a client as valid JSON.
func FuzzEvent(f *testing.F) {
	for _, name := range files(f, "streams/*.sse") {
		for _, e := range events(f, read(f, name)) {
			f.Add(e)
		}
	}
	for _, name := range files(f, "replies/*.json") {
		f.Add(read(f, name))
	}
	for _, name := range files(f, "errors/*.json") {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p wire.Progress
		if len(data) == 0 {
			return
		}
		e := Generate{}.JudgeEvent(data, &p)
		_, _ = Generate{}.Judge(data)
		_, _ = Generate{}.ReadError(data)
		if _, err := (Generate{}).ReplyFromStream(data); err == nil && e.Malformed && !isArray(data) && !strings.Contains(string(data), "data:") {
			t.Errorf("%q is a stream", data)
		}
		if e.Malformed || e.Fault != nil || e.End {
			return
		}
		a, err := Generate{}.DecodeReply(data)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		q := &llm.Request{Dropped: &llm.Dropped{}}
		if out := (Generate{}).AppendReply(nil, a, q); jsonscan.Valid(out) != nil {
			t.Errorf("%q became %q", data, out)
		}
		var finished wire.Progress
		for _, e := range events(t, encodeStream(a, q)) {
			if ev := (Generate{}).JudgeEvent(e, &finished); ev.Malformed || ev.Fault != nil {
				t.Errorf("%q became %q: %+v", data, e, ev)
			}
		}
		stopped := !slices.ContainsFunc(a.Choices, func(c llm.Choice) bool { return c.Stop == llm.Unstopped })
		if len(a.Choices) > 0 && len(a.Choices) < 64 && finished.SawFinish != stopped {
			t.Errorf("%q: finish %t, of what has ended %t", data, finished.SawFinish, stopped)
		}
		if out, err := (Generate{}).ReplyFromStream(append(append([]byte("data: "), jsonscan.OneLine(data)...), "\n\n"...)); err == nil && jsonscan.Valid(out) != nil {
			t.Errorf("%q folds to %q", data, out)
		}
	})
}

// FuzzRequest: what is read can be written, as valid JSON, and read again.
func FuzzRequest(f *testing.F) {
	for _, name := range files(f, "requests/*.json") {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range []wire.Dialect{CountTokens{}, Embed{}, BatchEmbed{}, VertexEmbed{}, Generate{}} {
			r, err := d.ReadRequest(body)
			if err != nil {
				continue
			}
			w := wire.Rewrite{Model: "m", Params: []wire.Param{{Name: "seed", Value: []byte("1")}}}
			if out := d.AppendRequest(nil, &r, w); jsonscan.Valid(out) != nil {
				t.Errorf("%s: %q became %q", d.Name(), body, out)
			}
			if e, ok := d.(wire.Embedder); ok {
				if q, err := e.DecodeEmbed(&r); err == nil {
					_, _ = e.EncodeEmbed(nil, q, &wire.Target{})
				}
			}
		}
		r, err := Generate{}.ReadRequest(body)
		if err != nil {
			return
		}
		if out, dropped := (Generate{}).AppendUnsealed(nil, body); dropped != nil && jsonscan.Valid(out) != nil {
			t.Errorf("%q became %q", body, out)
		}
		q, err := Generate{}.DecodeRequest(&r)
		if err != nil {
			return
		}
		for _, to := range []wire.Target{
			{Model: "gemini-3-pro", Vendor: llm.Google},
			{Model: "gemini-2.5-flash", Vendor: llm.Google, Unsealed: true},
			{Model: "gemini-1.5-pro", Quirks: wire.Quirks{Labels: true, Refuses: []string{"id", "seed"}}},
		} {
			out, err := Generate{}.EncodeRequest(nil, q, &to)
			if err != nil {
				continue
			}
			if jsonscan.Valid(out) != nil {
				t.Errorf("%q became %q", body, out)
			}
			again, err := Generate{}.ReadRequest(out)
			if err != nil {
				t.Fatalf("%q became %q: %v", body, out, err)
			}
			if _, err := (Generate{}).DecodeRequest(&again); err != nil {
				t.Errorf("%q became %q: %v", body, out, err)
			}
		}
	})
}

// FuzzSchema: schemas stay valid JSON whatever is done to them.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(case120))
	f.Add([]byte(`{"$ref":"#/definitions/A","definitions":{"A":{"allOf":[{"$ref":"#/$defs/B"}],"nullable":true}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if jsonscan.Valid(raw) != nil || raw[0] <= ' ' {
			return
		}
		outs := [][]byte{appendParameters(nil, raw), appendJSONSchema(nil, raw), appendFromOpenAPI(nil, raw)}
		openAPI, _ := appendOpenAPI(nil, raw)
		for i, out := range append(outs, openAPI) {
			if jsonscan.Valid(out) != nil {
				t.Errorf("%d: %q became %q", i, raw, out)
			}
		}
	})
}

// Places in a text, in bytes and in code points, whatever the text and however it comes.
func TestOffsets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := ""
		var o offsets
		for _, s := range rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abc é東😀")), 0, 200, -1), 0, 4).Draw(t, "pieces") {
			o.add([]byte(s))
			whole += s
		}
		at, points := 0, 0
		for {
			if n, ok := o.points(at); !ok || n != points {
				t.Fatalf("byte %d of %q: %d %v, want %d", at, whole, n, ok, points)
			}
			if n, ok := o.bytes(points); !ok || n != at {
				t.Fatalf("code point %d of %q: %d %v, want %d", points, whole, n, ok, at)
			}
			if at == len(whole) {
				break
			}
			_, size := utf8.DecodeRuneInString(whole[at:])
			at, points = at+size, points+1
		}
		for _, beyond := range []int{-1, len(whole) + 1} {
			if _, ok := o.points(beyond); ok {
				t.Fatalf("byte %d of %d is known", beyond, len(whole))
			}
		}
		if _, ok := o.bytes(points + 1); ok {
			t.Fatal("a code point beyond the end is known")
		}
	})
	var o offsets
	o.add([]byte("é" + strings.Repeat("x", 2*maxOffsets)))
	if _, ok := o.points(maxOffsets * 3 / 2); ok || len(o.marks) > maxOffsets/64 {
		t.Error("too much is remembered")
	}
}

// However a stream's text is cut into events, the client hears the same.
func TestTextInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringN(1, 60, -1).Draw(t, "text")
		var data [][]byte
		for rest := []rune(whole); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			piece, _ := json.Marshal(string(rest[:n]))
			data = append(data, []byte(`{"candidates":[{"content":{"parts":[{"text":`+string(piece)+`}]}}]}`))
			rest = rest[n:]
		}
		data = append(data, []byte(`{"candidates":[{"finishReason":"STOP"}]}`))
		d := Generate{}.NewDecoder()
		var order llm.Order
		var fold llm.Fold
		put := func(e *llm.Event) { order.Put(e, fold.Put) }
		for _, e := range data {
			if err := d.Decode(e, put); err != nil {
				t.Fatal(err)
			}
		}
		d.End(put)
		a := fold.Reply()
		if len(a.Choices) != 1 || len(a.Choices[0].Content) != 1 || a.Choices[0].Content[0].Text != strings.ToValidUTF8(whole, "\uFFFD") || a.Choices[0].Stop != llm.EndTurn {
			t.Fatalf("%q became %+v", whole, a)
		}
	})
}

package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// recorded reads the recordings whose names end so.
func recorded(tb testing.TB, end string) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "recorded", "*"+end))
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		if end == ".json" && (strings.HasSuffix(name, ".request.json") || strings.Contains(name, "-error-")) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(name), end)] = text
	}
	if len(out) == 0 {
		tb.Fatal("no recordings " + end)
	}
	return out
}

// events cuts a stream into the data of its events.
func events(tb testing.TB, stream []byte) [][]byte {
	tb.Helper()
	split := sse.Splitter{Whole: wire.WholeEvent, Max: math.MaxInt}
	var out [][]byte
	for {
		f, n, err := split.Next(stream, true)
		if err != nil {
			tb.Fatal(err)
		}
		if n == 0 {
			return out
		}
		stream = stream[n:]
		if !f.Comment {
			out = append(out, bytes.Clone(f.Data))
		}
	}
}

// decoded folds what the decoder says of a stream's events.
func decoded(tb testing.TB, data [][]byte) *llm.Reply {
	tb.Helper()
	var order llm.Order
	var fold llm.Fold
	d := Responses{}.NewDecoder()
	put := func(e *llm.Event) { order.Put(e, fold.Put) }
	for _, e := range data {
		if err := d.Decode(e, put); err != nil {
			tb.Fatal(err)
		}
	}
	d.End(put)
	order.End(fold.Put)
	return fold.Reply()
}

// translated is a stream decoded and encoded again.
func translated(tb testing.TB, data [][]byte, q *llm.Request) []byte {
	tb.Helper()
	var order llm.Order
	var out []byte
	d, e := Responses{}.NewDecoder(), Responses{}.NewEncoder(q)
	say := func(ev *llm.Event) { out = e.Append(out, ev) }
	put := func(ev *llm.Event) { order.Put(ev, say) }
	for _, ev := range data {
		if err := d.Decode(ev, put); err != nil {
			tb.Fatal(err)
		}
	}
	d.End(put)
	order.End(say)
	return e.AppendEnd(out)
}

func request(tb testing.TB, body string) *llm.Request {
	tb.Helper()
	r, err := Responses{}.ReadRequest([]byte(body))
	if err != nil {
		tb.Fatal(err)
	}
	q, err := Responses{}.DecodeRequest(&r)
	if err != nil {
		tb.Fatal(err)
	}
	return q
}

var openAI = wire.Target{Model: "gpt-5", Vendor: llm.OpenAI}

func encoded(tb testing.TB, q *llm.Request, t wire.Target) string {
	tb.Helper()
	out, err := Responses{}.EncodeRequest(nil, q, &t)
	if err != nil {
		tb.Fatal(err)
	}
	if !json.Valid(out) {
		tb.Fatalf("not JSON: %s", out)
	}
	return string(out)
}

// indented is JSON for people.
func indented(tb testing.TB, raw []byte) string {
	tb.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		tb.Fatalf("%v: %s", err, raw)
	}
	return out.String()
}

// normal is JSON as values, to be compared.
func normal(tb testing.TB, raw []byte) any {
	tb.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		tb.Fatalf("%v: %.300s", err, raw)
	}
	return v
}

// described is a reply for people. Long data is cut.
func described(a *llm.Reply) string {
	var b strings.Builder
	fmt.Fprintf(&b, "id %s model %s created %d tier %s\nusage %+v\n", a.ID, a.Model, a.Created, a.ServiceTier, a.Usage)
	cut := func(s string) string {
		if len(s) > 160 {
			return fmt.Sprintf("%q… (%d)", s[:160], len(s))
		}
		return fmt.Sprintf("%q", s)
	}
	for _, c := range a.Choices {
		fmt.Fprintf(&b, "stop %d %s logprobs %s\n", c.Stop, c.StopText, cut(string(c.LogProbs)))
		for i := range c.Content {
			p := &c.Content[i]
			fmt.Fprintf(&b, "- kind %d text %s", p.Kind, cut(p.Text))
			if p.Call != nil {
				fmt.Fprintf(&b, " call %s %s custom=%v %s", p.Call.ID, p.Call.Name, p.Call.Custom, cut(p.Call.Arguments))
			}
			if p.Seal != nil {
				fmt.Fprintf(&b, " seal %s %d %s %s", p.Seal.Vendor, p.Seal.Kind, p.Seal.ID, cut(p.Seal.Data))
			}
			if p.Opaque != nil {
				fmt.Fprintf(&b, " opaque %s %s", p.Opaque.Type, cut(string(p.Opaque.Raw)))
			}
			for _, c := range p.Citations {
				fmt.Fprintf(&b, " cites %+v", c)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

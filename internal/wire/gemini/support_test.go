package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// files are the names of testdata that match a pattern.
func files(t testing.TB, pattern string) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", filepath.FromSlash(pattern)))
	if err != nil || len(all) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	for _, f := range all {
		names = append(names, strings.TrimPrefix(filepath.ToSlash(f), "testdata/"))
	}
	return names
}

// events are the data of a stream's events.
func events(t testing.TB, stream []byte) (out [][]byte) {
	t.Helper()
	cut := sse.Splitter{Whole: wire.WholeEvent}
	for {
		f, n, err := cut.Next(stream, true)
		if err != nil {
			t.Fatal(err)
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

// decodeStream folds the events of an upstream's stream.
func decodeStream(t testing.TB, data [][]byte) *llm.Reply {
	t.Helper()
	var order llm.Order
	var fold llm.Fold
	put := func(e *llm.Event) { order.Put(e, fold.Put) }
	d := Generate{}.NewDecoder()
	for _, e := range data {
		if err := d.Decode(e, put); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
	}
	d.End(put)
	order.End(fold.Put)
	return fold.Reply()
}

// encodeStream says a reply as a stream.
func encodeStream(a *llm.Reply, q *llm.Request) []byte {
	e := Generate{}.NewEncoder(q)
	var out []byte
	var order llm.Order
	say := func(ev *llm.Event) { out = e.Append(out, ev) }
	llm.Unfold(a, func(ev *llm.Event) { order.Put(ev, say) })
	order.End(say)
	return e.AppendEnd(out)
}

// say writes a reply so that a person can read it.
func say(a *llm.Reply) string {
	var b strings.Builder
	fmt.Fprintf(&b, "id=%s model=%s created=%d tier=%s\n", a.ID, a.Model, a.Created, a.ServiceTier)
	for i := range a.Choices {
		c := &a.Choices[i]
		fmt.Fprintf(&b, "choice %d: stop=%d %s\n", i, c.Stop, c.StopText)
		for j := range c.Content {
			sayPart(&b, &c.Content[j])
		}
		if len(c.LogProbs) > 0 {
			fmt.Fprintf(&b, "  logprobs %s\n", c.LogProbs)
		}
	}
	fmt.Fprintf(&b, "usage %+v\n", a.Usage)
	return b.String()
}

func sayPart(b *strings.Builder, p *llm.Part) {
	kinds := [...]string{"", "text", "image", "document", "audio", "video", "call", "result", "reasoning", "refusal", "opaque"}
	fmt.Fprintf(b, "  %s %q", kinds[p.Kind], p.Text)
	if p.Call != nil {
		fmt.Fprintf(b, " id=%s name=%s args=%s", p.Call.ID, p.Call.Name, p.Call.Arguments)
	}
	if p.Media != nil {
		fmt.Fprintf(b, " %+v", *p.Media)
	}
	if p.Opaque != nil {
		fmt.Fprintf(b, " %s %s %s", p.Opaque.Vendor, p.Opaque.Type, p.Opaque.Raw)
	}
	if p.Result != nil {
		fmt.Fprintf(b, " for=%s name=%s error=%v", p.Result.CallID, p.Result.Name, p.Result.Error)
		for i := range p.Result.Content {
			b.WriteString(" |")
			sayPart(b, &p.Result.Content[i])
		}
	}
	for _, s := range []*llm.Seal{p.Seal, p.Signature} {
		if s != nil {
			fmt.Fprintf(b, " seal(%s %d %.24s… %d)", s.Vendor, s.Kind, s.Data, len(s.Data))
		}
	}
	for _, c := range p.Citations {
		fmt.Fprintf(b, " [%d:%d %s %.40s]", c.Start, c.End, c.Title, c.URL)
	}
	b.WriteByte('\n')
}

func decodeRequest(t testing.TB, body string) *llm.Request {
	t.Helper()
	r, err := Generate{}.ReadRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	q, err := Generate{}.DecodeRequest(&r)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func encodeRequest(t testing.TB, q *llm.Request, to wire.Target) string {
	t.Helper()
	if to.Vendor == "" {
		to.Vendor = llm.Google
	}
	if q.Dropped == nil {
		q.Dropped = &llm.Dropped{}
	}
	out, err := Generate{}.EncodeRequest(nil, q, &to)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out) {
		t.Fatalf("not JSON: %s", out)
	}
	if !to.Quirks.Labels { // which only Vertex has
		checkType(t, "GenerateContentRequest", out)
	}
	return string(out)
}

// same compares JSON texts without regard to white space.
func same(t testing.TB, what, want, got string) {
	t.Helper()
	var w, g bytes.Buffer
	if err := json.Compact(&w, []byte(want)); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if err := json.Compact(&g, []byte(got)); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if w.String() != g.String() {
		t.Errorf("%s\nwant %s\n got %s", what, w.String(), g.String())
	}
}

// sayRequest writes a request so that a person can read it.
func sayRequest(q *llm.Request) string {
	var b strings.Builder
	roles := [...]string{"", "user", "assistant", "system"}
	for i := range q.System {
		b.WriteString("system:")
		sayPart(&b, &q.System[i])
	}
	for i := range q.Messages {
		fmt.Fprintf(&b, "%s:\n", roles[q.Messages[i].Role])
		for j := range q.Messages[i].Content {
			sayPart(&b, &q.Messages[i].Content[j])
		}
	}
	for i := range q.Tools {
		t := &q.Tools[i]
		if t.Opaque != nil {
			fmt.Fprintf(&b, "tool of %s: %s %s\n", t.Opaque.Vendor, t.Opaque.Type, t.Opaque.Raw)
			continue
		}
		fmt.Fprintf(&b, "tool %s (%s) %s\n", t.Name, t.Description, t.Schema)
	}
	fmt.Fprintf(&b, "choice %+v\n", q.Choice)
	number := func(name string, f *float64) {
		if f != nil {
			fmt.Fprintf(&b, "%s %v\n", name, *f)
		}
	}
	number("temperature", q.Temperature)
	number("top_p", q.TopP)
	number("frequency", q.FrequencyPenalty)
	number("presence", q.PresencePenalty)
	for name, n := range map[string]*int64{"top_k": q.TopK} {
		if n != nil {
			fmt.Fprintf(&b, "%s %d\n", name, *n)
		}
	}
	if q.Seed != nil {
		fmt.Fprintf(&b, "seed %d\n", *q.Seed)
	}
	fmt.Fprintf(&b, "max=%d n=%d stop=%q logprobs=%v/%d modalities=%v voice=%s tier=%s metadata=%s\n",
		q.MaxTokens, q.Choices, q.Stop, q.LogProbs, q.TopLogProbs, q.Modalities, q.AudioVoice, q.ServiceTier, q.Metadata)
	fmt.Fprintf(&b, "format %d %s %s\n", q.Format.Kind, q.Format.Name, q.Format.Schema)
	if q.Reasoning != nil {
		fmt.Fprintf(&b, "reasoning %+v\n", *q.Reasoning)
	}
	fmt.Fprintf(&b, "dropped %v\n", q.Dropped.Names())
	return b.String()
}

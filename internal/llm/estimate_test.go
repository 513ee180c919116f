package llm

import (
	"strings"
	"testing"
)

func TestEstimate(t *testing.T) {
	t.Parallel()
	text := func(s string) *Request {
		return &Request{Messages: []Message{{Role: User, Content: []Part{{Kind: Text, Text: s}}}}}
	}
	part := func(p Part) *Request { return &Request{Messages: []Message{{Role: User, Content: []Part{p}}}} }
	for name, c := range map[string]struct {
		q          *Request
		from, upTo int64
	}{
		"nothing":        {&Request{}, 1, 5},
		"a greeting":     {text("Hello, world"), 8, 14},
		"English":        {text(strings.Repeat("word ", 400)), 480, 520},
		"Chinese":        {text(strings.Repeat("汉字", 100)), 200, 210},
		"Korean, emoji":  {text("안녕하세요😀"), 11, 15},
		"German":         {text(strings.Repeat("größer ", 100)), 200, 240},
		"broken UTF-8":   {text("\xff\xfe\xff\xfe"), 8, 9},
		"a system":       {&Request{System: []Part{{Kind: Text, Text: strings.Repeat("x", 400)}}}, 100, 110},
		"tools":          {&Request{Tools: []Tool{{Name: "f", Schema: []byte(strings.Repeat("{", 400))}}}, 400, 450},
		"a server tool":  {&Request{Tools: []Tool{{Opaque: &Block{Raw: []byte("{}")}}}}, 300, 350},
		"an image":       {part(Part{Kind: Image, Media: &Media{URL: "u"}}), 1000, 2000},
		"a PDF":          {part(Part{Kind: Document, Media: &Media{Data: strings.Repeat("x", 200_000)}}), 6000, 9000},
		"a text file":    {part(Part{Kind: Document, Media: &Media{PlainText: strings.Repeat("x", 400)}}), 100, 115},
		"speech":         {part(Part{Kind: Audio, Media: &Media{Data: strings.Repeat("x", 10_240)}}), 80, 110},
		"a call":         {part(Part{Kind: ToolCall, Call: &Call{Name: "f", Arguments: strings.Repeat("x", 400)}}), 110, 130},
		"a result":       {part(Part{Kind: ToolResult, Result: &Result{Content: []Part{{Kind: Text, Text: strings.Repeat("x", 400)}}}}), 110, 130},
		"hidden thought": {part(Part{Kind: Reasoning, Seal: &Seal{Kind: Encrypted, Data: strings.Repeat("x", 400)}}), 100, 115},
		"a signature":    {part(Part{Kind: Reasoning, Seal: &Seal{Kind: Signed, Data: strings.Repeat("x", 400)}}), 5, 12},
		"an opaque":      {part(Part{Kind: Opaque, Opaque: &Block{Raw: []byte(strings.Repeat("x", 400))}}), 100, 115},
		"a format":       {&Request{Format: Format{Schema: []byte(strings.Repeat("x", 400))}}, 100, 110},
	} {
		if n := Estimate(c.q); n < c.from || n > c.upTo {
			t.Errorf("%s: %d, want %d to %d", name, n, c.from, c.upTo)
		}
	}
}

// A text counts the same in the client's JSON.
func TestEstimateQuoted(t *testing.T) {
	t.Parallel()
	for quoted, text := range map[string]string{
		`plain`: "plain", `\n\n\n\nab`: "\n\n\n\nab", `\\\\\\\\`: `\\\\`, `汉字\"größer\"\t`: "汉字\"größer\"\t", `C:\\new`: `C:\new`,
	} {
		want := Estimate(&Request{System: []Part{{Kind: Text, Text: text}}})
		if got := Estimate(&Request{System: []Part{{Kind: Text, Quoted: []byte(quoted)}}}); got != want {
			t.Errorf("%q: %d, but %d of %s", text, want, got, quoted)
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	q := &Request{Messages: []Message{{Role: User, Content: []Part{{Kind: Text, Text: strings.Repeat("Some prose, größer. ", 2500)}}}}}
	b.SetBytes(50_000)
	b.ReportAllocs()
	for b.Loop() {
		Estimate(q)
	}
}

// R46: what a prompt has for sure is half of its text's guess, and nothing for what may cost next to nothing.
func TestAtLeast(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word", 1000)
	one := func(p Part) *Request { return &Request{Messages: []Message{{Role: User, Content: []Part{p}}}} }
	for name, c := range map[string]struct {
		q    *Request
		want int64
	}{
		"nothing":          {&Request{}, 0},
		"a text":           {one(Part{Kind: Text, Text: text}), 500},
		"in client's JSON": {one(Part{Kind: Text, Quoted: []byte(text)}), 500},
		"a system prompt":  {&Request{System: []Part{{Kind: Text, Text: text}}}, 500},
		"wide characters":  {one(Part{Kind: Text, Text: strings.Repeat("字", 1000)}), 500},
		"a tool's result":  {one(Part{Kind: ToolResult, Result: &Result{Content: []Part{{Kind: Text, Text: text}}}}), 500},
		"a tool's call":    {one(Part{Kind: ToolCall, Call: &Call{Arguments: text}}), 500},
		"a text document":  {one(Part{Kind: Document, Media: &Media{PlainText: text}}), 500},
		"a picture":        {one(Part{Kind: Image, Media: &Media{Data: text}}), 0},
		"a PDF":            {one(Part{Kind: Document, Media: &Media{Data: text}}), 0},
		"a recording":      {one(Part{Kind: Audio, Media: &Media{Data: text}}), 0},
	} {
		if got := AtLeast(c.q); got != c.want || got > Estimate(c.q) {
			t.Errorf("%s: %d, want %d, of an estimate of %d", name, got, c.want, Estimate(c.q))
		}
	}
}

func TestEstimateBody(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 2000) // 90 kB, 20,000 tokens
	for _, c := range []struct {
		name     string
		body     string
		from, to int64
	}{
		{"nothing", "", 0, 0},
		{"a byte", "x", 1, 1},
		{"a word", `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`, 1, 10},
		{"a large text", `{"messages":[{"role":"user","content":"` + prose + `"}]}`, 18_000, 23_000},
		{"a picture of a megabyte", `{"image":"` + strings.Repeat("iVBORw0KGgo+/Zz9", 1<<16) + `"}`, 1000, 10_000},
		{"both", `{"text":"` + strings.Repeat(prose, 10) + `","image":"` + strings.Repeat("iVBORw0KGgo+/Zz9", 1<<16) + `"}`, 190_000, 250_000},
	} {
		if got := EstimateBody([]byte(c.body)); got < c.from || got > c.to {
			t.Errorf("%s: %d tokens, want %d to %d", c.name, got, c.from, c.to)
		}
	}
}

package anthropic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// longRequest is a conversation of about that many bytes, with tools and results in it.
func longRequest(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":4096,"stream":true,"system":[{"type":"text","text":"You are a careful engineer.","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"read","description":"reads a file","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}],"messages":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":"user","content":"Look at file %d, please."},{"role":"assistant","content":[{"type":"text","text":"I will."},{"type":"tool_use","id":"toolu_%d","name":"read","input":{"path":"/src/%d.go"}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]},{"role":"assistant","content":"Done."}`, i, i, i, i, strings.Repeat("func f() { return \"x\" }\n", 40))
	}
	b.WriteString(`,{"role":"user","content":"And now?"}]}`)
	return b.Bytes()
}

func BenchmarkDecodeRequest(b *testing.B) {
	r, err := Messages{}.ReadRequest(longRequest(50_000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(r.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Messages{}).DecodeRequest(&r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeRequest(b *testing.B) {
	r, err := Messages{}.ReadRequest(longRequest(50_000))
	if err != nil {
		b.Fatal(err)
	}
	q, err := Messages{}.DecodeRequest(&r)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(r.Body)))
	b.ReportAllocs()
	dst := make([]byte, 0, 100_000)
	for b.Loop() {
		if _, err := (Messages{}).EncodeRequest(dst, q, &wire.Target{Model: "claude-sonnet-4-5", Vendor: llm.Anthropic}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadRequest(b *testing.B) {
	body := longRequest(50_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Messages{}).ReadRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJudgeEvent(b *testing.B) {
	for name, data := range map[string]string{"same block": saysText(" Hello"), "start": openEvent} {
		b.Run(name, func(b *testing.B) {
			var p wire.Progress
			b.ReportAllocs()
			for b.Loop() {
				Messages{}.JudgeEvent([]byte(data), &p)
			}
		})
	}
}

// One event from the upstream's bytes to the client's.
func BenchmarkTranslateEvent(b *testing.B) {
	data := []byte(saysText(" Hello"))
	q := &llm.Request{Reasoning: &llm.Effort{}, Dropped: &llm.Dropped{}}
	d, e := Messages{}.NewDecoder(), Messages{}.NewEncoder(q)
	var order llm.Order
	var out []byte
	say := func(ev *llm.Event) { out = e.Append(out, ev) }
	put := func(ev *llm.Event) { order.Put(ev, say) }
	b.ReportAllocs()
	for b.Loop() {
		out = out[:0]
		if err := d.Decode(data, put); err != nil {
			b.Fatal(err)
		}
	}
}

// The hot path of a stream leaves no garbage.
func TestEventsDoNotAllocate(t *testing.T) {
	data := []byte(saysText(" Hello, this is a text of more than thirty-two bytes"))
	var p wire.Progress
	Messages{}.JudgeEvent(data, &p)
	if n := testing.AllocsPerRun(100, func() { Messages{}.JudgeEvent(data, &p) }); n > 0 {
		t.Errorf("judging allocates %v times", n)
	}
	d, e := Messages{}.NewDecoder(), Messages{}.NewEncoder(&llm.Request{})
	var order llm.Order
	var out []byte
	say := func(ev *llm.Event) { out = e.Append(out, ev) }
	put := func(ev *llm.Event) { order.Put(ev, say) }
	step := func() {
		out = out[:0]
		if err := d.Decode(data, put); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(100, step); n > 3 {
		t.Errorf("translating allocates %v times", n)
	}
}

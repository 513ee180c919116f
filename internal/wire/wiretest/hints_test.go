package wiretest_test

import (
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// asksFor is what a decoded request asks for beyond text.
func asksFor(q *llm.Request) (h wire.Hints) {
	var look func(parts []llm.Part)
	look = func(parts []llm.Part) {
		for i := range parts {
			switch p := &parts[i]; p.Kind {
			case llm.Image:
				h |= wire.HintsImage
			case llm.Document:
				if p.Media.PlainText == "" {
					h |= wire.HintsFile
				}
			case llm.Audio:
				h |= wire.HintsAudio
			case llm.Video:
				h |= wire.HintsVideo
			case llm.ToolResult:
				look(p.Result.Content)
			case llm.Text, llm.ToolCall, llm.Reasoning, llm.Refusal, llm.Opaque:
			}
		}
	}
	look(q.System)
	for i := range q.Messages {
		look(q.Messages[i].Content)
	}
	if len(q.Tools) > 0 {
		h |= wire.HintsTools
	}
	if q.Format.Kind == llm.JSONSchema {
		h |= wire.HintsSchema
	}
	if len(q.Modalities) > 0 {
		h |= wire.HintsOutput
	}
	return h
}

// FuzzHints: a request's hints are those of its whole body, but for words in turns that hold nothing but text; and what is asked for
// and hinted at somewhere is hinted at.
func FuzzHints(f *testing.F) {
	for _, q := range recordedRequests(f) {
		if body := q.body(f); len(body) < 20_000 && q.dialect.Name() != "completions" {
			f.Add(uint8(codecNamed(q.dialect.Name())), body)
		}
	}
	for _, seed := range []struct{ dialect, body string }{
		{"chat", `{"model":"m","messages":[{"role":"user","content":"what is \"image_url\"?"}],"tools":[]}`},
		{"chat", `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":"https://x/y.png"}]}]}`},
		{"chat", `{"model":"m","messages":[{"role":"assistant","audio":{"id":"a"}}]}`},
		{"chat", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"u"}]}],"model":"m","messages":[]}`},
		{"messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"u"}}]}]}`},
		{"messages", `{"model":"m","max_tokens":1,"system":[{"type":"image","source":{"type":"url","url":"u"}}],"messages":[{"role":"user","content":[{"type":"text","text":"\"image"}]}]}`},
		{"responses", `{"model":"m","input":"an \"input_image\""}`},
		{"responses", `{"model":"m","input":[{"type":"input_image","image_url":"u"}]}`},
		{"responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"u"}]}]}`},
		{"responses", `{"model":"m","input":[{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"u"}}]}`},
		{"gemini", `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}]}`},
		{"gemini", `{"contents":[{"parts":[{"text":"\"image/png"}]}]}`},
	} {
		f.Add(uint8(codecNamed(seed.dialect)), []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		from, ok := codecs()[int(n)%len(codecs())].(wire.Client)
		if !ok {
			return
		}
		r, err := from.ReadRequest(body)
		if err != nil {
			return
		}
		if r.Model == "" {
			r.Model = "m"
		}
		whole, some := wire.HintsOf(body), r.Hints()
		turns := r.Spans.Turns
		if r.Spans.Texts {
			some |= wire.HintsOf(body[turns.From:turns.To])
		}
		if some != whole {
			t.Fatalf("%s: hints %b, of the whole %b, in %s", from.Name(), some, whole, body)
		}
		canonical, err := wire.Decode(from, &r)
		if err != nil {
			return
		}
		if q := canonical.Generation(); q != nil && asksFor(q)&whole&^r.Hints() != 0 {
			t.Fatalf("%s: asks for %b, hints at %b: %s", from.Name(), asksFor(q), r.Hints(), body)
		}
	})
}

// Turns of text alone are known for that in every dialect, whatever words stand in them.
func TestTextsHintAtNothing(t *testing.T) {
	t.Parallel()
	for dialect, body := range map[string]string{
		"chat":      `{"model":"m","messages":[{"role":"user","content":"\"image \"input_audio \"file"},{"role":"assistant","content":"\"tools\""}]}`,
		"messages":  `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"\"image \"document"}]}]}`,
		"responses": `{"model":"m","input":[{"role":"user","content":"\"input_image"}]}`,
		"gemini":    `{"contents":[{"role":"user","parts":[{"text":"\"image/png \"file"}]}]}`,
	} {
		r, err := codecs()[codecNamed(dialect)].(wire.Client).ReadRequest([]byte(body))
		if err != nil || wire.HintsOf([]byte(body)) == 0 || r.Hints() != 0 {
			t.Errorf("%s: %b, %v", dialect, r.Hints(), err)
		}
	}
}

package gemini

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

func chunks(data ...string) (out [][]byte) {
	for _, d := range data {
		out = append(out, []byte(d))
	}
	return out
}

func TestDecodeStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		data []string
	}{
		{"119 max tokens after a call", []string{
			`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"get_weather","args":{"city":"Paris"}}}]},"index":0}],"responseId":"r"}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"par"}]},"index":0,"finishReason":"MAX_TOKENS"}]}`,
		}},
		{"calls without arguments and ids", []string{
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"f","args":null}},{"functionCall":{"id":"own","name":"g","args":{"a":"\u00e9"}}}]},"finishReason":"STOP"}]}`,
		}},
		{"two candidates in turns", []string{
			`{"candidates":[{"content":{"parts":[{"text":"a"}]},"index":0},{"content":{"parts":[{"text":"x","thought":true}]},"index":1}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"y"}]},"index":1,"finishReason":"RECITATION"}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"OTHER"}]}`,
		}},
		{"thoughts signed", []string{
			`{"candidates":[{"content":{"parts":[{"text":"th","thought":true}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"ink","thought":true,"thoughtSignature":"YQ=="}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"more","thought":true}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"said"}]},"finishReason":"STOP"}]}`,
		}},
		{"a signature first", []string{
			`{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"YQ=="}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"said"}]},"finishReason":"STOP"}]}`,
		}},
		{"a finish in every event", []string{
			`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}`,
		}},
		{"files and blocks", []string{
			`{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="},"thoughtSignature":"YQ=="},{"fileData":{"fileUri":"https://x/y.mp3"}}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"audio/L16;rate=24000","data":"AAA="}},{"toolCall":{"toolType":"URL_CONTEXT"}},{"futurePart":{"x":1}}]},"finishReason":"STOP"}]}`,
		}},
		{"places in a text that is not ASCII", []string{
			`{"candidates":[{"content":{"parts":[{"text":"Café, "}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"naïve \u6771京."}]},"finishReason":"STOP","groundingMetadata":{"groundingChunks":[{"web":{"uri":"u0","title":"t0"}}],
				"groundingSupports":[{"segment":{"startIndex":7,"endIndex":13},"groundingChunkIndices":[0,9]},{"segment":{"startIndex":14,"endIndex":99},"groundingChunkIndices":[0]}]},
				"citationMetadata":{"citationSources":[{"startIndex":0,"endIndex":5,"uri":"u1"}]}}]}`,
		}},
		{"sources without places", []string{
			`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP","groundingMetadata":{"groundingChunks":[{"retrievedContext":{"uri":"u","title":"t","text":"quote"}}]},"citationMetadata":{"citations":[]}}]}`,
		}},
		{"cached and audio tokens", []string{
			`{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":900,"candidatesTokenCount":5,"thoughtsTokenCount":20,"totalTokenCount":1025,
				"promptTokensDetails":[{"modality":"TEXT","tokenCount":600},{"modality":"AUDIO","tokenCount":400}],"candidatesTokensDetails":[{"tokenCount":5,"modality":"AUDIO"}]}}`,
		}},
		{"broken members", []string{
			`{"candidates":[7,{"content":7},{"content":{"parts":7}},{"content":{"parts":[7,{"text":7},{"functionCall":7}]},"index":"x","finishReason":7}],"usageMetadata":7,"responseId":7}`,
			`{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testkit.Golden(t, "golden/stream/"+strings.ReplaceAll(c.name, " ", "-")+".txt", []byte(say(decodeStream(t, chunks(c.data...)))))
		})
	}
}

// Made ids differ between calls and between replies, and fit what other vendors take.
func TestMadeIDs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, data := range []string{
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":2}}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}],"responseId":"Ünï/../` + strings.Repeat("x", 99) + `"}`,
	} {
		for _, p := range decodeStream(t, chunks(data)).Choices[0].Content {
			id := p.Call.ID
			if seen[id] || len(id) > 40 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || !isMade(id) {
				t.Errorf("id %q", id)
			}
			seen[id] = true
		}
	}
	if len(seen) != 5 {
		t.Errorf("%v", seen)
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]llm.Stop{
		"STOP": llm.EndTurn, "MAX_TOKENS": llm.Length, "SAFETY": llm.ContentFilter, "RECITATION": llm.ContentFilter, "BLOCKLIST": llm.ContentFilter,
		"PROHIBITED_CONTENT": llm.ContentFilter, "SPII": llm.ContentFilter, "IMAGE_SAFETY": llm.ContentFilter, "LANGUAGE": llm.OtherStop,
		"MALFORMED_FUNCTION_CALL": llm.OtherStop, "UNEXPECTED_TOOL_CALL": llm.OtherStop, "OTHER": llm.OtherStop, "SOMETHING_NEW": llm.OtherStop, "": llm.Unstopped,
	} {
		stop, text := stopOf(word, false)
		if stop != want || (text == word) != (want == llm.OtherStop || word == "") {
			t.Errorf("%s: %d %q", word, stop, text)
		}
		if back := reasonOf(stop, text); want == llm.OtherStop && back != word && word != "SOMETHING_NEW" {
			t.Errorf("%s came back as %s", word, back)
		}
	}
	if s, _ := stopOf("STOP", true); s != llm.ToolUse {
		t.Error("a call does not stop for tools")
	}
	if s, _ := stopOf("MAX_TOKENS", true); s != llm.Length {
		t.Error("a call hides the limit (case 119)")
	}
}

// What other vendors say, as a Gemini client hears it.
func TestEncode(t *testing.T) {
	t.Parallel()
	a := &llm.Reply{
		ID: "msg_1", Model: "claude", ServiceTier: "priority",
		Usage: llm.Usage{Known: true, Input: 20, Output: 9, CachedInput: 5, Reasoning: 4, AudioInput: 3, AudioOutput: 2},
		Choices: []llm.Choice{
			{Stop: llm.ToolUse, LogProbs: []byte(`[{"token":"a\"","logprob":-0.5,"bytes":[97],"top_logprobs":[{"token":"b","logprob":-1e-3}]}]`), Content: []llm.Part{
				sealed(llm.Part{Kind: llm.Reasoning, Text: "th\"ink"}, signed(llm.Anthropic, "c2ln")),
				{Kind: llm.Reasoning, Seal: &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "zz"}},
				{Kind: llm.Text, Text: "é said", Citations: []llm.Citation{{URL: "https://u", Title: "t", Start: 2, End: 6}, {URL: "https://u", Title: "t"}}},
				{Kind: llm.Text, Text: "和 more", Citations: []llm.Citation{{Title: "doc", Quote: "q", Start: 0, End: 1}}},
				toolCall("toolu_1", "f", `{"a": 1.0}`),
				toolCall("toolu_2", "g", ``),
				{Kind: llm.ToolCall, Call: &llm.Call{ID: "c3", Name: "h", Custom: true, Arguments: "free"}},
				{Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "aGk="}},
				{Kind: llm.Audio, Media: &llm.Media{Type: "audio/wav", Data: "AAAA"}},
				{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "server_tool_use", Raw: []byte(`{}`)}},
			}},
			{Stop: llm.Refused, Content: []llm.Part{{Kind: llm.Refusal, Text: "no"}}},
			{Stop: llm.OtherStop, StopText: "weird"},
		},
	}
	q := &llm.Request{Model: "m", Dropped: &llm.Dropped{}}
	plain := Generate{}.AppendReply(nil, a, q)
	stream := encodeStream(a, q)
	checkType(t, "GenerateContentResponse", plain)
	data := events(t, stream)
	for i, e := range data {
		checkType(t, "GenerateContentResponse", e)
		if last := i == len(data)-1; strings.Contains(string(e), "finishReason") != last || strings.Contains(string(e), "usageMetadata") != last {
			t.Errorf("event %d of %d: %s", i, len(data), e)
		}
	}
	if got := q.Dropped.Names(); len(got) != 1 || got[0] != llm.DropServerTools {
		t.Errorf("dropped %v", got)
	}
	testkit.Golden(t, "golden/encode.json", append(plain, '\n'))
	testkit.Golden(t, "golden/encode.sse", stream)
	one, err := Generate{}.DecodeReply(plain)
	if err != nil {
		t.Fatal(err)
	}
	b := decodeStream(t, data)
	testkit.Golden(t, "golden/encode-again.txt", []byte(say(one)+"\n"+say(b)))
}

// A call's arguments that come in pieces, beside another's, are each said once and whole.
func TestEncodeCallInPieces(t *testing.T) {
	t.Parallel()
	e := Generate{}.NewEncoder(&llm.Request{Model: "m"})
	var out []byte
	var order llm.Order
	put := func(ev llm.Event) { order.Put(&ev, func(o *llm.Event) { out = e.Append(out, o) }) }
	put(llm.Event{Kind: llm.Start, ID: "r"})
	put(llm.Event{Kind: llm.PartStart, Part: 0, Head: &llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "a", Name: "f"}}})
	put(llm.Event{Kind: llm.Delta, Part: 0, Text: []byte(`{"x"`)})
	put(llm.Event{Kind: llm.PartStart, Part: 1, Head: &llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "b", Name: "g"}}})
	put(llm.Event{Kind: llm.Delta, Part: 1, Text: []byte(`{"y":`)})
	if len(out) != 0 || e.Said().Begun {
		t.Errorf("half a call was said: %s", out)
	}
	put(llm.Event{Kind: llm.Delta, Part: 0, Text: []byte(`:1}`)})
	put(llm.Event{Kind: llm.Delta, Part: 1, Text: []byte(`2}`)})
	put(llm.Event{Kind: llm.Finish, Stop: llm.ToolUse})
	out = e.AppendEnd(out)
	var calls []string
	for _, d := range events(t, out) {
		for _, p := range decodeStream(t, [][]byte{d}).Choices[0].Content {
			calls = append(calls, fmt.Sprint(p.Call.ID, p.Call.Name, p.Call.Arguments))
		}
	}
	if d := cmp.Diff([]string{`af{"x":1}`, `bg{"y":2}`}, calls); d != "" {
		t.Error(d)
	}
	if s := e.Said(); !s.Begun || s.ID != "r" || s.Model != "m" {
		t.Errorf("%+v", s)
	}
}

func TestReplyFromStreamFaults(t *testing.T) {
	t.Parallel()
	const text = `data: {"candidates":[{"content":{"parts":[{"text":"x"}]}}]}` + "\n\n"
	for _, c := range []struct {
		name, stream string
		class        fault.Class
	}{
		{"nothing", ``, fault.Invalid},
		{"cut", text, fault.Invalid},
		{"an error", text + `data: {"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}` + "\n\n", fault.Upstream},
		{"blocked", `data: {"promptFeedback":{"blockReason":"SAFETY"}}` + "\n\n", fault.ContentFilter},
		{"broken in a call", `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]}}]}` + "\n\ndata: {\"a\n\n", fault.Invalid},
		{"a broken array", `[{"candidates":`, fault.Invalid},
		{"an error in an array", `[{"error":{"code":500,"message":"m"}}]`, fault.Upstream},
		{"half an array", `[{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}]`, fault.Invalid},
	} {
		_, err := Generate{}.ReplyFromStream([]byte(c.stream))
		var f *fault.Fault
		if !errors.As(err, &f) || f.Class != c.class {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	got, err := Generate{}.ReplyFromStream([]byte(text + "data: {\"broken\n\n" + text + "data: [DONE]\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "R17", `{"candidates":[{"content":{"parts":[{"text":"xx"}],"role":"model"},"index":0}]}`, string(got))
	for _, body := range []string{``, `{"a":`, `[{]`, `7`} {
		if _, err := (Generate{}).StreamFromReply([]byte(body), true); err == nil {
			t.Errorf("%q is a stream", body)
		}
		if _, err := (Generate{}).DecodeReply([]byte(body)); err == nil {
			t.Errorf("%q is a reply", body)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	got, err := Generate{}.ReplyFromStream([]byte(
		`data: {"candidates":[{"content":{"parts":[{"text":"a","thought":true}],"role":"model"},"index":0,"groundingMetadata":{"groundingChunks":[{"web":{"uri":"1"}}]}}],"responseId":"r","usageMetadata":{"promptTokenCount":1}}` + "\n\n" +
			`data: {"candidates":[{"content":{"parts":[{"text":"b","thought":true}]},"index":0},{"content":{"parts":[{"text":"z"}]},"index":1}]}` + "\n\n" +
			`data: {"candidates":[{"content":{"parts":[{"thoughtSignature":"YQ==","text":"c","thought":true},{"text":"d"}]},"index":0,"logprobsResult":{"chosenCandidates":[1]}}]}` + "\n\n" +
			`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"x": 1.0}}}]},"index":0,"logprobsResult":{"chosenCandidates":[2]},"groundingMetadata":{"groundingChunks":[{"web":{"uri":"2"}}],"webSearchQueries":["q"]}},{"finishReason":"STOP","index":1}]}` + "\n\n" +
			`data: {"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":2}}` + "\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "folded", `{"candidates":[{"content":{"parts":[{"text":"ab","thought":true},{"thoughtSignature":"YQ==","text":"c","thought":true},{"text":"d"},{"functionCall":{"name":"f","args":{"x": 1.0}}}],"role":"model"},
		"groundingMetadata":{"groundingChunks":[{"web":{"uri":"1"}},{"web":{"uri":"2"}}],"webSearchQueries":["q"]},"logprobsResult":{"chosenCandidates":[1,2]},"finishReason":"STOP","index":0},
		{"content":{"parts":[{"text":"z"}],"role":"model"},"finishReason":"STOP","index":1}],"responseId":"r","usageMetadata":{"promptTokenCount":2}}`, string(got))
}

func TestUnseal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"nothing to do", `{"contents":[{"role":"user","parts":[{"text":"a"}]}]}`, ``},
		{"the placeholder stays", `{"contents":[{"parts":[{"functionCall":{"name":"f"},"thoughtSignature":"skip_thought_signature_validator"}]}]}`, ``},
		{"no JSON", `{"contents":[`, ``},
		{
			"calls, thoughts, text, signatures alone", `{"x": 1.0,"contents":[{"role":"user","parts":[{"text":"a"}]},
			{"role":"model","parts":[{"text":"th","thought":true,"thoughtSignature":"YQ=="},{"text":"t","thought_signature":"Yg=="},{"functionCall":{"name":"f","args":{"a": 1}},"thoughtSignature":"Yw=="},{"functionCall":{"name":"g"}}]},
			{"role":"model","parts":[{"text":"","thoughtSignature":"ZA=="}]},{"role":"user","parts":[{"functionResponse":{"name":"f"}}]}]}`,
			`{"x": 1.0,"contents":[{"role":"user","parts":[{"text":"a"}]},
			{"role":"model","parts":[{"text":"t"},{"functionCall":{"name":"f","args":{"a": 1}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"g"}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f"}}]}]}`,
		},
	} {
		got, dropped := Generate{}.AppendUnsealed([]byte("|"), []byte(c.in))
		if c.want == "" {
			if string(got) != "|" || dropped != nil {
				t.Errorf("%s: %s %v", c.name, got, dropped)
			}
			continue
		}
		same(t, c.name, c.want, string(got[1:]))
		if len(dropped) != 1 || dropped[0] != llm.DropSignatures {
			t.Errorf("%s: dropped %v", c.name, dropped)
		}
		if again, more := (Generate{}).AppendUnsealed(nil, got[1:]); again != nil || more != nil {
			t.Errorf("%s: once more: %s", c.name, again)
		}
	}
}

var _ wire.Encoder = (*encoder)(nil)

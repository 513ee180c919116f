package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/wire"
)

// R17: a stream where JSON was asked for.
func TestReplyFromStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		d      wire.Dialect
		events []string
		want   string
	}{
		{
			"text, reasoning, refusal, usage",
			Chat{},
			[]string{
				`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"x","obfuscation":"zz","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`,
				`{"id":"c","choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`,
				`{"id":"c","choices":[{"index":0,"delta":{"reasoning_content":"m"}}]}`,
				`{"id":"c","choices":[{"index":0,"delta":{"content":"a<b"},"content_filter_results":{"hate":1}}]}`,
				`{"id":"c","choices":[{"index":0,"delta":{"content":" é"}}]}`,
				`{"id":"c","choices":[{"index":0,"delta":{"refusal":"no"}}]}`,
				`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":9}}}`,
				`{"id":"c","choices":[],"usage":{"prompt_tokens":12345678901234567890}}`,
				`[DONE]`,
			},
			`{"id":"c","object":"chat.completion","created":1,"model":"m","service_tier":"x","x_groq":{"id":"r","usage":{"prompt_tokens":9}},
			"usage":{"prompt_tokens":12345678901234567890},"choices":[{"index":0,"finish_reason":"stop","content_filter_results":{"hate":1},
			"message":{"role":"assistant","content":"a<b é","reasoning_content":"hmm","refusal":"no"}}]}`,
		},
		{
			"tool calls, interleaved, one without arguments, one that repeats its name",
			Chat{},
			[]string{
				`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{\"x\""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}},{"index":1,"id":"","function":{"name":"","arguments":":1}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":2,"id":"c","type":"custom","custom":{"name":"h"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			},
			`{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[
			{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{\"x\":1}"}},
			{"id":"c","type":"custom","custom":{"name":"h"}}]}}]}`,
		},
		{
			"tool calls all numbered 0, and not numbered",
			Chat{},
			[]string{
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"h","arguments":"{"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}`,
				`[DONE]`,
			},
			`{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[
			{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}},{"id":"c","function":{"name":"h","arguments":"{}"}}]}}]}`,
		},
		{
			"two choices, log probabilities, an older function call",
			Chat{},
			[]string{
				`{"choices":[{"index":1,"delta":{"content":"b"},"logprobs":{"content":[{"token":"b"}],"refusal":null}}]}`,
				`{"choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":"{"}},"logprobs":null}]}`,
				`{"choices":[{"index":0,"delta":{"function_call":{"arguments":"}"}}},{"index":1,"delta":{"content":"c"},"logprobs":{"content":[{"token":"c"}],"refusal":null}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}`,
				`{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`,
			},
			`{"object":"chat.completion","choices":[{"index":0,"finish_reason":"function_call","logprobs":null,"message":{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}},
			{"index":1,"finish_reason":"length","logprobs":{"content":[{"token":"b"},{"token":"c"}],"refusal":null},"message":{"role":"assistant","content":"bc"}}]}`,
		},
		{
			"content and reasoning in parts, audio",
			Chat{},
			[]string{
				`{"choices":[{"delta":{"content":"x"}}]}`,
				`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}}]}`,
				`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}]}]}}]}`,
				`{"choices":[{"delta":{"content":"y","reasoning_details":[{"type":"reasoning.text","text":"p","index":0}]}}]}`,
				`{"choices":[{"delta":{"content":"z","reasoning_details":[{"type":"reasoning.text","text":"q","index":0}]}}]}`,
				`{"choices":[{"delta":{"content":"","reasoning_details":[{"type":"reasoning.text","signature":"s","index":0}]}}]}`,
				`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"r","index":1}]}}]}`,
				`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"1","index":1}]}}]}`,
				`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"2","index":1}]}}]}`,
				`{"choices":[{"delta":{"audio":{"id":"u","data":"AA"}}}]}`,
				`{"choices":[{"delta":{"audio":{"data":"BB","transcript":"hi","expires_at":5}}}]}`,
				`{"choices":[{"delta":{"annotations":[{"n":1}]}}]}`,
				`{"choices":[{"delta":{"annotations":[{"n":2}]},"finish_reason":"stop"}]}`,
			},
			`{"object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",
			"content":[{"type":"text","text":"x"},{"type":"thinking","thinking":[{"type":"text","text":"ab"}]},{"type":"text","text":"yz"}],
			"reasoning_details":[{"type":"reasoning.text","text":"pq","index":0,"signature":"s"},{"type":"reasoning.text","text":"r","index":1},{"type":"reasoning.encrypted","data":"1","index":1},{"type":"reasoning.encrypted","data":"2","index":1}],
			"audio":{"id":"u","data":"AABB","transcript":"hi","expires_at":5},"annotations":[{"n":1},{"n":2}]}}]}`,
		},
		{
			"an end marker without a finish; a broken event is left out",
			Chat{},
			[]string{`{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}`, `{"choices":[{"delta`, `{"choices":[{"delta":{"content":"b"}}]}`, `[DONE]`},
			`{"object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"ab"}}]}`,
		},
		{
			"older completions",
			Completions{},
			[]string{
				`{"id":"c","object":"text_completion","choices":[{"index":0,"text":"a","logprobs":{"tokens":["a"],"token_logprobs":[-1],"text_offset":[0]},"finish_reason":null}]}`,
				`{"id":"c","choices":[{"index":0,"text":"b","logprobs":{"tokens":["b"],"token_logprobs":[-2],"text_offset":[1]},"finish_reason":"length"}]}`,
				`[DONE]`,
			},
			`{"id":"c","object":"text_completion","choices":[{"index":0,"text":"ab","logprobs":{"tokens":["a","b"],"token_logprobs":[-1,-2],"text_offset":[0,1]},"finish_reason":"length"}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var stream bytes.Buffer
			for _, e := range c.events {
				fmt.Fprintf(&stream, ": ping\r\n\r\ndata:%s\r\n\r\n", e)
			}
			got, err := c.d.ReplyFromStream(stream.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(decoded(t, []byte(c.want)), decoded(t, got)); d != "" {
				t.Error(d)
			}
			if again, _ := c.d.ReplyFromStream(stream.Bytes()); !bytes.Equal(got, again) {
				t.Error("the same stream made another reply")
			}
			if _, f := c.d.Judge(got); f != nil {
				t.Error(f)
			}
		})
	}
}

// R14: what is no whole stream is no reply.
func TestReplyFromStreamRefuses(t *testing.T) {
	t.Parallel()
	const text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
	for _, c := range []struct{ name, stream, want string }{
		{"nothing", "", "the upstream's stream ended without any content"},
		{"comments and the end marker", ": x\n\ndata: [DONE]\n\n", "the upstream's stream ended without any content"},
		{"cut", text, "the upstream's stream was cut before its end"},
		{"cut within an event", text + "data: {\"choices\":[{\"delta\":{},\"finish_re", "the upstream's stream was cut before its end"},
		{"an error event", text + "event: error\ndata: {\"error\":{\"message\":\"gone\"}}\n\n", "gone"},
		{"an error field", text + "error: {\"error\":{\"message\":\"gone\"}}\n\n", "gone"},
		{
			"broken inside a tool call",
			"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\"}}]}}]}\n\ndata: {\"cho\n\ndata: [DONE]\n\n",
			"the upstream's stream broke inside a tool call",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Chat{}.ReplyFromStream([]byte(c.stream))
			var f *fault.Fault
			if !errors.As(err, &f) || f.Message != c.want || f.Class != fault.Invalid {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := (Embeddings{}).ReplyFromStream([]byte(text)); err == nil {
		t.Error("embeddings were folded")
	}
	if _, err := (Embeddings{}).StreamFromReply([]byte("{}"), true); err == nil {
		t.Error("embeddings were streamed")
	}
}

// R17: JSON where a stream was asked for.
func TestStreamFromReply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		d          wire.Dialect
		usage      bool
		want       []string
	}{
		{
			"text", "{\n \"id\": \"c\", \"object\": \"chat.completion\", \"model\": \"m\", \"future\": {\"k\":\n 1.5},\n \"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": \"hi\"}, \"logprobs\": null, \"finish_reason\": \"stop\"}], \"usage\": {\"prompt_tokens\": 1}}",
			Chat{},
			true,
			[]string{
				`{"object":"chat.completion.chunk","id":"c","model":"m","future":{"k":  1.5},"choices":[{"index":0,"logprobs":null,"delta":{"role":"assistant","content":"hi"},"finish_reason":null}]}`,
				`{"object":"chat.completion.chunk","id":"c","model":"m","future":{"k":  1.5},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
				`{"object":"chat.completion.chunk","id":"c","model":"m","future":{"k":  1.5},"choices":[],"usage":{"prompt_tokens": 1}}`,
				`[DONE]`,
			},
		},
		{
			"tool calls, no finish, no role, usage not asked for",
			`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","index":7,"function":{"name":"f","arguments":"{}"}},{"id":"b"}]},"finish_reason":null}],"usage":{"prompt_tokens":1}}`,
			Chat{},
			false,
			[]string{
				`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b"}],"role":"assistant"},"finish_reason":null}]}`,
				`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
				`[DONE]`,
			},
		},
		{
			"two choices, one an older function call", `{"choices":[{"index":1,"message":{"role":"assistant","function_call":{"name":"f"}}},{"message":null,"finish_reason":"length"}],"usage":null}`,
			Chat{},
			true,
			[]string{
				`{"object":"chat.completion.chunk","choices":[{"index":1,"delta":{"role":"assistant","function_call":{"name":"f"}},"finish_reason":null}]}`,
				`{"object":"chat.completion.chunk","choices":[{"index":1,"delta":{},"finish_reason":"tool_calls"}]}`,
				`{"object":"chat.completion.chunk","choices":[{"index":1,"delta":{},"finish_reason":null}]}`,
				`{"object":"chat.completion.chunk","choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`,
				`[DONE]`,
			},
		},
		{
			"no function call, no finish", `{"choices":[{"message":{"role":"assistant","function_call":null}}]}`,
			Chat{},
			true,
			[]string{
				`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","function_call":null},"finish_reason":null}]}`,
				`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
				`[DONE]`,
			},
		},
		{
			"older completions", `{"id":"c","object":"text_completion","choices":[{"text":"a","index":0,"logprobs":null,"finish_reason":"stop"}]}`,
			Completions{},
			true,
			[]string{`{"object":"text_completion","id":"c","choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":"stop"}]}`, `[DONE]`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stream, err := c.d.StreamFromReply([]byte(c.body), c.usage)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range frames(t, stream) {
				if !f.Plain {
					t.Errorf("not plain: %q", f.Raw)
				}
				got = append(got, string(f.Data))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	for _, body := range []string{"", "<html>", "{", `{"choices":[]}`, `[]`} {
		if _, err := (Chat{}).StreamFromReply([]byte(body), true); err == nil {
			t.Errorf("%q became a stream", body)
		}
	}
}

// A recorded reply that is written as a stream and folded again is the same reply.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	replies := files(t, "replies")
	for name, stream := range files(t, "streams") {
		reply, err := dialectOf(name).ReplyFromStream(stream)
		if strings.Contains(name, "error-in-stream") {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		replies["folded "+name] = reply
	}
	for name, body := range replies {
		d := dialectOf(name)
		if d == (Embeddings{}) || strings.Contains(name, "filter-prompt") {
			continue
		}
		stream, err := d.StreamFromReply(body, true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		back, err := d.ReplyFromStream(stream)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := decoded(t, body)
		for _, c := range want["choices"].([]any) {
			c := c.(map[string]any)
			if c["message"] == nil && d == (Chat{}) { // Azure's content filter leaves it out
				c["message"] = map[string]any{"role": "assistant"}
			}
			if m, ok := c["message"].(map[string]any); ok {
				if _, ok := m["content"]; !ok {
					m["content"] = nil
				}
				calls, _ := m["tool_calls"].([]any)
				if len(calls) == 0 {
					delete(m, "tool_calls")
				}
				for _, call := range calls {
					delete(call.(map[string]any), "index")
				}
			}
		}
		if want["usage"] == nil {
			delete(want, "usage")
		}
		want["object"] = map[bool]string{true: "text_completion", false: "chat.completion"}[d == (Completions{})]
		if d := cmp.Diff(want, decoded(t, back)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		// Both say the same to the gateway.
		judged, f := d.Judge(body)
		var p wire.Progress
		for _, frame := range frames(t, stream) {
			d.JudgeEvent(frame.Data, &p)
		}
		if diff := cmp.Diff(judged, p.Reply); diff != "" || f != nil || !p.SawFinish {
			t.Errorf("%s: %s %v", name, diff, f)
		}
	}
}

// The text of the folded recordings, against the plain way of adding it up.
func TestFoldedRecordings(t *testing.T) {
	t.Parallel()
	for name, stream := range files(t, "streams") {
		if strings.Contains(name, "error-in-stream") || strings.Contains(name, "-n2-") {
			continue
		}
		reply, err := dialectOf(name).ReplyFromStream(stream)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want, got, calls string
		for _, f := range frames(t, stream) {
			var e plainEvent
			_ = json.Unmarshal(f.Data, &e)
			for _, c := range e.Choices {
				want += c.Text + texts(c.Delta.Content)
				for _, call := range c.Delta.ToolCalls {
					calls += call.Function.Arguments
				}
			}
		}
		var plain struct {
			Choices []struct {
				Text    string
				Message struct {
					Content   any
					ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(reply, &plain); err != nil || len(plain.Choices) != 1 {
			t.Fatal(name, err, len(plain.Choices))
		}
		got = plain.Choices[0].Text + texts(plain.Choices[0].Message.Content)
		if got != want {
			t.Errorf("%s: got text %q, want %q", name, got, want)
		}
		got = ""
		for _, call := range plain.Choices[0].Message.ToolCalls {
			got += call.Function.Arguments
			if !json.Valid([]byte(call.Function.Arguments)) {
				t.Errorf("%s: arguments %q", name, call.Function.Arguments)
			}
		}
		if got != calls {
			t.Errorf("%s: got arguments %q, want %q", name, got, calls)
		}
	}
}

// Folding takes work in proportion to the stream: text that is copied at each event would be 2.5 GB here.
func TestLongStreamIsFoldedOnce(t *testing.T) {
	event := "data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("x", 50) + "\"}}]}\n\n"
	stream := strings.Repeat(event, 10_000) + "data: [DONE]\n\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	reply, err := Chat{}.ReplyFromStream([]byte(stream))
	runtime.ReadMemStats(&after)
	if err != nil || len(reply) < 500_000 {
		t.Fatal(len(reply), err)
	}
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 200 {
		t.Errorf("%d MB were allocated", made)
	}
}

func FuzzConvert(f *testing.F) {
	for _, body := range files(f, "replies") {
		f.Add(body)
	}
	for _, stream := range files(f, "streams") {
		if len(stream) < 3000 {
			f.Add(stream)
		}
	}
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":{}},{\"type\":{}}],\"audio\":3,\"tool_calls\":[{\"id\":{},\"index\":{}}]},\"finish_reason\":\"x\"}]}\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, d := range []wire.Dialect{Chat{}, Completions{}} {
			if reply, err := d.ReplyFromStream(in); err == nil && !json.Valid(reply) {
				t.Fatalf("%q became %q", in, reply)
			}
			_, f := d.Judge(in)
			stream, err := d.StreamFromReply(in, true)
			if f == nil && err != nil {
				t.Fatalf("%q is an answer but no stream: %v", in, err)
			}
			if err != nil {
				continue
			}
			all := frames(t, stream)
			for i, frame := range all {
				last := i == len(all)-1
				if !frame.Plain || last != wire.IsDone(frame.Data) || !last && !json.Valid(frame.Data) {
					t.Fatalf("%q became %q", in, stream)
				}
			}
			if f == nil {
				if _, err := d.ReplyFromStream(stream); err != nil {
					t.Fatalf("%q became %q, and that %v", in, stream, err)
				}
			}
		}
	})
}

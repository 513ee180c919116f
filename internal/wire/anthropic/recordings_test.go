package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

// Every recorded stream says what its golden file says, and ends properly.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	for name, stream := range files(t, "streams") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := decodeStream(t, stream)
			testkit.Golden(t, "golden/streams/"+strings.TrimSuffix(name, ".sse")+".txt", show(a))
			var p wire.Progress
			ends := 0
			for _, f := range frames(t, stream) {
				e := Messages{}.JudgeEvent(f.Data, &p)
				if e.Malformed || e.Fault != nil || !bytes.Equal(e.Name, f.Event) {
					t.Fatalf("%s: %+v", f.Data, e)
				}
				if e.End {
					ends++
				}
			}
			if ends != 1 || !p.SawContent || !p.SawFinish || p.OpenTool || p.Sequence != 0 {
				t.Errorf("%d ends, %+v", ends, p)
			}
			if p.Reply.Usage != a.Usage || p.Reply.Model != a.Model || p.ID != a.ID {
				t.Errorf("the judge saw %+v, the decoder %+v", p.Reply, a)
			}
		})
	}
}

// Every recorded reply says what its golden file says.
func TestRecordedReplies(t *testing.T) {
	t.Parallel()
	for name, body := range files(t, "replies") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged, f := Messages{}.Judge(body)
			if f != nil {
				t.Fatal(f)
			}
			a, err := Messages{}.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			if judged.Usage != a.Usage || judged.Model != a.Model || judged.Finish == "" {
				t.Errorf("the judge saw %+v, the decoder %+v", judged, a)
			}
			testkit.Golden(t, "golden/replies/"+strings.TrimSuffix(name, ".json")+".txt", show(a))
		})
	}
}

// Every recorded request is understood, and written anew it is the same request but for what is noted.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	for name, body := range files(t, "requests") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Messages{}.ReadRequest(withModel(body))
			if err != nil {
				t.Fatal(err)
			}
			decode := Messages{}.DecodeRequest
			if strings.HasPrefix(name, "count-") {
				decode = CountTokens{}.DecodeCounted
			}
			q, err := decode(&r)
			if err != nil {
				t.Fatal(err)
			}
			if n := llm.Estimate(q); n < 5 {
				t.Errorf("estimated at %d tokens", n)
			}
			out, err := Messages{}.EncodeRequest(nil, q, &wire.Target{Model: r.Model, Vendor: llm.Anthropic})
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			pretty.Write(show(q))
			pretty.WriteString("\nwritten anew: ")
			if err := json.Indent(&pretty, out, "", "  "); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			pretty.WriteString("\n")
			testkit.Golden(t, "golden/requests/"+strings.TrimSuffix(name, ".json")+".txt", pretty.Bytes())
		})
	}
}

// withModel puts a model into a body that has it in its path.
func withModel(body []byte) []byte {
	if bytes.Contains(body, []byte(`"model"`)) {
		return body
	}
	return append([]byte(`{"model":"claude-sonnet-4-5",`), bytes.TrimSpace(body)[1:]...)
}

// A recorded stream, told to a client of this dialect by way of llm, keeps to the grammar and says the same.
func TestRecordedStreamsToldAnew(t *testing.T) {
	t.Parallel()
	for name, stream := range files(t, "streams") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := decodeStream(t, stream)
			q := &llm.Request{Reasoning: &llm.Effort{}, Dropped: &llm.Dropped{}}
			out := encodeStream(t, stream, q)
			if name != "pause-turn-web-search-stream-sonnet-4.5.sse" && name != "web-search-stream-haiku-4.5.sse" &&
				name != "tool-search-stream-sonnet-4.6.sse" && name != "compaction-cache-stream-sonnet-4.6.sse" {
				if err := grammar(out); err != nil {
					t.Fatal(err)
				}
			}
			got := decodeStream(t, out)
			normalize(want, got)
			if diff := cmp.Diff(want, got, wholeBytes); diff != "" {
				t.Error(diff)
			}
			plain := Messages{}.AppendReply(nil, want, q)
			again, err := Messages{}.DecodeReply(plain)
			if err != nil {
				t.Fatal(err)
			}
			normalize(want, again)
			if diff := cmp.Diff(want, again, wholeBytes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// normalize takes off both what the dialect cannot say of a foreign answer, and what is the same said otherwise.
func normalize(want, got *llm.Reply) {
	for _, a := range []*llm.Reply{want, got} {
		a.ServiceTier = strings.TrimPrefix(a.ServiceTier, "standard")
		for i := range a.Choices {
			c := &a.Choices[i]
			var keep []llm.Part
			for _, p := range c.Content {
				if p.Kind == llm.Text && p.Text == "" {
					continue
				}
				if p.Call != nil && p.Call.Arguments == "{}" {
					p.Call.Arguments = ""
				}
				var cited []llm.Citation
				for _, c := range p.Citations {
					if c.URL != "" {
						cited = append(cited, c)
					}
				}
				p.Citations = cited
				keep = append(keep, p)
			}
			c.Content = keep
		}
	}
}

// encodeStream tells a stream to a client of this dialect.
func encodeStream(tb testing.TB, stream []byte, q *llm.Request) (out []byte) {
	tb.Helper()
	var order llm.Order
	d, e := Messages{}.NewDecoder(), Messages{}.NewEncoder(q)
	say := func(ev *llm.Event) { out = e.Append(out, ev) }
	put := func(ev *llm.Event) { order.Put(ev, say) }
	for _, f := range frames(tb, stream) {
		if err := d.Decode(f.Data, put); err != nil {
			tb.Fatal(err)
		}
	}
	d.End(put)
	order.End(say)
	return e.AppendEnd(out)
}

// A reply as a stream and back is the same JSON.
func TestReplyThereAndBack(t *testing.T) {
	t.Parallel()
	for name, body := range files(t, "replies") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream, err := Messages{}.StreamFromReply(body, true)
			if err != nil {
				t.Fatal(err)
			}
			if err := grammar(stream); err != nil {
				t.Error(err)
			}
			back, err := Messages{}.ReplyFromStream(stream)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, body), parse(t, back)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A stream as a reply says what the stream said.
func TestRecordedStreamsFolded(t *testing.T) {
	t.Parallel()
	for name, stream := range files(t, "streams") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := Messages{}.ReplyFromStream(stream)
			if err != nil {
				t.Fatal(err)
			}
			if _, f := (Messages{}).Judge(body); f != nil {
				t.Fatal(f)
			}
			got, err := Messages{}.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			want := decodeStream(t, stream)
			for _, a := range []*llm.Reply{want, got} {
				for i := range a.Choices[0].Content {
					p := &a.Choices[0].Content[i]
					if p.Call != nil && p.Call.Arguments == "{}" {
						p.Call.Arguments = ""
					}
					if p.Opaque != nil {
						p.Opaque.Raw, _ = json.Marshal(parse(t, p.Opaque.Raw))
					}
				}
			}
			if diff := cmp.Diff(want, got, wholeBytes); diff != "" {
				t.Error(diff)
			}
			again, err := Messages{}.StreamFromReply(body, true)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Messages{}.ReplyFromStream(again)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, body), parse(t, back)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func parse(tb testing.TB, raw []byte) (v any) {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%v: %s", err, raw)
	}
	return v
}

// A stream that is cut after any event has no end, and before its finish no finish (R15).
func TestRecordedStreamsCut(t *testing.T) {
	t.Parallel()
	for name, stream := range files(t, "streams") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := frames(t, stream)
			finish := len(all)
			var p wire.Progress
			for i, f := range all {
				if (Messages{}).JudgeEvent(f.Data, &p).Finish {
					finish = i
				}
			}
			step := max(len(all)/20, 1)
			for n := 0; n < len(all)-1; n += step {
				var short []byte
				for _, f := range all[:n] {
					short = wire.AppendEvent(short, f.Event, f.Data)
				}
				body, err := Messages{}.ReplyFromStream(short)
				if complete := n > finish; (err == nil) != complete {
					t.Errorf("after %d of %d events (the finish is event %d): %v, %s", n, len(all), finish, err, body)
				}
			}
		})
	}
}

// The errors of the recordings are read.
func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"error-400-invalid-request.json": {"invalid_request_error", "messages.0: Input does not match the expected shape."},
		"error-401-request-id.json":      {"authentication_error", "invalid x-api-key"},
	} {
		body := files(t, "errors")[name]
		code, message := Messages{}.ReadError(body)
		if code != want[0] || message != want[1] {
			t.Errorf("%s: %q, %q", name, code, message)
		}
		if _, f := (Messages{}).Judge(body); f == nil || f.Code != want[0] {
			t.Errorf("%s: judged %v", name, f)
		}
	}
	body := files(t, "counts")["count-haiku-4.5.json"]
	if reply, f := (CountTokens{}).Judge(body); f != nil || reply.Usage.Known {
		t.Errorf("a count: %+v, %v", reply, f)
	}
}

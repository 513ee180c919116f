package responses

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

// unsealed takes out what differs between a stream's events and its end: OpenAI seals a thought anew each time, and says
// some items of its own tools only at the end.
func unsealed(a *llm.Reply) *llm.Reply {
	for i := range a.Choices {
		for j := range a.Choices[i].Content {
			if s := a.Choices[i].Content[j].Seal; s != nil {
				s.Data = "sealed"
			}
			if o := a.Choices[i].Content[j].Opaque; o != nil {
				o.Raw = nil
			}
		}
	}
	for i := range a.Choices {
		slices.SortStableFunc(a.Choices[i].Content, func(p, q llm.Part) int { return opaque(&p) - opaque(&q) })
	}
	return a
}

func opaque(p *llm.Part) int {
	if p.Kind == llm.Opaque {
		return 1
	}
	return 0
}

// Every recorded stream says the same as the response object at its end, and has its usage and its finish.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	for name, stream := range recorded(t, ".sse") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := events(t, stream)
			var p wire.Progress
			for i, e := range data {
				ev := Responses{}.JudgeEvent(e, &p)
				if ev.Fault != nil || ev.Malformed {
					t.Fatalf("event %d: %+v", i, ev)
				}
				if ev.End != (string(e) == "[DONE]") {
					t.Errorf("event %d: End is %v", i, ev.End)
				}
				if !ev.End && len(ev.Name) == 0 {
					t.Errorf("event %d has no name", i)
				}
				if p.SawFinish && !ev.Finish && !ev.End {
					t.Errorf("event %d comes after the finish: %s", i, e)
				}
			}
			if !p.SawContent || !p.SawFinish || p.OpenTool || p.ID == "" || p.Reply.Model == "" || !p.Reply.Usage.Known {
				t.Errorf("progress at the end: %+v", p)
			}
			if got := (Responses{}).AppendEnd(nil, &p); len(got) > 0 {
				t.Errorf("AppendEnd adds %s", got)
			}

			got := decoded(t, data)
			testkit.Golden(t, "golden/"+name+".reply.txt", []byte(described(got)))
			whole, err := Responses{}.ReplyFromStream(stream)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Responses{}.DecodeReply(whole)
			if err != nil {
				t.Fatal(err)
			}
			if got.Usage != p.Reply.Usage {
				t.Errorf("usage %+v, judged as %+v", got.Usage, p.Reply.Usage)
			}
			want.ServiceTier, got.ServiceTier = "", "" // the start says auto, the end what it was
			if diff := cmp.Diff(unsealed(want), unsealed(got)); diff != "" {
				t.Errorf("the events do not say what the response at their end does:\n%s", diff)
			}
		})
	}
}

// A stream that is cut after any event but the last is no whole answer.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	for name, stream := range recorded(t, ".sse") {
		data := events(t, stream)
		last := len(data) - 1
		if string(data[last]) == "[DONE]" {
			last--
		}
		var p wire.Progress
		for i, e := range data[:last] {
			Responses{}.JudgeEvent(e, &p)
			if p.SawFinish {
				t.Errorf("%s is taken for finished after event %d of %d", name, i+1, len(data))
			}
		}
		var cut []byte
		for _, e := range data[:last] {
			cut = wire.AppendEvent(cut, nil, e)
		}
		if _, err := (Responses{}).ReplyFromStream(cut); err == nil {
			t.Errorf("%s, cut before its end, makes a reply", name)
		}
	}
}

// Plain replies are judged good, and are the same after becoming a stream and back (R17).
func TestRecordedReplies(t *testing.T) {
	t.Parallel()
	g := newGrammar(t)
	for name, body := range recorded(t, ".json") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, f := Responses{}.Judge(body)
			if f != nil {
				t.Fatal(f)
			}
			a, err := Responses{}.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Model == "" || reply.ID != a.ID || reply.Finish != "completed" || reply.Usage != a.Usage || !a.Usage.Known {
				t.Errorf("judged as %+v", reply)
			}
			testkit.Golden(t, "golden/"+name+".reply.txt", []byte(described(a)))

			stream, err := Responses{}.StreamFromReply(body, false)
			if err != nil {
				t.Fatal(err)
			}
			g.check(t, stream)
			again, err := Responses{}.ReplyFromStream(stream)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(normal(t, body), normal(t, again)); diff != "" {
				t.Errorf("not the same as a stream and back:\n%s", diff)
			}
			if diff := cmp.Diff(a, decoded(t, events(t, stream))); diff != "" {
				t.Errorf("the stream says something else:\n%s", diff)
			}
		})
	}
}

// What was decoded can be said again: the same answer comes out, in a stream and in a plain reply.
func TestSaidAgain(t *testing.T) {
	t.Parallel()
	g := newGrammar(t)
	for name, stream := range recorded(t, ".sse") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := events(t, stream)
			want := decoded(t, data)
			q := request(t, `{"model":"m","input":"x"}`)
			out := translated(t, data, q)
			g.check(t, out)
			got := decoded(t, events(t, out))
			plain := Responses{}.AppendReply(nil, want, q)
			again, err := Responses{}.DecodeReply(plain)
			if err != nil {
				t.Fatalf("%v: %s", err, plain)
			}
			for _, a := range []*llm.Reply{want, got, again} { // ids are our own, adjoining texts and thoughts are items of their own
				a.ID, a.ServiceTier = "", ""
				for i := range a.Choices[0].Content {
					if s := a.Choices[0].Content[i].Seal; s != nil {
						s.ID = ""
					}
				}
			}
			ignore := cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "Citations") }, cmp.Ignore())
			if diff := cmp.Diff(want, got, ignore); diff != "" {
				t.Errorf("the stream:\n%s", diff)
			}
			if diff := cmp.Diff(want, again, ignore); diff != "" {
				t.Errorf("the plain reply:\n%s", diff)
			}
			if _, f := (Responses{}).Judge(plain); f != nil {
				t.Error(f)
			}
		})
	}
}

// What clients sent is understood and can be sent on; what is lost is named.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	for name, body := range recorded(t, ".request.json") {
		r, err := Responses{}.ReadRequest(body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		q, err := Responses{}.DecodeRequest(&r)
		if strings.Contains(name, "previous-response") {
			if err == nil || err.(*wire.RequestError).Param != "previous_response_id" { //nolint:errorlint // it is one
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		target := wire.Target{Model: r.Model, Vendor: llm.OpenAI}
		out := indented(t, []byte(encoded(t, q, target)))
		names, err := json.Marshal(q.Dropped.Names())
		if err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "golden/"+name+".request.txt", []byte(out+"\ndropped: "+string(names)+"\n"))
	}
}

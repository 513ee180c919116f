package gemini

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

// TestStreams reads every recorded stream, tells what it says in words (golden), says it again as a Gemini client gets
// it, and reads that: nothing may have changed.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, "streams/*.sse") {
		t.Run(path.Base(name), func(t *testing.T) {
			t.Parallel()
			stream := read(t, name)
			data := events(t, stream)
			var p wire.Progress
			for _, e := range data {
				ev := Generate{}.JudgeEvent(e, &p)
				if ev.Fault != nil || ev.Malformed || ev.End {
					t.Fatalf("%s: %+v", e, ev)
				}
			}
			if !p.SawContent || !p.SawFinish {
				t.Fatalf("progress %+v", p)
			}
			a := decodeStream(t, data)
			testkit.Golden(t, "golden/"+path.Base(name)+".txt", []byte(say(a)))
			if a.Usage != p.Reply.Usage || a.Model != p.Reply.Model || a.ID != p.ID {
				t.Errorf("the fast path read %+v %s, the slow one %+v %s", p.Reply, p.ID, a.Usage, a.ID)
			}
			again(t, a)

			folded, err := Generate{}.ReplyFromStream(stream)
			if err != nil {
				t.Fatal(err)
			}
			checkUnlessVertex(t, name, folded)
			b, err := Generate{}.DecodeReply(folded)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(say(a), say(b)); d != "" {
				t.Errorf("folded first: %s", d)
			}
		})
	}
}

func checkUnlessVertex(t *testing.T, name string, body []byte) {
	t.Helper()
	if !strings.Contains(name, "vertex") { // whose replies have more members
		checkType(t, "GenerateContentResponse", body)
	}
}

// again says a reply to a Gemini client, plain and streamed, and reads what it was told.
func again(t *testing.T, a *llm.Reply) {
	t.Helper()
	q := &llm.Request{Model: "m", Dropped: &llm.Dropped{}}
	want := *a
	want.Created = 0 // no place
	if want.Model == "" {
		want.Model = q.Model
	}
	plain := Generate{}.AppendReply(nil, a, q)
	checkType(t, "GenerateContentResponse", plain)
	b, err := Generate{}.DecodeReply(plain)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(say(&want), say(b)); d != "" {
		t.Errorf("plain: %s", d)
	}
	stream := encodeStream(a, q)
	data := events(t, stream)
	for _, e := range data {
		checkType(t, "GenerateContentResponse", e)
	}
	c := decodeStream(t, data)
	if d := cmp.Diff(say(&want), say(c)); d != "" {
		t.Errorf("streamed: %s", d)
	}
	if names := q.Dropped.Names(); names != nil {
		t.Errorf("dropped %v", names)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, "replies/*.json") {
		if strings.Contains(name, "count-tokens") || strings.Contains(name, "blocked") {
			continue
		}
		t.Run(path.Base(name), func(t *testing.T) {
			t.Parallel()
			body := read(t, name)
			reply, f := Generate{}.Judge(body)
			if f != nil {
				t.Fatal(f)
			}
			a, err := Generate{}.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, "golden/"+path.Base(name)+".txt", []byte(say(a)))
			if a.Usage != reply.Usage || a.Model != reply.Model {
				t.Errorf("judged %+v, decoded %+v", reply, a.Usage)
			}
			again(t, a)
			stream, err := Generate{}.StreamFromReply(body, true)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(say(a), say(decodeStream(t, events(t, stream)))); d != "" {
				t.Error(d)
			}
			var p wire.Progress
			for _, e := range events(t, stream) {
				Generate{}.JudgeEvent(e, &p)
			}
			if !p.SawContent || !p.SawFinish {
				t.Errorf("as a stream: %+v", p)
			}
		})
	}
}

// Every recorded stream, cut before any event: never a short success.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, "streams/*.sse") {
		if strings.Contains(name, "vertex") { // says its finish in every event
			continue
		}
		data := events(t, read(t, name))
		for n := range data {
			var p wire.Progress
			var part []byte
			for _, e := range data[:n] {
				Generate{}.JudgeEvent(e, &p)
				part = append(append(append(part, "data: "...), e...), "\n\n"...)
			}
			if p.SawFinish {
				t.Errorf("%s: finished after %d of %d events", name, n, len(data))
			}
			var f *fault.Fault
			if _, err := (Generate{}).ReplyFromStream(part); !errors.As(err, &f) || f.Class != fault.Invalid {
				t.Errorf("%s: %d events fold: %v", name, n, err)
			}
		}
	}
}

// A stream without alt=sse is one JSON array.
func TestArrays(t *testing.T) {
	t.Parallel()
	body := read(t, "replies/text-stream-jsonarray-3.6-flash.json")
	all := elements(body)
	cut := append(append([]byte("["), all[0]...), ']')
	if _, f := (Generate{}).Judge(cut); f == nil || f.Class != fault.Invalid {
		t.Errorf("half an array is judged %v", f)
	}
	if _, f := (Generate{}).Judge(body[:len(body)-2]); f == nil {
		t.Error("a broken array is judged good")
	}
	folded, err := Generate{}.ReplyFromStream(body)
	if err != nil {
		t.Fatal(err)
	}
	checkType(t, "GenerateContentResponse", folded)
	if got := string(folded); !strings.Contains(got, `"Scoop"`) || strings.Count(got, `"thought":`) != 1 {
		t.Errorf("%s", got)
	}
}

package converse

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evergate/internal/llm"
)

// frames reads a recorded AWS event stream and gives the data of the events that a provider adapter makes of it.
func frames(t testing.TB, name string) (out []string) {
	t.Helper()
	b := read(t, "streams", name)
	for len(b) > 0 {
		total, headers := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
		kinds := map[string]string{}
		for h := b[12 : 12+headers]; len(h) > 0; {
			n := int(h[0])
			key := string(h[1 : 1+n])
			size := int(binary.BigEndian.Uint16(h[2+n:])) // all headers are strings
			kinds[key] = string(h[4+n : 4+n+size])
			h = h[4+n+size:]
		}
		payload := string(b[12+headers : total-4])
		if e := kinds[":exception-type"]; e != "" {
			out = append(out, `{"exception":"`+e+`",`+strings.TrimPrefix(payload, "{"))
		} else {
			out = append(out, `{"`+kinds[":event-type"]+`":`+payload+`}`)
		}
		b = b[total:]
	}
	return out
}

func read(t testing.TB, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// asSSE is the event stream that events make.
func asSSE(events []string) []byte {
	var b strings.Builder
	for _, e := range events {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"`), `"`)
		if name == "exception" {
			name = "error"
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, e)
	}
	return []byte(b.String())
}

// decodeAll runs events through the decoder and llm.Order, and gives a line for each event that comes out, and the
// reply that they fold to.
func decodeAll(t testing.TB, events []string) (lines string, reply *llm.Reply) {
	t.Helper()
	d := Converse{}.NewDecoder()
	var order llm.Order
	var fold llm.Fold
	var b strings.Builder
	say := func(e *llm.Event) {
		b.WriteString(line(e))
		fold.Put(e)
	}
	put := func(e *llm.Event) { order.Put(e, say) }
	for _, e := range events {
		if err := d.Decode([]byte(e), put); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
	}
	d.End(put)
	order.End(say)
	return b.String(), fold.Reply()
}

func line(e *llm.Event) string {
	switch e.Kind {
	case llm.Start:
		return "start\n"
	case llm.PartStart:
		s := fmt.Sprintf("part %d: kind %d", e.Part, e.Head.Kind)
		if e.Head.Call != nil {
			s += fmt.Sprintf(" call %q %q", e.Head.Call.ID, e.Head.Call.Name)
		}
		return s + "\n"
	case llm.Delta:
		return fmt.Sprintf("  %d %q\n", e.Part, e.Text)
	case llm.Sealing:
		return fmt.Sprintf("  %d seal %s %d %q\n", e.Part, e.Seal.Vendor, e.Seal.Kind, e.Seal.Data)
	case llm.Cited:
		return fmt.Sprintf("  %d cited %+v\n", e.Part, *e.Citation)
	case llm.PartStop:
		return fmt.Sprintf("stop %d\n", e.Part)
	case llm.Finish:
		return fmt.Sprintf("finish %d %q\n", e.Stop, e.StopText)
	case llm.Used:
		return fmt.Sprintf("usage %+v\n", e.Usage)
	case llm.Probs, llm.Alive:
	}
	return "other\n"
}

package attempt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawn is an upstream's stream as it was made up, and what a client must make of it.
type drawn struct {
	raw     strings.Builder
	want    []string // the data of each event, compacted
	dropped int
	ending  string // ok, cut short, failed
	broken  bool   // the read ends in an error and not in io.EOF
	usage   bool   // the upstream counted
}

// compact is JSON without white space; what is no JSON stays as it is.
func compact(data string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(data)) != nil {
		return data
	}
	return b.String()
}

// clientEvents reads a stream as a strict and simple client does: lines that end in LF, data in lines that begin with
// "data: ", an event for each blank line. Only comments may stand between.
func clientEvents(stream string) (events []string, trouble string) {
	var data []string
	for line := range strings.Lines(stream) {
		line, whole := strings.CutSuffix(line, "\n")
		value, isData := strings.CutPrefix(line, "data: ")
		switch {
		case !whole:
			return events, "half a line: " + line
		case line == "" && data != nil:
			events = append(events, compact(strings.Join(data, "\n")))
			data = nil
		case isData:
			data = append(data, value)
		case line == "", line[0] == ':':
		default:
			return events, "a line that is neither: " + line
		}
	}
	if data != nil {
		return events, "an event without its blank line"
	}
	return events, ""
}

// draw makes up a stream: events of all kinds in all the ways that upstreams write them, and one of the endings.
func draw(t *rapid.T, withhold bool) *drawn {
	d := &drawn{}
	if rapid.IntRange(0, 9).Draw(t, "mark") == 0 {
		d.raw.WriteString("\ufeff")
	}
	eol := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r"}).Draw(t, "line end")
	write := func(data string) {
		prefix := rapid.SampledFrom([]string{"data: ", "data: ", "data:", "event: message" + eol + "data: ", "id: 7" + eol + "data: "}).Draw(t, "prefix")
		if n := strings.Index(data, `, "`); n > 0 && rapid.IntRange(0, 4).Draw(t, "lines") == 0 {
			data = data[:n+1] + eol + "data: " + data[n+2:]
		}
		d.raw.WriteString(prefix + data + eol + eol)
	}
	event := func(data string) {
		write(data)
		d.want = append(d.want, compact(data))
	}
	huge := false
	begun, open, finished := false, map[int]bool{}, map[int]bool{}
	choice := func() int {
		n := rapid.IntRange(0, 1).Draw(t, "choice")
		open[n] = true
		return n
	}
	text := func() string {
		size := rapid.SampledFrom([]int{1, 1, 1, 5, 40, 700, 5000}).Draw(t, "size")
		if !huge && rapid.IntRange(0, 50).Draw(t, "huge") == 37 {
			huge, size = true, 1_500_000
		}
		letter := rapid.SampledFrom([]string{"x", "é", `\n`, `\"`, "data: "}).Draw(t, "letter")
		return strings.Repeat(letter, max(size/len(letter), 1))
	}
	if rapid.Bool().Draw(t, "role") {
		event(`{"id":"x", "choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`)
		open[0] = true
	}
	tool := false
	openTool := func() bool {
		for n := range open {
			if !finished[n] {
				return tool
			}
		}
		return false
	}
	for range rapid.IntRange(0, 12).Draw(t, "events") {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			d.raw.WriteString(rapid.SampledFrom([]string{": ping", ":", "event: ping", "data:", "data:  ", ": data: {}"}).Draw(t, "comment") + eol + eol)
		case 1:
			if !openTool() {
				write(rapid.SampledFrom([]string{`{"choices":[`, "[1", "none", `"text"`, "12"}).Draw(t, "malformed"))
				d.dropped++
			}
		case 2:
			event(fmt.Sprintf(`{"choices":[{"index":%d,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}], "n":1}`, choice()))
			begun, tool = true, true
		case 3:
			write(`{"choices":[], "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`)
			if !withhold {
				d.want = append(d.want, compact(`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`))
			}
			d.usage = true
		default:
			event(fmt.Sprintf(`{"choices":[{"index":%d,"delta":{"content":"%s"}}], "n":%d}`, choice(), text(), len(d.want)))
			begun = true
		}
	}
	d.end(t, event, begun, tool, open, finished)
	return d
}

// end draws how the stream ends.
func (d *drawn) end(t *rapid.T, event func(string), begun, tool bool, open, finished map[int]bool) {
	finish := func() {
		open[0] = true
		for n := range 2 {
			if open[n] {
				event(fmt.Sprintf(`{"choices":[{"index":%d,"delta":{}, "finish_reason":"stop"}]}`, n))
				finished[n] = true
			}
		}
	}
	marker := func() {
		d.raw.WriteString("data: [DONE]" + rapid.SampledFrom([]string{"\n\n", "\r\n\r\n", "\n", ""}).Draw(t, "marker"))
	}
	d.ending = "ok"
	switch rapid.SampledFrom([]string{"whole", "no marker", "no finish", "neither", "cut", "error", "cut after finish"}).Draw(t, "ending") {
	case "whole":
		finish()
		marker()
	case "no marker":
		finish()
	case "no finish":
		marker()
		if !begun {
			d.ending = "failed"
			break
		}
		var missing []string
		for _, n := range slices.Sorted(func(yield func(int) bool) {
			for n := range open {
				if !yield(n) {
					return
				}
			}
		}) {
			missing = append(missing, fmt.Sprint(n))
		}
		reason := map[bool]string{true: "tool_calls", false: "stop"}[tool]
		d.want = append(d.want, "finish "+strings.Join(missing, ",")+" "+reason)
	case "neither":
		d.ending = map[bool]string{true: "cut short", false: "failed"}[begun]
	case "cut":
		d.raw.WriteString(`data: {"choices":[{"index":0,"del`)
		d.broken = true
		d.ending = map[bool]string{true: "cut short", false: "failed"}[begun]
	case "error":
		d.raw.WriteString("data: {\"error\":{\"message\":\"no\"}}\n\n")
		d.raw.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"late\"}}]}\n\n")
		d.ending = map[bool]string{true: "cut short", false: "failed"}[begun]
	case "cut after finish":
		finish()
		d.raw.WriteString(`data: {"choices":[{"index":0,"del`)
		d.broken = true
	}
	if d.ending == "ok" {
		d.want = append(d.want, "[DONE]")
	}
}

// pieces cuts a stream at drawn places.
func (d *drawn) pieces(t *rapid.T) []piece {
	rest := d.raw.String()
	var out []piece
	size := rapid.SampledFrom([]int{1, 3, 20, 300, 2000, 70_000}).Draw(t, "piece")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "cuts"), 0)) // a draw for each cut would take seconds
	for len(rest) > 0 {
		n := 1 + rng.IntN(2*size)
		if len(rest) > 100*size { // a huge frame is cut finely at its beginning alone
			n = len(rest) - 50*size
		}
		n = min(n, len(rest))
		out = append(out, say(rest[:n]))
		rest = rest[n:]
	}
	if d.broken {
		out = append(out, piece{err: io.ErrUnexpectedEOF})
	}
	return out
}

// R14-R17, decisions 2 and 8: whatever an upstream writes, however it is cut into reads, the client gets each sound
// event once, in order, in a form that every client reads, and the end that it deserves.
func TestRelayIsBlindToCuts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		withhold := rapid.Bool().Draw(rt, "withhold")
		d := draw(rt, withhold)
		b := newBench(t, nil, &upstream{usage: withhold, scripts: []scripted{{body: d.pieces(rt)}}})
		c := &client{}
		r := b.ask(t.Context(), c)
		got, trouble := clientEvents(c.got.String())
		if trouble != "" {
			rt.Fatalf("the client reads %s\nupstream wrote %.3000q\nclient got %.3000q", trouble, d.raw.String(), c.got.String())
		}
		if ending, _, _ := strings.Cut(story(r), ":"); ending != d.ending {
			rt.Fatalf("it ended as %s, want %s\nupstream wrote %.3000q\nclient got %.3000q", story(r), d.ending, d.raw.String(), c.got.String())
		}
		if d.ending == "failed" {
			if c.head != nil || c.got.Len() > 0 {
				rt.Fatalf("the client got %q although there was no answer", c.got.String())
			}
			return
		}
		for i, e := range got {
			if strings.Contains(e, `"finish_reason":`) && strings.Contains(e, `"created":`) { // one that was added
				got[i] = added(e)
			}
		}
		if diff := cmp.Diff(d.want, got); diff != "" {
			rt.Fatalf("(-want +got) %.3000s\nupstream wrote %.3000q", diff, d.raw.String())
		}
		if r.Dropped != d.dropped {
			rt.Fatalf("%d malformed events counted, want %d", r.Dropped, d.dropped)
		}
		if r.Reply.Usage.Known != d.usage {
			rt.Fatalf("usage %+v, the upstream counted: %t", r.Reply.Usage, d.usage)
		}
		if c.head == nil || !c.head.Stream || c.answering != 1 {
			rt.Fatalf("head %+v after %d announcements", c.head, c.answering)
		}
	})
}

// added says an event that the gateway added in the words of drawn.want.
func added(event string) string {
	var e struct {
		Choices []struct {
			Index        int
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(event), &e); err != nil {
		return err.Error()
	}
	var choices []string
	reason := ""
	for _, c := range e.Choices {
		choices = append(choices, fmt.Sprint(c.Index))
		reason = c.FinishReason
	}
	return "finish " + strings.Join(choices, ",") + " " + reason
}

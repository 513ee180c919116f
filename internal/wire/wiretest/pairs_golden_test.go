package wiretest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evergate/internal/testkit"
	"evergate/internal/wire"
)

// TestPairs writes down, for each conversation, client and upstream, what is sent, what is lost, and what the client
// gets, whole and as a stream. What is in the files was read by people; see testdata/README.md.
func TestPairs(t *testing.T) {
	t.Parallel()
	everyPair(t, func(t *testing.T, c *conversation, from *client, to *upstream) {
		first, again := story(t, c, from, to), story(t, c, from, to)
		if !bytes.Equal(first, again) {
			t.Fatalf("not the same again:\n%s\n%s", first, again)
		}
		testkit.Golden(t, filepath.Join("pairs", c.name, from.name+"-"+to.name+".txt"), first)
	})
}

// everyPair runs f for each conversation, client and upstream.
func everyPair(t *testing.T, f func(t *testing.T, c *conversation, from *client, to *upstream)) {
	for _, c := range conversations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, from := range clients() {
				for _, to := range upstreams() {
					t.Run(from.name+"-"+to.name, func(t *testing.T) { f(t, &c, &from, &to) })
				}
			}
		})
	}
}

// story tells one conversation between a client and an upstream.
func story(t *testing.T, c *conversation, from *client, to *upstream) []byte {
	t.Helper()
	var b bytes.Buffer
	model, body := to.asked(c), request(t, c, from)
	fmt.Fprintf(&b, "%s: a client of %s asks %s for %s\n\n== request\n", c.name, from.name, to.name, model)
	whole, err := ask(t, from, to, model, body, false)
	if err != nil {
		var re *wire.RequestError
		if !errors.As(err, &re) {
			t.Fatalf("%T: %v", err, err)
		}
		fmt.Fprintf(&b, "cannot be asked: %s (%s)\n", re.Message, re.Param)
		return b.Bytes()
	}
	streamed, err := ask(t, from, to, model, body, true)
	if err != nil {
		t.Fatal(err)
	}
	pretty(t, &b, whole.sent)
	fmt.Fprintf(&b, "streamed: %s\n", difference(t, whole.sent, streamed.sent))
	asked := slices.Clone(whole.dropped())
	fmt.Fprintf(&b, "\n== dropped\n%s\n", list(asked))

	plain, stream, ok := replyOf(t, c, to)
	if !ok {
		fmt.Fprintf(&b, "\n== reply\n%s has no such answer\n", to.name)
		return b.Bytes()
	}
	reply, f, err := whole.plain(plain)
	if err != nil {
		t.Fatal(err)
	}
	said, err := streamed.relay(stream)
	if err != nil {
		t.Fatal(err)
	}
	if !c.first() {
		fmt.Fprintf(&b, "\n== reply\nas in %s\n", c.reply)
		return b.Bytes()
	}
	b.WriteString("\n== reply\n")
	if f != nil {
		fmt.Fprintf(&b, "fault: %s %s: %s\n", f.Class, f.Code, f.Message)
	} else {
		pretty(t, &b, reply)
	}
	b.WriteString("\n== stream\n")
	b.Write(bytes.TrimSuffix(said.bytes, []byte("\n")))
	if said.fault != nil {
		fmt.Fprintf(&b, "fault: %s %s: %s\n", said.fault.Class, said.fault.Code, said.fault.Message)
	}
	for _, d := range []struct {
		of    string
		names []string
	}{{"reply", whole.dropped()}, {"stream", streamed.dropped()}} {
		if more := d.names[len(asked):]; len(more) > 0 {
			fmt.Fprintf(&b, "\n== dropped of the %s\n%s\n", d.of, list(more))
		}
	}
	return b.Bytes()
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// pretty writes JSON for people; key order and numbers stay.
func pretty(t *testing.T, b *bytes.Buffer, data []byte) {
	t.Helper()
	if err := json.Indent(b, bytes.TrimSpace(data), "", "  "); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	b.WriteByte('\n')
}

// difference says which members a streamed request has otherwise than the plain one.
func difference(t *testing.T, plain, streamed []byte) string {
	t.Helper()
	var a, b map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(plain, &a), json.Unmarshal(streamed, &b)); err != nil {
		t.Fatal(err)
	}
	var out []string
	for k, v := range b {
		if !bytes.Equal(v, a[k]) {
			out = append(out, fmt.Sprintf("%q:%s", k, v))
		}
	}
	for k := range a {
		if _, ok := b[k]; !ok {
			out = append(out, "without "+k)
		}
	}
	if len(out) == 0 {
		return "the same"
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

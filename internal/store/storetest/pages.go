package storetest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"time"

	"evergate/internal/replica"
)

const guards replica.Topic = "guards"

// page gives a page of topic guards.
func page(instance, key string, sequence uint64, body string) replica.Page {
	return replica.Page{Instance: instance, Topic: guards, Key: key, Sequence: sequence, Body: []byte(body)}
}

// same says whether two pages are one, but for the time that the store gave.
func same(a, b replica.Page) bool {
	return a.Instance == b.Instance && a.Topic == b.Topic && a.Key == b.Key && a.Sequence == b.Sequence && bytes.Equal(a.Body, b.Body)
}

// tell says pages in few words.
func tell(pages []replica.Page) string {
	var out strings.Builder
	for _, p := range pages {
		fmt.Fprintf(&out, "\n  %.40q %.40q %.40q #%d at %s: %d bytes %.40q", p.Instance, p.Topic, p.Key, p.Sequence, p.At.Format(time.RFC3339Nano), len(p.Body), p.Body)
	}
	return out.String()
}

// noise gives n bytes that no compression makes smaller, the same ones each time.
func noise(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.New(rand.NewSource(int64(n))).Read(out) //nolint:gosec // bytes to look at, not secrets
	return out
}

var pageTests = []test{
	{name: "a page is read as it was put", run: func(t *trial) {
		put := page("a1", "openai", 7, `{"rows":[]}`)
		t.put(put)
		if got := t.only(guards); !same(got, put) {
			t.Errorf("got %s", tell([]replica.Page{got}))
		}
	}},
	{name: "a peer reads it", run: func(t *trial) {
		put := page("a1", "openai", 7, "x")
		t.putTo(t.peer(), put)
		if got := t.only(guards); !same(got, put) {
			t.Errorf("got %s", tell([]replica.Page{got}))
		}
	}},
	{name: "the page of sequence 0 stands where none was", run: func(t *trial) {
		t.put(page("a1", "openai", 0, "x"))
		if got := t.only(guards); got.Sequence != 0 || string(got.Body) != "x" {
			t.Errorf("got %s", tell([]replica.Page{got}))
		}
	}},
	{name: "a higher sequence takes the place", run: func(t *trial) {
		t.put(page("a1", "openai", 1, "old"))
		first := t.only(guards)
		t.tick()
		t.put(page("a1", "openai", 2, "new"))
		got := t.only(guards)
		if got.Sequence != 2 || string(got.Body) != "new" {
			t.Errorf("got %s", tell([]replica.Page{got}))
		}
		if !got.At.After(first.At) {
			t.Errorf("put at %v, the one before at %v", got.At, first.At)
		}
	}},
	{name: "an equal or lower sequence is passed over", run: func(t *trial) {
		t.put(page("a1", "openai", 5, "stands"))
		first := t.only(guards)
		t.tick()
		for _, sequence := range []uint64{5, 4, 0} {
			t.put(page("a1", "openai", sequence, "late"))
			got := t.only(guards)
			if !same(got, first) || !got.At.Equal(first.At) {
				t.Errorf("after sequence %d: got %s, want %s", sequence, tell([]replica.Page{got}), tell([]replica.Page{first}))
			}
		}
	}},
	{name: "a page passed over leaves the others of its put", run: func(t *trial) {
		t.put(page("a1", "openai", 5, "stands"))
		t.put(page("a1", "openai", 4, "late"), page("a1", "anthropic", 1, "other"))
		got := map[string]string{}
		for _, p := range t.read(guards, time.Time{}, 0) {
			got[p.Key] = string(p.Body)
		}
		if len(got) != 2 || got["openai"] != "stands" || got["anthropic"] != "other" {
			t.Errorf("got %v", got)
		}
	}},
	{name: "sequences are compared as whole 64-bit numbers", run: func(t *trial) {
		// Each next one is higher by little: as text, as a double or as a signed number it would be lower or equal.
		for i, sequence := range []uint64{9, 10, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64} {
			body := fmt.Sprint(i)
			t.put(page("a1", "openai", sequence, body))
			if got := t.only(guards); got.Sequence != sequence || string(got.Body) != body {
				t.Errorf("after sequence %d: got %s", sequence, tell([]replica.Page{got}))
			}
		}
		for _, sequence := range []uint64{math.MaxUint64 - 1, 1 << 63, 1<<63 - 1, 1} {
			t.put(page("a1", "openai", sequence, "late"))
			if got := t.only(guards); got.Sequence != math.MaxUint64 {
				t.Errorf("sequence %d took the place of the highest", sequence)
			}
		}
	}},
	{name: "of one page twice in a put the higher sequence stands", run: func(t *trial) {
		t.put(page("a1", "openai", 1, "one"), page("a1", "openai", 3, "three"), page("a1", "openai", 2, "two"))
		if got := t.only(guards); string(got.Body) != "three" {
			t.Errorf("got %s", tell([]replica.Page{got}))
		}
	}},
	{name: "instance, topic and key tell pages apart", run: func(t *trial) {
		other := page("a1", "k", 1, "4")
		other.Topic = "latency"
		t.put(page("a1", "k", 1, "1"), page("b2", "k", 1, "2"), page("a1", "k2", 1, "3"), page("", "k", 1, "5"),
			page("a1k", "", 1, "6"), page("a", "1k", 1, "7"), other)
		if got := t.read(guards, time.Time{}, 0); len(got) != 6 {
			t.Errorf("guards: %s", tell(got))
		}
		if got := t.only("latency"); string(got.Body) != "4" {
			t.Errorf("latency: %s", tell([]replica.Page{got}))
		}
	}},
	{name: "no pages are no error", run: func(t *trial) {
		t.put()
		if got := t.read(guards, time.Time{}, 0); len(got) != 0 {
			t.Errorf("got %s", tell(got))
		}
	}},
	{name: "a quiet page is read as another", run: func(t *trial) {
		quiet := page("a1", "openai", 1, "x")
		quiet.Quiet = true
		t.put(quiet)
		if got := t.only(guards); !same(got, quiet) || got.Quiet {
			t.Errorf("got %s, quiet %t", tell([]replica.Page{got}), got.Quiet)
		}
	}},
	{name: "an empty body", run: func(t *trial) {
		t.put(page("a1", "openai", 1, "was something"))
		t.put(replica.Page{Instance: "a1", Topic: guards, Key: "openai", Sequence: 2})
		if got := t.only(guards); got.Sequence != 2 || len(got.Body) != 0 {
			t.Errorf("got %s", tell([]replica.Page{got}))
		}
	}},
	{name: "a body of every byte", run: func(t *trial) {
		body := make([]byte, 256)
		for i := range body {
			body[i] = byte(i)
		}
		t.put(page("a1", "openai", 1, string(body)))
		if got := t.only(guards); !bytes.Equal(got.Body, body) {
			t.Errorf("got %q", got.Body)
		}
	}},
	{name: "a body of MaxBody", run: func(t *trial) {
		body := noise(replica.MaxBody)
		t.put(page("a1", "openai", 1, string(body)))
		if got := t.only(guards); !bytes.Equal(got.Body, body) {
			t.Errorf("got %d bytes, want the %d that were put", len(got.Body), len(body))
		}
	}},
	{name: "a longer body is an error and not kept", run: func(t *trial) {
		body := noise(replica.MaxBody + 1)
		if err := t.store.Put(t.ctx(), []replica.Page{page("a1", "openai", 1, string(body))}); err == nil {
			t.Error("no error")
		}
		if got := t.read(guards, time.Time{}, 0); len(got) != 0 {
			t.Errorf("got %s", tell(got))
		}
		t.put(page("a1", "openai", 1, "shorter"))
	}},
	{name: "hundreds of pages in a put", run: func(t *trial) {
		pages := make([]replica.Page, 500)
		for i := range pages {
			pages[i] = page("a1", fmt.Sprintf("provider-%03d", i), 1, strings.Repeat("x", 200))
		}
		t.put(pages...)
		if got := t.read(guards, time.Time{}, 0); len(got) != len(pages) {
			t.Errorf("%d pages, want %d", len(got), len(pages))
		}
	}},
	{name: "what was put is the store's own", run: func(t *trial) {
		body := []byte("as it was")
		t.put(replica.Page{Instance: "a1", Topic: guards, Key: "k", Sequence: 1, Body: body})
		copy(body, "otherwise")
		first := t.only(guards)
		if string(first.Body) != "as it was" {
			t.Fatalf("the putter changed it to %q", first.Body)
		}
		copy(first.Body, "otherwise")
		if got := t.only(guards); string(got.Body) != "as it was" {
			t.Errorf("a reader changed it to %q", got.Body)
		}
	}},
}

var stringTests = oddStrings()

func oddStrings() []test {
	kilobyte := string(bytes.Repeat([]byte("0123456789abcdef"), 64))
	out := []test{}
	for _, c := range []struct{ name, odd string }{
		{"empty", ""},
		{"a NUL", "a\x00b"},
		{"a NUL at the end", "a\x00"},
		{"UTF-8", "Größe 模型 🙂"},
		{"no UTF-8", "a\xff\xfe\xc3"},
		{"white space", " a\tb\r\nc "},
		{"quotes and signs", `'";--{}[]%?*:|\$1/../`},
		{"1 KB", kilobyte},
	} {
		out = append(out, test{name: c.name, run: func(t *trial) {
			asKey, asInstance := page("a1", c.odd, 1, "key"), page(c.odd, "k", 1, "instance")
			asTopic := page("a1", "k", 1, "topic")
			asTopic.Topic = replica.Topic("odd" + c.odd)
			near := page("a1", c.odd+"x", 1, "near")
			t.put(asKey, asInstance, asTopic, near)
			t.tick()
			asKey.Sequence, asKey.Body = 2, []byte("again")
			t.put(asKey)
			got := t.read(guards, time.Time{}, 0)
			if len(got) != 3 || !same(got[0], asKey) {
				t.Errorf("guards: %s", tell(got))
			}
			if got := t.only(asTopic.Topic); !same(got, asTopic) {
				t.Errorf("topic: %s", tell([]replica.Page{got}))
			}
			t.beat(replica.Member{ID: "m" + c.odd, Version: c.odd})
			if m := t.members(); len(m) != 1 || m[0].ID != "m"+c.odd || m[0].Version != c.odd {
				t.Errorf("members: %v", m)
			}
			lease, holder := "lease"+c.odd, "h"+c.odd
			if !t.claim(t.store, lease, holder, time.Minute) || t.claim(t.store, lease, "another", time.Minute) {
				t.Error("the lease is not exclusive")
			}
			t.yield(t.store, lease, holder)
			if !t.claim(t.store, lease, "another", time.Minute) {
				t.Error("the lease was not handed back")
			}
		}})
	}
	return out
}

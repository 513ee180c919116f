package replies

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func keyOf(words ...string) Key {
	k := NewKey()
	k.Words(words...)
	return k.Key()
}

func limited(size, entry int64) *Cache {
	c := &Cache{}
	c.Limit(Limits{Bytes: size, Entry: entry})
	return c
}

// Two lists of words that read alike when joined are two keys.
func TestKeysAreToldApart(t *testing.T) {
	t.Parallel()
	seen := map[Key]string{}
	for _, words := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"b", "a"}, {"a\x00b"}, {"ab", ""}, {"", "ab"}} {
		k := keyOf(words...)
		if before, ok := seen[k]; ok {
			t.Errorf("%q and %s have one key", words, before)
		}
		seen[k] = fmt.Sprintf("%q", words)
	}
	a, b := NewKey(), NewKey()
	a.Words("x")
	a.Words("y")
	b.Words("x", "y")
	if a.Key() == b.Key() {
		t.Error("two lists and one have one key")
	}
}

// An answer is given until its time is up, to the nanosecond, and not if it is older than who asks allows.
func TestAge(t *testing.T) {
	t.Parallel()
	const ttl = time.Hour
	for _, tt := range []struct {
		name   string
		after  time.Duration
		newest time.Duration
		found  bool
	}{
		{"at once", 0, 0, true},
		{"a moment before the end", ttl - 1, 0, true},
		{"at the end", ttl, 0, false},
		{"young enough", time.Minute, time.Minute, true},
		{"too old for who asks", time.Minute + 1, time.Minute, false},
	} {
		c := limited(1<<20, 1<<10)
		c.Put(keyOf("a"), &Reply{Body: []byte("x"), At: noon}, ttl)
		if got := c.Get(noon.Add(tt.after), keyOf("a"), tt.newest); (got != nil) != tt.found {
			t.Errorf("%s: found is %t", tt.name, got != nil)
		}
		left := 1
		if tt.after >= ttl { // it is taken away as it is found
			left = 0
		}
		if s := c.Stats(); s.Entries != left {
			t.Errorf("%s: %d are left", tt.name, s.Entries)
		}
	}
}

// Where there is no room the one unused for longest goes; one that is longer than the limit is not kept.
func TestRoom(t *testing.T) {
	t.Parallel()
	const entry = 1000
	c := limited(4*(entry+overhead), entry) // one part
	for _, k := range []string{"a", "b", "c", "d"} {
		c.Put(keyOf(k), &Reply{Body: make([]byte, entry), At: noon}, time.Hour)
	}
	c.Get(noon, keyOf("a"), 0)
	c.Put(keyOf("e"), &Reply{Body: make([]byte, entry), At: noon}, time.Hour)
	c.Put(keyOf("long"), &Reply{Body: make([]byte, entry+1), At: noon}, time.Hour)
	var have []string
	for _, k := range []string{"a", "b", "c", "d", "e", "long"} {
		if c.Get(noon, keyOf(k), 0) != nil {
			have = append(have, k)
		}
	}
	if got := strings.Join(have, " "); got != "a c d e" {
		t.Errorf("%s are left", got)
	}
	if s := c.Stats(); s.Entries != 4 || s.Bytes != 4*(entry+overhead) {
		t.Errorf("%+v", s)
	}
	c.Limit(Limits{Bytes: 2 * (entry + overhead), Entry: entry})
	if s := c.Stats(); s.Bytes > 2*(entry+overhead) {
		t.Errorf("after a lower limit %+v", s)
	}
	c.Limit(Limits{})
	if s := c.Stats(); s.Entries != 0 || c.Get(noon, keyOf("e"), 0) != nil {
		t.Errorf("with a limit of nothing %+v", s)
	}
}

// An answer that is too long to be kept takes the older one away, which it is the place of; and one can be taken away by itself.
func TestTheOlderOneGoes(t *testing.T) {
	t.Parallel()
	c := limited(100_000, 1000)
	for name, goes := range map[string]func(Key){
		"a longer answer": func(k Key) { c.Put(k, &Reply{Body: make([]byte, 1001), At: noon}, time.Hour) },
		"dropped":         c.Drop,
		"no time":         func(k Key) { c.Put(k, &Reply{At: noon}, 0) },
	} {
		k := keyOf(name)
		c.Put(k, &Reply{Body: []byte("older"), At: noon}, time.Hour)
		goes(k)
		c.Drop(keyOf("nobody's"))
		if c.Get(noon, k, 0) != nil || c.Stats().Bytes != 0 {
			t.Errorf("%s: the older one is there, %+v", name, c.Stats())
		}
	}
	(&Cache{}).Drop(keyOf("of a cache without room"))
}

func TestPurge(t *testing.T) {
	t.Parallel()
	c := limited(1<<20, 1<<10)
	for i := range 10 {
		c.Put(keyOf("x", fmt.Sprint(i)), &Reply{Model: "x", At: noon}, time.Hour)
		c.Put(keyOf("y", fmt.Sprint(i)), &Reply{Model: "y", At: noon}, time.Hour)
	}
	if n := c.Purge("x"); n != 10 || c.Get(noon, keyOf("x", "3"), 0) != nil || c.Get(noon, keyOf("y", "3"), 0) == nil {
		t.Errorf("%d of x were removed", n)
	}
	if n := c.Purge(""); n != 10 || c.Stats().Entries != 0 || c.Stats().Bytes != 0 {
		t.Errorf("then %d, which leaves %+v", n, c.Stats())
	}
}

// A draft gives back what was written, or nothing where it grew too long, or too much was under way; then its room is free again.
func TestDraft(t *testing.T) {
	t.Parallel()
	c := limited(8000, 1000)
	d := c.Draft()
	d.Expect(-1)
	for range 100 {
		d.Write([]byte("0123456789"))
	}
	if got := d.Body(); !bytes.Equal(got, bytes.Repeat([]byte("0123456789"), 100)) {
		t.Errorf("it has %d bytes", len(got))
	}
	for name, write := range map[string]func(*Draft){
		"too long":    func(d *Draft) { d.Write(make([]byte, 900)); d.Write(make([]byte, 101)) },
		"said to be":  func(d *Draft) { d.Expect(1001); d.Write([]byte("x")) },
		"dropped":     func(d *Draft) { d.Write([]byte("x")); d.Drop(); d.Write([]byte("y")) },
		"taken twice": func(d *Draft) { d.Write([]byte("x")); d.Body() },
	} {
		d := c.Draft()
		if write(&d); d.Body() != nil {
			t.Errorf("%s: there is a body", name)
		}
	}
	var crowd []Draft
	for range 5 {
		d := c.Draft()
		d.Write(make([]byte, 1000))
		crowd = append(crowd, d)
	}
	n := 0
	for i := range crowd {
		if crowd[i].Body() != nil {
			n++
		}
	}
	if n != 4 || c.drafts.Load() != 0 {
		t.Errorf("%d of a crowd were kept, and %d bytes are still taken", n, c.drafts.Load())
	}
	if d := new(Cache).Draft(); d.of != nil {
		t.Error("a cache without limits takes drafts")
	}
}

// Whatever is done, the bytes are those of what is kept, within the limit; what is found is what was put last and is not too old.
func TestCacheIsABoundedMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const size, entry = 20_000, 1000
		c := limited(size, entry)
		now := noon
		type twin struct {
			reply *Reply
			until time.Time
		}
		have := map[Key]twin{}
		key := func(t *rapid.T) Key { return keyOf(rapid.StringMatching("[a-f][0-9]?").Draw(t, "key")) }
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, r := key(t), &Reply{Model: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "model"), Body: make([]byte, rapid.IntRange(0, entry+10).Draw(t, "size")), At: now}
				ttl := time.Duration(rapid.IntRange(1, 100).Draw(t, "ttl")) * time.Second
				c.Put(k, r, ttl)
				if len(r.Body) <= entry {
					have[k] = twin{r, now.Add(ttl)}
				}
			},
			"get": func(t *rapid.T) {
				k := key(t)
				if r := c.Get(now, k, 0); r != nil && (r != have[k].reply || !now.Before(have[k].until)) {
					t.Fatalf("%x has %p, and %p was put last", k[:4], r, have[k].reply)
				}
			},
			"wait": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second) },
			"purge": func(t *rapid.T) {
				c.Purge("x")
				for k := range have {
					if have[k].reply.Model == "x" {
						delete(have, k)
					}
				}
			},
			"": func(t *rapid.T) {
				var bytes int64
				n := 0
				for i := range c.parts {
					p := &c.parts[i]
					for at := p.order.Front(); at != nil; at = at.Next() {
						bytes += at.Value.(*kept).reply.size()
						n++
					}
					if p.bytes < 0 || len(p.by) != p.order.Len() {
						t.Fatalf("part %d has %d bytes, %d by key and %d in order", i, p.bytes, len(p.by), p.order.Len())
					}
				}
				if s := c.Stats(); s.Bytes != bytes || s.Entries != n || s.Bytes > size {
					t.Fatalf("%+v, but %d bytes of %d", s, bytes, n)
				}
			},
		})
	})
}

func TestManyAtATime(t *testing.T) {
	t.Parallel()
	c := limited(1<<16, 1<<10)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 500 {
				k := keyOf(fmt.Sprint(j % 50))
				d := c.Draft()
				d.Write(make([]byte, j))
				if body := d.Body(); body != nil {
					c.Put(k, &Reply{Body: body, At: noon}, time.Hour)
				}
				c.Get(noon, k, 0)
				if j%100 == i {
					c.Purge("")
				}
			}
		})
	}
	all.Wait()
	if s := c.Stats(); s.Bytes > 1<<16 || c.drafts.Load() != 0 {
		t.Errorf("%+v, %d bytes of drafts", s, c.drafts.Load())
	}
}

func BenchmarkKey(b *testing.B) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 50<<10/16)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		k := NewKey()
		k.Bytes(body)
		k.Key()
	}
}

func BenchmarkGet(b *testing.B) {
	c := limited(1<<20, 1<<10)
	k := keyOf("a")
	c.Put(k, &Reply{Body: []byte("x"), At: noon}, time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		c.Get(noon, k, 0)
	}
}

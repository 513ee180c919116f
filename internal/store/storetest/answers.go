package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/threads"
)

// ArchiveOptions say in what an archive differs from others.
type ArchiveOptions struct {
	// Advance moves the store's clock on; nil: it is a real clock, and the suite waits.
	Advance func(d time.Duration)
}

// archived is one test of one archive.
type archived struct {
	*testing.T
	ArchiveOptions

	archive, peer threads.Archive
	room          threads.Room
}

// archiveRoom is what archives of the suite keep.
const archiveRoom = 1 << 20

// RunArchive holds an archive to its promises. open gives one that is empty, for each call another, and a second handle to the same answers;
// what it opens it closes when t ends.
func RunArchive(t *testing.T, open func(t *testing.T, room threads.Room) (one, peer threads.Archive), options ArchiveOptions) {
	t.Helper()
	for _, c := range archiveTests {
		t.Run(c.name, func(t *testing.T) {
			room := threads.Room{Bytes: archiveRoom}
			one, peer := open(t, room)
			c.run(&archived{T: t, ArchiveOptions: options, archive: one, peer: peer, room: room})
		})
	}
}

func (t *archived) ctx() context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

func (t *archived) put(life time.Duration, answers ...threads.Record) {
	t.Helper()
	if err := t.archive.Put(t.ctx(), life, answers); err != nil {
		t.Fatalf("put: %v", err)
	}
}

func (t *archived) get(owner, id string, turns, size int) []threads.Record {
	t.Helper()
	found, err := t.peer.Get(t.ctx(), owner, id, turns, size)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return found
}

// has says whether an answer is kept.
func (t *archived) has(owner, id string) bool {
	t.Helper()
	return len(t.get(owner, id, 1, 0)) == 1
}

func (t *archived) pass(d time.Duration) {
	t.Helper()
	(&trial{T: t.T, Options: Options{Advance: t.Advance}}).pass(d)
}

// turn is an answer of "ci" with a body of so many bytes.
func turn(id, previous string, size int) threads.Record {
	return threads.Record{Owner: "ci", ID: id, Previous: previous, Body: bytes.Repeat([]byte{'x'}, size)}
}

func names(found []threads.Record) (out []string) {
	for _, r := range found {
		out = append(out, r.ID)
	}
	return out
}

var archiveTests = []struct {
	name string
	run  func(t *archived)
}{
	{"what was put is got, byte for byte", func(t *archived) {
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		want := threads.Record{Owner: "ci", ID: "r1", Previous: "r0", Body: all}
		t.put(time.Hour, want, threads.Record{Owner: "ci", ID: "empty"})
		got := t.get("ci", "r1", 1, 0)
		if len(got) != 1 || got[0].Owner != "ci" || got[0].ID != "r1" || got[0].Previous != "r0" || !bytes.Equal(got[0].Body, all) {
			t.Errorf("got %+v", got)
		}
		if got := t.get("ci", "empty", 1, 0); len(got) != 1 || len(got[0].Body) != 0 {
			t.Errorf("an empty body: %+v", got)
		}
		if got := t.get("ci", "other", 10, 1000); len(got) != 0 {
			t.Errorf("what nobody put: %+v", got)
		}
	}},
	{"nobody reads another's", func(t *archived) {
		t.put(time.Hour, turn("r1", "", 1), threads.Record{Owner: "other", ID: "r2", Previous: "r1", Body: []byte("b")}, threads.Record{ID: "r3", Previous: "r1"})
		if t.has("other", "r1") || t.has("", "r1") || t.has("ci", "r2") || !t.has("ci", "r1") || !t.has("other", "r2") || !t.has("", "r3") {
			t.Error("owners are not apart")
		}
		if got := t.get("other", "r2", 10, 1000); len(got) != 1 {
			t.Errorf("a conversation goes on in another owner's: %v", names(got))
		}
		if err := t.archive.Delete(t.ctx(), "other", "r1"); err != nil || !t.has("ci", "r1") {
			t.Errorf("another deleted it: %v", err)
		}
		// Names that run into each other where they are only put together.
		t.put(time.Hour, threads.Record{Owner: "a", ID: "b:c"}, threads.Record{Owner: "a:b", ID: "d"})
		if t.has("a:b", "c") || t.has("a", "b:d") || !t.has("a", "b:c") {
			t.Error("names run into each other")
		}
	}},
	{"odd names", func(t *archived) {
		for _, s := range []string{"\x00", "a\x00b", "\xff\xfe", `\x61`, "ä☃", "a'b\"c%d_e", strings.Repeat("n", 512)} {
			t.put(time.Hour, threads.Record{Owner: s, ID: s, Previous: s + "p", Body: []byte("b")}, threads.Record{Owner: s, ID: s + "p"})
			if got := t.get(s, s, 5, 100); len(got) != 2 || got[0].ID != s || got[0].Previous != s+"p" || got[1].ID != s+"p" {
				t.Errorf("%.20q: %.100q", s, names(got))
			}
		}
	}},
	{"a later one takes its place", func(t *archived) {
		t.put(time.Hour, turn("r1", "r0", 10))
		t.put(time.Hour, turn("r1", "", 20))
		if got := t.get("ci", "r1", 1, 0); len(got) != 1 || len(got[0].Body) != 20 || got[0].Previous != "" {
			t.Errorf("got %+v", got)
		}
	}},
	{"a conversation in one call", func(t *archived) {
		for i := range 40 {
			previous := ""
			if i > 0 {
				previous = fmt.Sprint("r", i-1)
			}
			t.put(time.Hour, turn(fmt.Sprint("r", i), previous, 100))
		}
		if got := t.get("ci", "r39", 100, 1<<20); len(got) != 40 || got[0].ID != "r39" || got[39].ID != "r0" {
			t.Errorf("whole: %v", names(got))
		}
		if got := t.get("ci", "r39", 3, 1<<20); !slices.Equal(names(got), []string{"r39", "r38", "r37"}) {
			t.Errorf("three turns: %v", names(got))
		}
		if got := t.get("ci", "r39", 100, 250); len(got) < 1 || len(got) > 3 || got[0].ID != "r39" {
			t.Errorf("250 bytes: %v", names(got))
		}
		if got := t.get("ci", "r39", 1, 0); len(got) != 1 {
			t.Errorf("at least one: %v", names(got))
		}
		if err := t.archive.Delete(t.ctx(), "ci", "r20"); err != nil {
			t.Fatal(err)
		}
		if got := t.get("ci", "r39", 100, 1<<20); len(got) != 19 || got[18].ID != "r21" {
			t.Errorf("up to the hole: %v", names(got))
		}
	}},
	{"one that bites its tail", func(t *archived) {
		t.put(time.Hour, turn("r1", "r2", 1), turn("r2", "r1", 1))
		if got := t.get("ci", "r1", 7, 1<<20); len(got) > 7 || len(got) < 2 {
			t.Errorf("%v", names(got))
		}
	}},
	{"it ends", func(t *archived) {
		life := time.Second
		t.put(life, turn("r1", "", 1))
		t.put(time.Hour, turn("r2", "r1", 1))
		if !t.has("ci", "r1") {
			t.Error("gone too early")
		}
		t.pass(life + life/10)
		if t.has("ci", "r1") || !t.has("ci", "r2") || len(t.get("ci", "r2", 5, 100)) != 1 {
			t.Error("kept too long, or the wrong one is gone")
		}
		t.put(time.Hour)
		t.put(time.Hour, turn("r1", "", 1))
		if !t.has("ci", "r1") || !t.has("ci", "r2") {
			t.Error("not kept again, or another one went")
		}
	}},
	{"delete", func(t *archived) {
		t.put(time.Hour, turn("r1", "", 1))
		for range 2 {
			if err := t.peer.Delete(t.ctx(), "ci", "r1"); err != nil {
				t.Error(err)
			}
		}
		if t.has("ci", "r1") {
			t.Error("it is still there")
		}
	}},
	{"the oldest go where there is no room", func(t *archived) {
		const size = 40 << 10
		for i := range 60 {
			t.put(time.Hour, turn(fmt.Sprint("r", i), "", size))
		}
		kept := 0
		for i := range 60 {
			if t.has("ci", fmt.Sprint("r", i)) {
				kept++
				if i < 30 {
					t.Errorf("r%d is old and still there", i)
				}
			}
		}
		if most := archiveRoom / size; kept > most+1 || kept < most/2 {
			t.Errorf("%d are kept, there is room for %d", kept, most)
		}
		if !t.has("ci", "r59") {
			t.Error("the newest is gone")
		}
	}},
	{"what was deleted makes room, and so does what ended", func(t *archived) {
		const size = 40 << 10
		t.put(time.Hour, turn("stays", "", 1))
		for i := range 60 {
			id := fmt.Sprint("r", i)
			t.put(time.Hour, turn(id, "", size))
			t.put(time.Hour, turn(id, "", size)) // once more in its own place
			if err := t.archive.Delete(t.ctx(), "ci", id); err != nil {
				t.Fatal(err)
			}
		}
		if !t.has("ci", "stays") {
			t.Error("pushed out by what is gone")
		}
	}},
	{"how long one may be", func(t *archived) {
		if err := t.archive.Put(t.ctx(), time.Hour, []threads.Record{turn("r1", "", threads.MaxRecord+1)}); err == nil {
			t.Error("too long, and no error")
		}
		if t.has("ci", "r1") {
			t.Error("it stands nevertheless")
		}
	}},
	{"contexts that ended", func(t *archived) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := t.archive.Get(ctx, "ci", "r1", 1, 0)
		for what, err := range map[string]error{
			"put": t.archive.Put(ctx, time.Hour, []threads.Record{turn("r1", "", 1)}), "get": err, "delete": t.archive.Delete(ctx, "ci", "r1"),
		} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if t.has("ci", "r1") {
			t.Error("put nevertheless")
		}
	}},
	{"many at once", func(t *archived) {
		ctx := t.ctx()
		var wg sync.WaitGroup
		for w := range 8 {
			archive := []threads.Archive{t.archive, t.peer}[w%2]
			wg.Go(func() {
				for i := range 10 {
					id := fmt.Sprintf("r%d-%d", w, i)
					err := archive.Put(ctx, time.Hour, []threads.Record{turn(id, "", 100), turn("same", "", 100)})
					found, err2 := archive.Get(ctx, "ci", id, 1, 0)
					if err = errors.Join(err, err2); err != nil || len(found) != 1 {
						t.Errorf("%s: %v %v", id, names(found), err)
					}
					if err := archive.Delete(ctx, "ci", id); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if !t.has("ci", "same") {
			t.Error("gone")
		}
	}},
}

package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// output remembers each write and when it came; hold makes writes wait, fail makes them fail.
type writes struct {
	mu    sync.Mutex
	start time.Time
	list  []string
	at    []time.Duration
	hold  chan struct{}
	fail  error
	part  int // bytes that a failing write takes
}

func (w *writes) Write(b []byte) (int, error) {
	w.mu.Lock()
	hold, fail, part := w.hold, w.fail, w.part
	w.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if fail != nil {
		return part, fail
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list, w.at = append(w.list, string(b)), append(w.at, time.Since(w.start))
	return len(b), nil
}

func put(t *testing.T, w *LineWriter, line string) {
	t.Helper()
	if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
}

// pass lets virtual time pass and everything that comes due happen.
func pass(d time.Duration) { time.Sleep(d); synctest.Wait() }

func note(dropped uint64) []byte { return fmt.Appendf(nil, "dropped %d\n", dropped) }

func TestLinesAreWrittenInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{start: time.Now()}
		w := NewLineWriter(out)
		put(t, w, "a\n")
		pass(60 * time.Millisecond)
		put(t, w, "b\n")
		pass(time.Second)
		put(t, w, "c\n")
		pass(time.Second)
		equal(t, "writes", out.list, []string{"a\nb\n", "c\n"})
		equal(t, "at", out.at, []time.Duration{100 * time.Millisecond, 1160 * time.Millisecond})
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnUrgentLineIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{start: time.Now()}
		w := NewLineWriter(out)
		w.Hasten() // nothing waits: nothing happens
		put(t, w, "info\n")
		pass(10 * time.Millisecond)
		if _, err := w.put([]byte("warning\n"), true); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		put(t, w, "next\n")
		w.Hasten()
		synctest.Wait()
		put(t, w, "last\n")
		pass(time.Second)
		equal(t, "writes", out.list, []string{"info\nwarning\n", "next\n", "last\n"})
		equal(t, "at", out.at, []time.Duration{10 * time.Millisecond, 10 * time.Millisecond, 110 * time.Millisecond})
		_ = w.Close()
	})
}

func TestMuchIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{start: time.Now()}
		w := NewLineWriter(out)
		put(t, w, strings.Repeat("x", flushSize-1)+"\n")
		synctest.Wait()
		equal(t, "at", out.at, []time.Duration{0})
		_ = w.Close()
	})
}

func TestASlowOutputHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{start: time.Now(), hold: make(chan struct{})}
		w := NewLineWriter(out)
		w.tellDropped(note)
		line := strings.Repeat("x", 1023) + "\n"
		put(t, w, "first\n")
		pass(time.Second) // its flush is stuck now
		for range maxPending/len(line) + 5 {
			put(t, w, line)
		}
		equal(t, "time passed", time.Since(out.start), time.Second)
		equal(t, "dropped", w.Dropped(), uint64(5))
		close(out.hold)
		synctest.Wait()
		equal(t, "writes", len(out.list), 2)
		equal(t, "what was kept comes first", out.list[1], strings.Repeat(line, maxPending/len(line))+"dropped 5\n")
		put(t, w, "after\n")
		pass(time.Second)
		equal(t, "told once", out.list[2:], []string{"after\n"})
		_ = w.Close()
	})
}

func TestALineThatIsTooLongIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{start: time.Now()}
		w := NewLineWriter(out)
		w.tellDropped(note)
		put(t, w, strings.Repeat("x", maxPending)+"\n")
		equal(t, "dropped", w.Dropped(), uint64(1))
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		equal(t, "told at the end", out.list, []string{"dropped 1\n"})
	})
}

func TestAFailingOutputIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{start: time.Now(), fail: errors.New("disk full"), part: 2}
		w := NewLineWriter(out)
		w.tellDropped(note)
		put(t, w, "a\nb\nc\n")
		pass(time.Second)
		equal(t, "the first got through", w.Dropped(), uint64(2))
		put(t, w, "d\n")
		pass(time.Second)
		equal(t, "a lost note is no lost line", w.Dropped(), uint64(2)) // d went within the two bytes
		out.mu.Lock()
		out.fail = nil
		out.mu.Unlock()
		put(t, w, "e\n")
		pass(time.Second)
		equal(t, "told when it works again", out.list, []string{"e\ndropped 2\n"})
		_ = w.Close()
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{start: time.Now(), hold: make(chan struct{})}
		w := NewLineWriter(out)
		put(t, w, "a\n")
		pass(time.Second) // stuck
		put(t, w, "b\n")
		closed := make(chan error)
		go func() { closed <- w.Close() }()
		synctest.Wait()
		put(t, w, "c\n") // while it closes
		close(out.hold)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		equal(t, "all of it, in order", strings.Join(out.list, ""), "a\nb\nc\n")
		put(t, w, "late\n")
		equal(t, "late lines go through", out.list[len(out.list)-1], "late\n")
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		out := &writes{fail: errors.New("disk full")}
		w := NewLineWriter(out)
		w.tellDropped(note)
		put(t, w, "a\n")
		if err := w.Close(); !errors.Is(err, out.fail) {
			t.Error(err)
		}
		equal(t, "dropped", w.Dropped(), uint64(1))
	})
}

func TestABufferThatGrewIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewLineWriter(&writes{})
		put(t, w, strings.Repeat("x", maxPending-1)+"\n")
		synctest.Wait()
		for range 4 { // both buffers come round
			put(t, w, "small\n")
			pass(time.Second)
		}
		if have := cap(w.pending) + cap(w.spare); have > 2*shrinkFrom {
			t.Errorf("%d bytes are kept", have)
		}
		_ = w.Close()
	})
}

// Writers, hasteners and an output of random speed: every line arrives whole, once, and in its writer's order.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer // not locked: the race detector sees two writes at once
	w := NewLineWriter(&out)
	const writers, lines = 8, 2000
	var work sync.WaitGroup
	for g := range writers {
		work.Go(func() {
			for i := range lines {
				_, _ = w.put(fmt.Appendf(nil, "%d %d\n", g, i), i%97 == 0)
				if i%31 == 0 {
					w.Hasten()
				}
			}
		})
	}
	work.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var next [writers]int
	for line := range strings.Lines(out.String()) {
		var g, i int
		if _, err := fmt.Sscanf(line, "%d %d\n", &g, &i); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if i != next[g] {
			t.Fatalf("writer %d: line %d instead of %d", g, i, next[g])
		}
		next[g]++
	}
	for g, n := range next {
		if n+int(w.Dropped()) < lines {
			t.Errorf("writer %d: %d lines", g, n)
		}
	}
	equal(t, "dropped", w.Dropped(), uint64(0))
}

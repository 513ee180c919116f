package alert

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/journal"
)

// A receiver that comes with a reload is told of what goes on, and of its end; what was over before it came it is not told.
func TestAReceiverThatComesLate(t *testing.T) {
	for name, leases := range map[string]Leases{"alone": nil, "in a fleet": &hand{l: &leases{held: map[string]lease{}}, self: "i1"}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, leases)
			r.breaker("a", "open")
			r.breaker("b", "open")
			r.w.Changed(&journal.Change{At: time.Now(), Action: "drill_started", Subject: "drill_1", Reason: "why", By: "me"})
			r.w.StoreChanged(time.Now(), false, "gone")
			time.Sleep(time.Minute)
			r.breaker("b", "closed")
			time.Sleep(time.Minute)
			late := to("late")
			late.For = time.Hour
			r.w.Apply([]Receiver{to("x"), late}, []string{"a", "b"})
			time.Sleep(time.Minute)
			r.breaker("a", "closed")
			time.Sleep(time.Minute)
			got := strings.Join(r.net.story("x", r.start), "\n")
			for _, want := range []string{"2m0s breaker_opened firing", "2m0s drill firing", "2m0s store_lost firing", "breaker_closed resolved"} {
				if strings.Count(got, want) != 1 {
					t.Errorf("%s: %q is not there once:\n%s", name, want, got)
				}
			}
			if n := len(r.net.got("x")); n != 4 {
				t.Errorf("%s:\n%s", name, got)
			}
			if n := len(r.net.got("late")); n != 0 {
				t.Errorf("%s: %d too soon", name, n)
			}
		})
	}
}

// What waits for a receiver that is gone is one line of the log, and counted.
func TestGivingUpManyIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, to("x"))
		r.net.do["x"] = replies(0) // never answers
		for range 20 {
			r.breaker("a", "open")
			synctest.Wait()
			r.breaker("a", "closed")
			synctest.Wait()
		}
		r.w.Apply(nil, []string{"a", "b"})
		synctest.Wait()
		if n := strings.Count(r.log.String(), "alert not delivered"); n != 2 { // the one under way, and the rest
			t.Errorf("%d lines:\n%s", n, r.log.String())
		}
	})
}

// Incidents that do not come again, such as drills, leave nothing behind.
func TestNothingIsKeptOfWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &hand{l: &leases{held: map[string]lease{}}, self: "i1"}, to("x"))
		for n := range 100 {
			c := journal.Change{At: time.Now(), Action: "drill_started", Subject: fmt.Sprint("drill_", n)}
			r.w.Changed(&c)
			time.Sleep(time.Minute)
			c.Action = "drill_ended"
			r.w.Changed(&c)
			time.Sleep(time.Minute)
		}
		r.w.Stop(t.Context())
		if n := len(r.net.got("x")); n != 200 || len(r.w.tracker.ends) > 3 || len(r.w.tracker.incidents) != 0 {
			t.Errorf("%d messages, %d leases of ends, %d incidents", n, len(r.w.tracker.ends), len(r.w.tracker.incidents))
		}
	})
}

// slow are leases of a store that takes its time.
type slow struct{ hand }

func (s *slow) Claim(name string, life time.Duration) (bool, error) {
	time.Sleep(time.Second)
	return s.hand.Claim(name, life)
}

// A stop does not wait longer than it may, however slow the store is that says who tells.
func TestStopWithASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &slow{hand{l: &leases{held: map[string]lease{}}, self: "i1"}}, to("x"))
		for n := range 60 {
			r.breaker(fmt.Sprint("p", n), "open")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		begun := time.Now()
		r.w.Stop(ctx)
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		time.Sleep(2 * time.Minute) // for the loop to end
	})
}

// A receiver that switches protocols, which nobody asked for, holds up nothing: its answer has no end.
func TestAReceiverThatSwitchesProtocols(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 64<<10))
				_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	client := &http.Transport{}
	w := New(Options{Client: client, Random: func() float64 { return 0 }})
	w.Apply([]Receiver{{Name: "x", URL: "http://" + l.Addr().String()}}, nil)
	done := make(chan TestResult, 1)
	go func() {
		got, _ := w.Test(t.Context(), "x", "me")
		done <- got
	}()
	select {
	case got := <-done:
		if got.Delivered || got.Message != "it answers with status 101" {
			t.Errorf("%+v", got)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for ever")
	}
}

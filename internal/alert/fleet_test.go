package alert

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// leases is a store's leases; of gives one instance's hand on them.
type leases struct {
	mu   sync.Mutex
	held map[string]lease
	down bool
}

type lease struct {
	by    string
	until time.Time
}

type hand struct {
	l    *leases
	self string
	dead bool
}

func (h *hand) Claim(name string, life time.Duration) (bool, error) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	if h.l.down || h.dead {
		return false, errors.New("store lost")
	}
	if l, ok := h.l.held[name]; ok && l.by != h.self && time.Now().Before(l.until) {
		return false, nil
	}
	h.l.held[name] = lease{h.self, time.Now().Add(life)}
	return true, nil
}

func (h *hand) Yield(name string) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	if !h.l.down && !h.dead && h.l.held[name].by == h.self {
		delete(h.l.held, name)
	}
}

func (l *leases) cut(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
}

// three is a fleet of three instances that tell one receiver.
type three struct {
	*receivers
	l     *leases
	all   [3]*rig
	hands [3]*hand
	start time.Time
}

func newThree(t *testing.T, to Receiver) *three {
	t.Helper()
	f := &three{receivers: newReceivers(), l: &leases{held: map[string]lease{}}, start: time.Now()}
	for i := range f.all {
		f.all[i] = &rig{t: t, net: f.receivers, start: f.start}
		name := fmt.Sprint("i", i)
		f.hands[i] = &hand{l: f.l, self: name}
		f.all[i].join(t, name, f.hands[i], to)
	}
	return f
}

// breaker moves on one instance, and on the others, who hear of it.
func (f *three) breaker(sees int, state string) {
	f.all[sees].breaker("a", state)
	for i, r := range f.all {
		if i != sees {
			r.heard("a", state)
		}
	}
}

// kill ends an instance without a word: nothing of it leaves the machine any more.
func (f *three) kill(n int) {
	f.all[n].w.Apply(nil, []string{"a", "b"})
	f.l.mu.Lock()
	defer f.l.mu.Unlock()
	f.hands[n].dead = true
}

// In a fleet one instance tells of an incident, its end too, whoever sees what; if it dies another one goes on; without the store
// all tell, with one ID.
func TestOneOfAFleetTells(t *testing.T) {
	cases := []struct {
		name string
		do   func(f *three)
		want []string
	}{
		{"one sees it, another one its end", func(f *three) {
			f.breaker(1, "open")
			time.Sleep(time.Minute)
			f.breaker(2, "closed")
			time.Sleep(time.Hour)
		}, []string{"0s breaker_opened firing", "1m0s breaker_closed resolved"}},
		{"again and again", func(f *three) {
			for i := range 3 {
				f.breaker(i, "open")
				time.Sleep(20 * time.Second)
				f.breaker(i, "closed")
				time.Sleep(30 * time.Second)
			}
			time.Sleep(time.Hour)
		}, []string{
			"0s breaker_opened firing", "20s breaker_closed resolved", "50s breaker_opened firing", "1m10s breaker_closed resolved",
			"1m40s breaker_opened firing", "2m0s breaker_closed resolved",
		}},
		{"an outage that each sees for itself", func(f *three) {
			for range 30 {
				for _, r := range f.all {
					r.request("fast", "circuit_open")
				}
				time.Sleep(time.Second)
			}
			for range 200 {
				for _, r := range f.all {
					r.request("fast", "")
				}
				time.Sleep(time.Second)
			}
			time.Sleep(time.Hour)
		}, []string{"0s all_blocked firing", "1m30s all_blocked resolved"}},
		{"who told dies: another one says so again, and tells the end", func(f *three) {
			f.breaker(0, "open")
			time.Sleep(time.Second)
			f.kill(0)
			time.Sleep(time.Minute)
			f.all[1].breaker("a", "closed")
			f.all[2].heard("a", "closed")
			time.Sleep(time.Hour)
		}, []string{"0s breaker_opened firing", "32s breaker_opened firing", "1m1s breaker_closed resolved"}},
		{"who told dies just before the end", func(f *three) {
			f.breaker(0, "open")
			time.Sleep(5 * time.Second)
			f.kill(0)
			f.all[1].breaker("a", "closed")
			f.all[2].heard("a", "closed")
			time.Sleep(time.Hour)
		}, []string{"0s breaker_opened firing", "7s breaker_closed resolved"}},
		{"the others do not find out that it is over", func(f *three) {
			f.breaker(0, "open")
			time.Sleep(30 * time.Second)
			f.breaker(0, "half_open")
			f.all[0].breaker("a", "closed")
			time.Sleep(time.Hour)
			f.all[1].breaker("a", "closed") // by a request of its own, much later
			time.Sleep(time.Minute)
			f.all[1].breaker("a", "open")
			f.all[0].heard("a", "open")
		}, []string{"0s breaker_opened firing", "30s breaker_closed resolved", "1h1m30s breaker_opened firing"}},
		{"who told dies while others do not know whether it is over", func(f *three) {
			f.breaker(0, "open")
			time.Sleep(30 * time.Second)
			f.breaker(0, "half_open")
			f.kill(0)
			time.Sleep(10 * time.Minute)
			f.all[1].breaker("a", "closed")
			f.all[2].breaker("a", "closed") // whichever of the two is the teller by now
			time.Sleep(time.Hour)
		}, []string{"0s breaker_opened firing", "10m30s breaker_closed resolved"}},
		{"another one finds out that it is over than told of it", func(f *three) {
			f.breaker(0, "open")
			time.Sleep(30 * time.Second)
			f.breaker(0, "half_open")
			f.all[1].breaker("a", "closed")
			time.Sleep(time.Hour)
			f.all[0].breaker("a", "closed")
			time.Sleep(time.Minute)
		}, []string{"0s breaker_opened firing", "32s breaker_closed resolved"}},
		{"a probe fails again and again", func(f *three) {
			for i := range 20 {
				f.breaker(i%3, "open")
				time.Sleep(30 * time.Second)
				f.breaker(i%3, "half_open")
				time.Sleep(time.Second)
			}
		}, []string{"0s breaker_opened firing"}},
		{"the store is lost: all tell", func(f *three) {
			f.l.cut(true)
			f.breaker(0, "open")
			time.Sleep(time.Minute)
			f.l.cut(false)
			time.Sleep(time.Minute)
			f.breaker(0, "closed")
			time.Sleep(time.Hour)
		}, []string{"0s breaker_opened firing", "2s breaker_opened firing", "2s breaker_opened firing", "2m0s breaker_closed resolved"}},
		{"the store is lost later: what one told is not told by all", func(f *three) {
			f.breaker(0, "open")
			time.Sleep(20 * time.Second)
			f.l.cut(true)
			time.Sleep(time.Minute)
			f.breaker(0, "closed")
			time.Sleep(time.Hour)
		}, []string{"0s breaker_opened firing", "1m20s breaker_closed resolved"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newThree(t, to("x"))
				c.do(f)
				synctest.Wait()
				if got := f.story("x", f.start); !slices.Equal(got, c.want) {
					t.Errorf("told %q,\nwant %q", got, c.want)
				}
			})
		})
	}
}

// Who has not heard yet that an incident is over finds its lease taken, and does not begin it again.
func TestALateInstanceDoesNotBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, x := &leases{held: map[string]lease{}}, []Receiver{to("x")}
		teller := tracker{receivers: x, leases: &hand{l: l, self: "teller"}, incidents: map[string]*incident{}, ends: map[string]time.Time{}}
		late := tracker{receivers: x, leases: &hand{l: l, self: "late"}, incidents: map[string]*incident{}, ends: map[string]time.Time{}}
		a := Alert{ID: "a", Event: BreakerOpened, Status: Firing}
		for _, k := range []*tracker{&teller, &late} {
			k.happened(time.Now(), a, k == &late, nil)
		}
		step := func(k *tracker, want int) {
			t.Helper()
			if sends, _ := k.step(time.Now()); len(sends) != want {
				t.Errorf("%+v", sends)
			}
		}
		step(&teller, 1)
		time.Sleep(headStart)
		step(&late, 0)
		time.Sleep(askEvery)
		teller.over(time.Now(), a.over(time.Now()), true)
		step(&teller, 1)
		step(&late, 0) // it asks for the lease just then
		late.over(time.Now(), a.over(time.Now()), false)
		for range 60 {
			time.Sleep(headStart)
			step(&late, 0)
		}
	})
}

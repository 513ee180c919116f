package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/quota/meters"
)

// MeterOptions say in what a store of counts differs from others.
type MeterOptions struct {
	// Advance moves the store's clock on; nil: it is a real clock, and the suite waits.
	Advance func(d time.Duration)
}

// counted is one test of one store of counts.
type counted struct {
	*testing.T
	MeterOptions

	one, peer meters.Store
}

// RunMeters holds a store of counts to its promises. open gives one that is empty, for each call another, and a second handle to the same counts; what it
// opens it closes when t ends.
func RunMeters(t *testing.T, open func(t *testing.T) (one, peer meters.Store), options MeterOptions) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *counted)
	}{
		{"what is laid down is given, to all", givenToAll},
		{"only what is wanted is given", onlyWanted},
		{"an older version changes nothing", olderVersion},
		{"the same again changes its age alone", sameAgain},
		{"ages are those of the store's clock", ages},
		{"what is over its life goes", overLife},
		{"names and bodies of any bytes", anyBytes},
		{"a body that is too long is refused", tooLong},
		{"nothing at all", nothingAtAll},
		{"a context that has ended", endedContext},
		{"many at a time lose nothing", manyAtATime},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, peer := open(t)
			c.run(&counted{T: t, MeterOptions: options, one: one, peer: peer})
		})
	}
}

func (t *counted) exchange(s meters.Store, own []meters.Tally, wanted ...string) []meters.Tally {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	got, err := s.Exchange(ctx, own, wanted)
	if err != nil {
		t.Fatalf("exchange: %v", err)
	}
	slices.SortFunc(got, func(a, b meters.Tally) int {
		return cmp.Or(strings.Compare(a.Meter, b.Meter), strings.Compare(a.Instance, b.Instance))
	})
	return got
}

func tally(meter, instance string, version uint64, body string) meters.Tally {
	return meters.Tally{Meter: meter, Instance: instance, Version: version, Body: []byte(body), Life: time.Hour}
}

// want holds what was given to "meter instance version body", sorted.
func (t *counted) want(got []meters.Tally, want ...string) {
	t.Helper()
	var have []string
	for _, g := range got {
		have = append(have, fmt.Sprintf("%s %s %d %s", g.Meter, g.Instance, g.Version, g.Body))
	}
	if !slices.Equal(have, want) {
		t.Errorf("it gave %q instead of %q", have, want)
	}
}

func (t *counted) pass(d time.Duration) {
	t.Helper()
	if t.Advance != nil {
		t.Advance(d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test ended while it waited")
	}
}

func givenToAll(t *counted) {
	t.want(t.exchange(t.one, []meters.Tally{tally("m", "a", 1, "x")}, "m"), "m a 1 x")
	t.want(t.exchange(t.peer, []meters.Tally{tally("m", "b", 1, "y"), tally("n", "b", 1, "z")}, "m", "n"), "m a 1 x", "m b 1 y", "n b 1 z")
	t.want(t.exchange(t.one, nil, "n", "m"), "m a 1 x", "m b 1 y", "n b 1 z")
}

func onlyWanted(t *counted) {
	t.want(t.exchange(t.one, []meters.Tally{tally("m", "a", 1, "x"), tally("n", "a", 1, "y")}))
	t.want(t.exchange(t.one, []meters.Tally{tally("o", "a", 1, "z")}, "n", "unknown"), "n a 1 y")
	t.want(t.exchange(t.peer, nil, "o"), "o a 1 z")
}

func olderVersion(t *counted) {
	t.exchange(t.one, []meters.Tally{tally("m", "a", 10, "new")})
	t.want(t.exchange(t.peer, []meters.Tally{tally("m", "a", 9, "old")}, "m"), "m a 10 new")
	t.want(t.exchange(t.peer, []meters.Tally{tally("m", "a", 1<<63-1, "last")}, "m"), "m a 9223372036854775807 last")
}

func sameAgain(t *counted) {
	t.exchange(t.one, []meters.Tally{tally("m", "a", 1, "x")})
	t.pass(60 * time.Millisecond)
	got := t.exchange(t.one, []meters.Tally{tally("m", "a", 1, "x")}, "m")
	t.want(got, "m a 1 x")
	if len(got) == 1 && got[0].Age > 50*time.Millisecond {
		t.Errorf("its age is %v", got[0].Age)
	}
}

func ages(t *counted) {
	t.exchange(t.one, []meters.Tally{tally("m", "a", 1, "x")})
	t.pass(60 * time.Millisecond)
	got := t.exchange(t.peer, nil, "m")
	if len(got) != 1 || got[0].Age < 59*time.Millisecond || got[0].Age > bound || got[0].Life != 0 {
		t.Errorf("it gave %+v", got)
	}
}

func overLife(t *counted) {
	short := tally("m", "a", 1, "x")
	short.Life = 50 * time.Millisecond
	t.exchange(t.one, []meters.Tally{short, tally("n", "a", 1, "y")})
	t.exchange(t.one, []meters.Tally{tally("m", "b", 1, "z")})
	t.pass(80 * time.Millisecond)
	t.want(t.exchange(t.peer, nil, "m", "n"), "m b 1 z", "n a 1 y")
	t.want(t.exchange(t.peer, []meters.Tally{tally("m", "a", 2, "again")}, "m"), "m a 2 again", "m b 1 z")
}

func anyBytes(t *counted) {
	meter, body := "m\x00\xff \\x41:é{}", string([]byte{0, 255, '\n', '"', 0x80})
	t.want(t.exchange(t.one, []meters.Tally{tally(meter, "a\x00b", 1, body), tally("", "", 1, "")}, meter, ""), "  1 ", meter+" a\x00b 1 "+body)
}

func tooLong(t *counted) {
	long := tally("m", "a", 1, strings.Repeat("x", meters.MaxTally))
	t.exchange(t.one, []meters.Tally{long})
	long.Body = append(long.Body, 'x')
	if _, err := t.one.Exchange(t.Context(), []meters.Tally{long}, nil); err == nil {
		t.Error("it was taken")
	}
}

func nothingAtAll(t *counted) { t.want(t.exchange(t.one, nil)) }

func endedContext(t *counted) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := t.one.Exchange(ctx, []meters.Tally{tally("m", "a", 1, "x")}, []string{"m"}); err == nil {
		t.Error("it did not fail")
	}
}

func manyAtATime(t *counted) {
	const instances, rounds = 6, 15
	var all sync.WaitGroup
	for i := range instances {
		store := t.one
		if i%2 == 1 {
			store = t.peer
		}
		all.Go(func() {
			for v := range rounds {
				own := []meters.Tally{
					tally("m", fmt.Sprint("i", i), uint64(v+1), fmt.Sprint(v)), tally("n", fmt.Sprint("i", i), uint64(v+1), fmt.Sprint(v)),
				}
				if v%2 == 1 {
					slices.Reverse(own)
				}
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				got, err := store.Exchange(ctx, own, []string{"m", "n"})
				cancel()
				if err != nil {
					t.Errorf("exchange: %v", err)
					return
				}
				mine := 0
				for _, g := range got {
					if g.Instance == fmt.Sprint("i", i) && g.Version == uint64(v+1) {
						mine++
					}
				}
				if mine != 2 {
					t.Errorf("instance %d sees %d of its two tallies", i, mine)
				}
			}
		})
	}
	all.Wait()
	if got := t.exchange(t.peer, nil, "m", "n"); len(got) != 2*instances {
		t.Errorf("%d tallies are there", len(got))
	}
}

package redis_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"evergate/internal/replica"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

// TestCost holds how many round trips a call takes, and tells what goes over the wire.
func TestCost(t *testing.T) {
	r := servers.StartRedis(t)
	p := servers.StartProxy(t, r.Addr())
	s := open(t, "redis://"+p.Addr)
	ctx := storetest.Within(t, 30*time.Second)
	pages := make([]replica.Page, 50)
	sequence := uint64(0)
	fill := func(n int) []replica.Page {
		sequence++
		for i := range n {
			pages[i] = replica.Page{Instance: "0123456789abcdef", Topic: "guards", Key: fmt.Sprintf("provider-%02d", i), Sequence: sequence, Body: bytes.Repeat([]byte("x"), 200)}
		}
		return pages[:n]
	}
	var since time.Time
	for _, c := range []struct {
		name       string
		turns      int64
		do, before func() error
	}{
		{"Beat", 1, func() (err error) {
			since, err = s.Beat(ctx, replica.Member{ID: "0123456789abcdef", Version: "1.2.3", Started: time.Now()})
			return err
		}, nil},
		{"Members", 1, func() error { _, err := s.Members(ctx); return err }, nil},
		{"Put of 1 page of 200 bytes", 1, func() error { return s.Put(ctx, fill(1)) }, nil},
		{"Put of 50 pages of 200 bytes", 1, func() error { return s.Put(ctx, fill(50)) }, nil},
		{"Read of 50 pages", 1, func() error { _, err := s.Read(ctx, "guards", time.Time{}, 0); return err }, nil},
		{"Read of nothing new", 1, func() error { _, err := s.Read(ctx, "guards", since.Add(time.Hour), 0); return err }, nil},
		{"Claim", 1, func() error { _, err := s.Claim(ctx, "probe/openai/gpt", "0123456789abcdef", time.Minute); return err }, nil},
		{"Yield", 1, func() error { return s.Yield(ctx, "probe/openai/gpt", "0123456789abcdef") }, nil},
		{"Drop of 50 pages", 2, func() error { return s.Drop(ctx, "0123456789abcdef") }, func() error { return s.Put(ctx, fill(50)) }},
	} {
		for range 2 { // at first the script is sent whole
			if c.before != nil {
				if err := c.before(); err != nil {
					t.Fatal(err)
				}
			}
			p.Sent.Store(0)
			p.Received.Store(0)
			p.Turns.Store(0)
			if err := c.do(); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%-30s %d round trips, %6d bytes sent, %6d received", c.name, p.Turns.Load(), p.Sent.Load(), p.Received.Load())
		if got := p.Turns.Load(); got != c.turns {
			t.Errorf("%s: %d round trips, want %d", c.name, got, c.turns)
		}
	}
	if n := p.Conns(); n != 1 {
		t.Errorf("%d connections for calls in turn", n)
	}
}

// R61: what one puts the others hear soon.
func TestHeardSoon(t *testing.T) {
	r := servers.StartRedis(t)
	s, peer := open(t, "redis://"+r.Addr()), open(t, "redis://"+r.Addr())
	type hearing struct {
		page replica.Page
		at   time.Time
	}
	heard := make(chan hearing, 1)
	storetest.Watching(t, beginBound, s, func(p replica.Page) { heard <- hearing{p, time.Now()} })
	const n = 500
	took := make([]time.Duration, n)
	for i := range took {
		begun := time.Now()
		if err := peer.Put(storetest.Within(t, time.Second), []replica.Page{{Instance: "b2", Topic: "guards", Key: "k", Sequence: uint64(i + 1), Body: bytes.Repeat([]byte("x"), 200)}}); err != nil {
			t.Fatal(err)
		}
		select {
		case h := <-heard:
			took[i] = h.at.Sub(begun)
		case <-time.After(2 * time.Second):
			t.Fatalf("page %d was not heard", i)
		}
	}
	slices.Sort(took)
	t.Logf("from Put to heard: p50 %v, p99 %v, longest %v", took[n/2], took[n*99/100], took[n-1])
	if p99 := took[n*99/100]; p99 > 100*time.Millisecond {
		t.Errorf("p99 is %v", p99)
	}
}

package postgres_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"evergate/internal/replica"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

// TestCost holds how many round trips a call takes, and tells what goes over the wire.
func TestCost(t *testing.T) {
	server, _ := start(t)
	p := servers.StartProxy(t, server.Addr())
	s := open(t, address("gate", p.Addr, "sslmode=disable"))
	ctx := storetest.Within(t, 30*time.Second)
	const self = "0123456789abcdef"
	sequence := uint64(0)
	fill := func(n int) error {
		sequence++
		pages := make([]replica.Page, n)
		for i := range pages {
			pages[i] = replica.Page{Instance: self, Topic: "guards", Key: fmt.Sprintf("provider-%02d", i), Sequence: sequence, Body: bytes.Repeat([]byte("x"), 200)}
		}
		return s.Put(ctx, pages)
	}
	var since time.Time
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"Beat", func() (err error) {
			since, err = s.Beat(ctx, replica.Member{ID: self, Version: "1.2.3", Started: time.Now()})
			return err
		}},
		{"Members", func() error { _, err := s.Members(ctx); return err }},
		{"Put of 1 page of 200 bytes", func() error { return fill(1) }},
		{"Put of 50 pages of 200 bytes", func() error { return fill(50) }},
		{"Read of 50 pages", func() error { _, err := s.Read(ctx, "guards", time.Time{}, 0); return err }},
		{"Read of nothing new", func() error { _, err := s.Read(ctx, "guards", since.Add(time.Hour), 0); return err }},
		{"Claim", func() error { _, err := s.Claim(ctx, "probe/openai/gpt", self, time.Minute); return err }},
		{"Yield", func() error { return s.Yield(ctx, "probe/openai/gpt", self) }},
		{"Drop of 50 pages", func() error { return s.Drop(ctx, self) }},
	} {
		if _, err := s.Members(ctx); err != nil { // a connection is there, and the schema
			t.Fatal(err)
		}
		servers.Eventually(t, 5*time.Second, "the connection that made the schema has said its last word", func() bool { return p.Conns() == 1 })
		p.Sent.Store(0)
		p.Received.Store(0)
		p.Turns.Store(0)
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%-30s %d round trips, %6d bytes sent, %6d received", c.name, p.Turns.Load(), p.Sent.Load(), p.Received.Load())
		if got := p.Turns.Load(); got != 1 {
			t.Errorf("%s: %d round trips, want 1", c.name, got)
		}
	}
	if n := p.Conns(); n != 1 {
		t.Errorf("%d connections for calls in turn", n)
	}
}

// R61: what one puts the others hear soon.
func TestHeardSoon(t *testing.T) {
	_, u := start(t, "fsync=on")
	s, peer := open(t, u), open(t, u)
	for _, size := range []int{200, 20_000} { // told whole, and by name
		t.Run(fmt.Sprint(size, " bytes"), func(t *testing.T) {
			heard := make(chan time.Time, 1)
			storetest.Watching(t, beginBound, s, func(replica.Page) { heard <- time.Now() })
			const n = 500
			took := make([]time.Duration, n)
			for i := range took {
				begun := time.Now()
				p := replica.Page{Instance: "b2", Topic: "guards", Key: fmt.Sprint(size), Sequence: uint64(i + 1), Body: bytes.Repeat([]byte("x"), size)}
				if err := peer.Put(storetest.Within(t, time.Second), []replica.Page{p}); err != nil {
					t.Fatal(err)
				}
				select {
				case at := <-heard:
					took[i] = at.Sub(begun)
				case <-time.After(2 * time.Second):
					t.Fatalf("page %d was not heard", i)
				}
			}
			slices.Sort(took)
			t.Logf("from Put to heard: p50 %v, p99 %v, longest %v", took[n/2], took[n*99/100], took[n-1])
			if p99 := took[n*99/100]; p99 > 100*time.Millisecond {
				t.Errorf("p99 is %v", p99)
			}
		})
	}
}

// Through a pooler in transaction mode everything works but Watch, which says why.
func TestPooler(t *testing.T) {
	bouncer := pgbouncer(t)
	p, _ := start(t)
	addr := p.Pooler(bouncer, "gate")
	s := open(t, address("gate", addr, "pooler=true"))
	for sequence := uint64(1); sequence < 50; sequence++ {
		if err := storetest.PutOne(t, callBound, s, sequence); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Beat(storetest.Within(t, 3*time.Second), replica.Member{ID: "a1"}); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Stands(t, callBound, s, 49)
	if got, err := s.Claim(storetest.Within(t, 3*time.Second), "lease", "a1", time.Minute); err != nil || !got {
		t.Errorf("claim: %t, %v", got, err)
	}
	err := s.Watch(storetest.Within(t, 20*time.Second), func() { t.Error("ready") }, func(replica.Page) {})
	if err == nil || !strings.Contains(err.Error(), "pooler") {
		t.Errorf("watch: %v", err)
	}
}

// pgbouncer is the program.
func pgbouncer(t *testing.T) string {
	t.Helper()
	bouncer, err := exec.LookPath("pgbouncer")
	if err != nil {
		if bouncer, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			t.Skip("NOT TESTED with a pooler: PgBouncer is missing, apt-get install pgbouncer")
		}
	}
	return bouncer
}

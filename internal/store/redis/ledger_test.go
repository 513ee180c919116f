package redis_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"evergate/internal/journal"
	"evergate/internal/ledger"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

// ledgers runs the suite on a server; each ledger has a prefix of its own.
func ledgers(t *testing.T, url string, o storetest.LedgerOptions) {
	t.Helper()
	n := 0
	storetest.RunLedger(t, func(t *testing.T) (one, peer ledger.Store) {
		n++
		u := fmt.Sprintf("%sprefix=l%d-", url, n)
		return open(t, u).Ledger(), open(t, u).Ledger()
	}, o)
}

func TestLedger(t *testing.T) {
	r := servers.StartRedis(t)
	t.Run("RESP3", func(t *testing.T) { ledgers(t, "redis://"+r.Addr()+"/0?", storetest.LedgerOptions{}) })
	t.Run("RESP2", func(t *testing.T) {
		ledgers(t, "valkey://"+r.Addr()+"/1?protocol=2&", storetest.LedgerOptions{Checks: 5})
	})
}

func TestLedgerInCluster(t *testing.T) {
	nodes := servers.StartRedisCluster(t, 3)
	ledgers(t, "redis://"+nodes[1].Addr()+","+nodes[0].Addr()+"?cluster=true&", storetest.LedgerOptions{Checks: 5})
}

// Each filter answers from as many rows as are kept, with every page within a time. Rows are in the server's memory.
func TestLedgerOfManyRows(t *testing.T) {
	r := servers.StartRedis(t)
	before := memoryOf(t, r)
	rows := storetest.ManyRows()
	storetest.RunManyRows(t, open(t, "redis://"+r.Addr()).Ledger(), rows, storetest.ManyWithin())
	t.Logf("%d bytes of memory a row", (memoryOf(t, r)-before)/rows)
}

func memoryOf(t *testing.T, r *servers.Redis) int {
	t.Helper()
	_, rest, _ := strings.Cut(r.Do("INFO", "memory"), "used_memory:")
	digits, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLedgerSumsStayWhatNumbersCanBe(t *testing.T) {
	r := servers.StartRedis(t)
	storetest.LargeSums(t, open(t, "redis://"+r.Addr()).Ledger())
}

// Rows with bodies take no more room than there is: the oldest go, with their ids, and what was counted of them. Their sums stay.
func TestLedgerHasBounds(t *testing.T) {
	r := servers.StartRedis(t)
	const room = 100_000
	l := open(t, "redis://"+r.Addr()).LedgerOf(room)
	numbers := ledger.NewNumbers("a1")
	ctx := storetest.Within(t, 20*time.Second)
	row := func(i int) ledger.Request {
		end := time.Now().UTC().Truncate(time.Microsecond)
		q := ledger.Request{Row: numbers.Row(end), Kind: ledger.KindRequest, Body: &ledger.Body{Request: strings.Repeat("x", 5000)}}
		q.ID, q.Start = fmt.Sprint("req_", i), end
		return q
	}
	for i := range 100 {
		if err := l.Write(ctx, ledger.Batch{Requests: []ledger.Request{row(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := l.Requests(ctx, ledger.RequestQuery{})
	if n := len(page.Requests); err != nil || n < 15 || n > 19 || page.Requests[0].ID != "req_99" {
		t.Errorf("%d rows, %v", n, err)
	}
	if _, found, err := l.Request(ctx, "req_5"); found || err != nil {
		t.Errorf("a row that went is found: %v, %v", found, err)
	}
	kept := strconv.Itoa(len(page.Requests))
	for key, want := range map[string]string{"{evergate}:ledger": kept, "{evergate}:ledger-ids": kept} {
		if got := r.Do("ZCARD", key); got != want {
			t.Errorf("%s has %s members, want %s", key, got, want)
		}
	}
	if sums, err := l.Usage(ctx, ledger.UsageQuery{}); err != nil || len(sums) != 1 || sums[0].Requests != 100 {
		t.Errorf("sums: %+v, %v", sums, err)
	}
	if err := l.Expire(ctx, ledger.Retention{Age: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if got := r.Do("GET", "{evergate}:ledger-bytes"); got != "0" {
		t.Errorf("%s bytes are counted of no rows", got)
	}
}

// Sums have a bound: of too many groups the oldest buckets go, the newest one never.
func TestLedgerSumsHaveBounds(t *testing.T) {
	r := servers.StartRedis(t)
	l := open(t, "redis://"+r.Addr()).LedgerOfGroups(25)
	ctx := storetest.Within(t, 20*time.Second)
	numbers := ledger.NewNumbers("a1")
	hour := time.Now().UTC().Truncate(time.Hour)
	for ago := range 6 {
		var b ledger.Batch
		for key := range 10 {
			end := hour.Add(-time.Duration(ago) * time.Hour)
			b.Requests = append(b.Requests, ledger.Request{Row: numbers.Row(end), Kind: ledger.KindRequest, Request: journal.Request{Key: fmt.Sprint("k", key), Route: "fast", Start: end}})
		}
		if err := l.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		groups, hours, minutes, byRoute int
	}{{25, 2, 2, 6}, {5, 1, 1, 5}} {
		l := open(t, "redis://"+r.Addr()).LedgerOfGroups(c.groups)
		if err := l.Expire(ctx, ledger.Retention{}); err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]struct {
			of   ledger.UsageQuery
			want int
		}{
			"hours": {ledger.UsageQuery{Step: ledger.Hour}, c.hours}, "minutes": {ledger.UsageQuery{Step: ledger.Minute, ByKey: true}, 10 * c.minutes},
			"by route": {ledger.UsageQuery{Step: ledger.Minute, ByRoute: true}, c.byRoute},
		} {
			got, err := l.Usage(ctx, q.of)
			if err != nil || len(got) != q.want || !got[len(got)-1].At.Equal(hour) {
				t.Errorf("%s of %d groups: %d, want %d, the newest among them; %v", name, c.groups, len(got), q.want, err)
			}
		}
	}
}

// The ledger's keys end some time after the last instance.
func TestLedgerEnds(t *testing.T) {
	r := servers.StartRedis(t)
	l := open(t, "redis://"+r.Addr()).Ledger()
	storetest.LargeSums(t, l)
	if err := l.Write(storetest.Within(t, callBound), ledger.Batch{Entries: []ledger.Entry{{Row: ledger.NewNumbers("a1").Row(time.Now()), Kind: ledger.EntryGuard}}}); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields(r.Do("KEYS", "*")) {
		if ttl, err := strconv.Atoi(r.Do("TTL", key)); err != nil || ttl < 100_000 {
			t.Errorf("%s ends after %d s (%v)", key, ttl, err)
		}
	}
}

// One write and one page are a round trip each.
func TestLedgerCost(t *testing.T) {
	r := servers.StartRedis(t)
	p := servers.StartProxy(t, r.Addr())
	l := open(t, "redis://"+p.Addr).Ledger()
	ctx := storetest.Within(t, 20*time.Second)
	numbers := ledger.NewNumbers("a1")
	batch := func(n int) ledger.Batch {
		b := ledger.Batch{}
		for range n {
			q := ledger.Request{Row: numbers.Row(time.Now()), Kind: ledger.KindRequest}
			q.ID, q.Start = "req", time.Now()
			b.Requests = append(b.Requests, q)
		}
		return b
	}
	for name, do := range map[string]func() error{
		"a write of 500": func() error { return l.Write(ctx, batch(500)) },
		"a page":         func() error { _, err := l.Requests(ctx, ledger.RequestQuery{Limit: 50}); return err },
	} {
		for range 2 { // at first the script is sent whole
			p.Turns.Store(0)
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		if n := p.Turns.Load(); n != 1 {
			t.Errorf("%s: %d round trips", name, n)
		}
	}
}

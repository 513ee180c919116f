package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"evergate/internal/replica"
	"evergate/internal/store/postgres"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

// How long a call and the beginning of a watch may take.
const (
	callBound  = 3 * time.Second
	beginBound = 10 * time.Second
)

// start runs a server with a database of one role.
func start(t testing.TB, settings ...string) (*servers.Postgres, string) {
	t.Helper()
	p := servers.StartPostgres(t, settings...)
	p.Database("gate")
	return p, address("gate", p.Addr(), "")
}

// R60: a server that is mute holds up nobody beyond his own patience, piles nothing up, and is as good as ever when it speaks again.
func TestMuteServer(t *testing.T) {
	p := servers.StartPostgres(t)
	p.Database("gate")
	s := open(t, address("gate", p.Addr(), ""))
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	ended := storetest.Watching(t, beginBound, s, func(replica.Page) {})
	before := runtime.NumGoroutine()
	pids := strings.Fields(p.Exec("gate", `SELECT pid FROM pg_stat_activity`))
	p.PauseAll(pids)
	paused := time.Now()
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			want := context.DeadlineExceeded
			if i%2 == 0 { // half of them are cancelled, with no deadline to be seen
				var stop context.CancelFunc
				ctx, stop = context.WithCancel(t.Context())
				time.AfterFunc(300*time.Millisecond, stop)
				defer stop()
				want = context.Canceled
			}
			begun := time.Now()
			if err := s.Put(ctx, []replica.Page{{Instance: "a1", Topic: "guards", Key: "k", Sequence: 2}}); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if d := time.Since(begun); d > time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
	all.Wait()
	patient := make(chan error, 1)
	go func() {
		patient <- s.Put(context.WithoutCancel(t.Context()), []replica.Page{{Instance: "a1", Topic: "guards", Key: "k", Sequence: 2}})
	}()
	if n := runtime.NumGoroutine() - before; n > 50 {
		t.Errorf("%d goroutines were left by 200 calls", n)
	}
	storetest.Broken(t, 20*time.Second, ended)
	select {
	case err := <-patient:
		if err == nil {
			t.Errorf("a call without a deadline: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a call without a deadline waits for ever")
	}
	t.Logf("the watch of a mute server ended after %v", time.Since(paused).Round(time.Second))
	p.ResumeAll(pids)
	servers.Eventually(t, 5*time.Second, "the store works", func() bool { return storetest.PutOne(t, callBound, s, 3) == nil })
	storetest.Stands(t, callBound, s, 3)
}

func TestCloseOfAMuteServer(t *testing.T) {
	p, u := start(t)
	s := open(t, u)
	for range 3 {
		if err := storetest.PutOne(t, callBound, s, 1); err != nil { // and leave an idle connection
			t.Fatal(err)
		}
	}
	ended := storetest.Watching(t, beginBound, s, func(replica.Page) {})
	pids := strings.Fields(p.Exec("gate", `SELECT pid FROM pg_stat_activity`))
	p.PauseAll(pids)
	defer p.ResumeAll(pids)
	calling := make(chan error, 1)
	go func() {
		calling <- s.Put(context.WithoutCancel(t.Context()), []replica.Page{{Instance: "a1", Topic: "guards", Key: "k", Sequence: 9}})
	}()
	begun := time.Now()
	_ = s.Close()
	if err := <-calling; err == nil {
		t.Error("a call outlived Close")
	}
	storetest.Broken(t, 3*time.Second, ended)
	if d := time.Since(begun); d > 3*time.Second {
		t.Errorf("it took %v", d)
	}
}

func TestServerIsDownAtFirst(t *testing.T) {
	p, u := start(t)
	p.Kill()
	s := open(t, u)
	if err := storetest.PutOne(t, callBound, s, 1); err == nil || !strings.Contains(err.Error(), p.Addr()) {
		t.Errorf("got %v, want an error that names the address", err)
	}
	if err := s.Watch(t.Context(), func() { t.Error("ready") }, func(replica.Page) {}); err == nil {
		t.Error("a watch of nothing ended without an error")
	}
	p.Start()
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	storetest.Stands(t, callBound, s, 1)
}

func TestServerRestarts(t *testing.T) {
	p, u := start(t)
	s := open(t, u)
	var all sync.WaitGroup
	for range 20 { // so that there are several connections
		all.Go(func() {
			if _, err := s.Members(storetest.Within(t, 5*time.Second)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	for sequence := uint64(2); sequence < 5; sequence++ {
		ended := storetest.Watching(t, beginBound, s, func(replica.Page) {})
		p.Kill()
		storetest.Broken(t, 5*time.Second, ended)
		p.Start()
		failed := 0
		for storetest.PutOne(t, callBound, s, sequence) != nil {
			if failed++; failed > 1 {
				t.Fatalf("%d calls failed because of connections that were gone", failed)
			}
		}
		storetest.Stands(t, callBound, s, sequence)
	}
}

// A database that was set up anew has no tables.
func TestTablesAreGone(t *testing.T) {
	p, u := start(t)
	s := open(t, u)
	if err := storetest.PutOne(t, callBound, s, 5); err != nil {
		t.Fatal(err)
	}
	p.Exec("gate", `DROP SCHEMA gate CASCADE; CREATE SCHEMA gate AUTHORIZATION gate`)
	servers.Eventually(t, 5*time.Second, "the store works", func() bool { return storetest.PutOne(t, callBound, s, 1) == nil })
	storetest.Stands(t, callBound, s, 1)
}

// Fail-over to another address: the same Store goes on.
func TestFailover(t *testing.T) {
	first, _ := start(t)
	second := first.Standby()
	s := open(t, address("gate", first.Addr()+","+second.Addr(), ""))
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	servers.Eventually(t, servers.Settle, "the standby has it", func() bool {
		return second.Exec("gate", `SELECT coalesce(to_regclass('gate.evergate_pages')::text, '')`) != "" && second.Exec("gate", `SELECT count(*) FROM gate.evergate_pages`) == "1"
	})
	if err := storetest.PutOne(t, callBound, open(t, address("gate", second.Addr()+","+first.Addr(), "")), 1); err != nil {
		t.Errorf("with the standby named first: %v", err)
	}
	ended := storetest.Watching(t, beginBound, s, func(replica.Page) {})
	begun := time.Now()
	first.Stop()
	storetest.Broken(t, 5*time.Second, ended)
	if err := storetest.PutOne(t, callBound, s, 2); err == nil {
		t.Fatal("a standby took a write")
	}
	second.Promote()
	promoted := time.Now()
	servers.Eventually(t, servers.Settle, "the store writes to the second server", func() bool { return storetest.PutOne(t, callBound, s, 2) == nil })
	t.Logf("written again %v after the first one's end, %v after the promotion", time.Since(begun).Round(time.Millisecond), time.Since(promoted).Round(time.Millisecond))
	storetest.Stands(t, callBound, s, 2)
	heard := make(chan replica.Page, 1)
	storetest.Watching(t, beginBound, s, func(p replica.Page) { heard <- p })
	if err := storetest.PutOne(t, callBound, s, 3); err != nil {
		t.Fatal(err)
	}
	select {
	case <-heard:
	case <-time.After(2 * time.Second):
		t.Error("nothing heard through the second server")
	}
}

// A server that takes no writes any more, while its connections stay, is left.
func TestServerBecomesReadOnly(t *testing.T) {
	first, _ := start(t)
	second, _ := start(t)
	proxy := servers.StartProxy(t, first.Addr())
	s := open(t, address("gate", proxy.Addr, ""))
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	first.Exec("postgres", `ALTER SYSTEM SET default_transaction_read_only = on`)
	first.Exec("postgres", `SELECT pg_reload_conf()`)
	proxy.Lead(second.Addr())
	sequence := uint64(1)
	servers.Eventually(t, 10*time.Second, "the store writes to the other server", func() bool {
		sequence++
		_ = storetest.PutOne(t, callBound, s, sequence)
		return second.Exec("gate", `SELECT count(*) FROM pg_tables WHERE tablename = 'evergate_pages'`) == "1"
	})
	if err := storetest.PutOne(t, callBound, s, sequence+1); err != nil {
		t.Fatal(err)
	}
	storetest.Stands(t, callBound, s, sequence+1)
}

// R60: where nothing can be told, because some other program of the database never takes what is told to it, pages are put all the same.
func TestNothingCanBeTold(t *testing.T) {
	p, u := start(t)
	p.Exec("gate", `CREATE SCHEMA mine AUTHORIZATION gate; CREATE SCHEMA full_queue; GRANT USAGE ON SCHEMA full_queue TO gate;
		CREATE FUNCTION full_queue.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS
			$$BEGIN RAISE EXCEPTION 'too many notifications in the NOTIFY queue' USING ERRCODE = 'program_limit_exceeded'; END$$;
		ALTER ROLE gate SET search_path = full_queue, pg_catalog`)
	s := open(t, u+"schema=mine")
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	storetest.Stands(t, callBound, s, 1)
}

// R66: a lease of a clock that was set back is nobody's.
func TestALeaseOfAWrongClock(t *testing.T) {
	p, u := start(t)
	s := open(t, u)
	claim := func(holder string) bool {
		t.Helper()
		got, err := s.Claim(storetest.Within(t, 5*time.Second), "sweep", holder, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if !claim("a") || claim("b") {
		t.Fatal("a lease is not one holder's")
	}
	p.Exec("gate", `UPDATE gate.evergate_leases SET until = until + 9 * 365 * 86400000000`)
	if !claim("b") || claim("a") {
		t.Error("a lease of nine years is still held, or two hold it")
	}
}

func TestConnectionIsCut(t *testing.T) {
	p, _ := start(t)
	proxy := servers.StartProxy(t, p.Addr())
	s := open(t, address("gate", proxy.Addr, ""))
	for round := range uint64(5) {
		if err := storetest.PutOne(t, callBound, s, 2*round+1); err != nil {
			t.Fatal(err)
		}
		ended := storetest.Watching(t, beginBound, s, func(replica.Page) {})
		proxy.Cut()
		storetest.Broken(t, 2*time.Second, ended)
		_ = storetest.PutOne(t, callBound, s, 2*round+2) // it may be the one that notices
	}
	if err := storetest.PutOne(t, callBound, s, 100); err != nil {
		t.Fatal(err)
	}
	storetest.Stands(t, callBound, s, 100)
}

func TestSlowServer(t *testing.T) {
	p, _ := start(t)
	proxy := servers.StartProxy(t, p.Addr())
	s := open(t, address("gate", proxy.Addr, ""))
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	proxy.Delay(1500 * time.Millisecond)
	if err := s.Put(storetest.Within(t, 8*time.Second), []replica.Page{{Instance: "a1", Topic: "guards", Key: "k", Sequence: 2}}); err != nil {
		t.Errorf("a server that takes three seconds: %v", err)
	}
}

// A program that finds another one migrating waits for it.
func TestMigrationsAreGuarded(t *testing.T) {
	_, u := start(t)
	holder, err := pgx.Connect(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, postgres.LockOf("gate")); err != nil {
		t.Fatal(err)
	}
	s := open(t, u)
	if err := s.Put(storetest.Within(t, 500*time.Millisecond), nil); err != nil {
		t.Fatalf("no pages: %v", err)
	}
	if _, err := s.Members(storetest.Within(t, 500*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want that it waits", err)
	}
	if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_unlock($1)`, postgres.LockOf("gate")); err != nil {
		t.Fatal(err)
	}
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
}

// A migration that takes longer than a call goes on when the call ends, and is there for the next one; Close ends it.
func TestAMigrationOutlivesItsCall(t *testing.T) {
	p, u := start(t)
	p.Exec("gate", `CREATE SCHEMA other AUTHORIZATION gate`)
	holder, err := pgx.Connect(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	for _, schema := range []string{"gate", "other"} {
		if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, postgres.LockOf(schema)); err != nil {
			t.Fatal(err)
		}
	}
	s, closed := open(t, u), open(t, u+"schema=other")
	for _, s := range []*postgres.Store{s, closed} {
		if _, err := s.Members(storetest.Within(t, 300*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want that it waits", err)
		}
	}
	waiting := func() string {
		return p.Exec("gate", `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)
	}
	if got := waiting(); got != "2" {
		t.Fatalf("%s migrations wait, want 2", got)
	}
	_ = closed.Close()
	servers.Eventually(t, 5*time.Second, "the migration ends with its store", func() bool { return waiting() == "1" })
	for _, schema := range []string{"gate", "other"} {
		if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_unlock($1)`, postgres.LockOf(schema)); err != nil {
			t.Fatal(err)
		}
	}
	servers.Eventually(t, 5*time.Second, "the schema is migrated", func() bool {
		return p.Exec("gate", `SELECT count(*) FROM pg_tables WHERE schemaname = 'gate' AND tablename = 'evergate_tallies'`) == "1"
	})
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	if got := p.Exec("gate", `SELECT count(*) FROM pg_tables WHERE schemaname = 'other'`); got != "0" {
		t.Errorf("%s tables were made for a store that was closed", got)
	}
}

// Ten instances start at once on an empty schema, with a role that owns nothing else.
func TestTenStartAtOnce(t *testing.T) {
	p, u := start(t)
	var all sync.WaitGroup
	for i := range 10 {
		s := open(t, u)
		all.Go(func() {
			id := fmt.Sprint("i", i)
			if _, err := s.Beat(storetest.Within(t, 10*time.Second), replica.Member{ID: id}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := p.Exec("gate", `SELECT string_agg(version::text, ' ' ORDER BY version) FROM gate.evergate_schema`); got != postgres.Versions() {
		t.Errorf("versions: %s, want %s", got, postgres.Versions())
	}
	if got := p.Exec("gate", `SELECT count(*) FROM gate.evergate_members`); got != "10" {
		t.Errorf("members: %s", got)
	}
	if got := p.Exec("gate", `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'`); got != "0" {
		t.Errorf("%s advisory locks are left", got)
	}
}

// A newer program's schema is used if only the last two digits differ, else refused with a reason.
func TestNewerSchema(t *testing.T) {
	p, u := start(t)
	first := open(t, u)
	if err := storetest.PutOne(t, callBound, first, 1); err != nil {
		t.Fatal(err)
	}
	p.Exec("gate", `INSERT INTO gate.evergate_schema VALUES (199)`)
	if err := storetest.PutOne(t, callBound, open(t, u), 2); err != nil {
		t.Errorf("version 199: %v", err)
	}
	p.Exec("gate", `INSERT INTO gate.evergate_schema VALUES (200)`)
	if err := storetest.PutOne(t, callBound, open(t, u), 3); err == nil || !strings.Contains(err.Error(), "version 200") {
		t.Errorf("version 200: %v", err)
	}
	// Rights on the tables are enough once they stand.
	p.Exec("gate", `DELETE FROM gate.evergate_schema WHERE version >= 199; DELETE FROM gate.evergate_pages;
		REVOKE CREATE ON SCHEMA gate FROM gate; CREATE ROLE clerk LOGIN PASSWORD '`+servers.Password+`';
		GRANT USAGE ON SCHEMA gate TO clerk; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA gate TO clerk`)
	works(t, strings.Replace(address("clerk", p.Addr(), "schema=gate"), "/clerk?", "/gate?", 1))
}

// Two schemas of one database are two fleets.
func TestSchemasAreApart(t *testing.T) {
	p, _ := start(t)
	p.Exec("gate", `CREATE SCHEMA one AUTHORIZATION gate; CREATE SCHEMA "Two ""2" AUTHORIZATION gate`)
	one, two := open(t, address("gate", p.Addr(), "schema=one")), open(t, address("gate", p.Addr(), "schema=Two%20%222"))
	heard := make(chan replica.Page, 10)
	storetest.Watching(t, beginBound, two, func(p replica.Page) { heard <- p })
	if err := storetest.PutOne(t, callBound, one, 1); err != nil {
		t.Fatal(err)
	}
	if err := storetest.PutOne(t, callBound, two, 2); err != nil {
		t.Fatal(err)
	}
	storetest.Stands(t, callBound, one, 1)
	storetest.Stands(t, callBound, two, 2)
	select {
	case got := <-heard:
		if got.Sequence != 2 {
			t.Errorf("heard %v of the other fleet", got)
		}
	case <-time.After(5 * time.Second):
		t.Error("nothing heard")
	}
}

package e2e

import (
	"net/url"
	"strings"
	"testing"

	"evergate/internal/testkit/servers"
)

// stateServer is a real server for the state, and what can be done to it.
type stateServer struct {
	name                       string
	addr                       string
	url                        func(addr string) string
	kill, start, pause, resume func()
	wipe                       func() // has it come back with nothing in it
	empty                      func() // takes all that is in it away, without a word to who is connected
	fill, free                 func() // has it refuse to take more, and take it again; nil: it cannot
}

// eachServer runs a test with each kind of server; where one is missing it says so.
func eachServer(t *testing.T, test func(t *testing.T, s *stateServer)) {
	t.Helper()
	for name, start := range map[string]func(testing.TB, ...string) *servers.Redis{"redis": servers.StartRedis, "valkey": servers.StartValkey} {
		t.Run(name, func(t *testing.T) {
			sideBySide(t)
			test(t, redisState(t, start))
		})
	}
	t.Run("postgres", func(t *testing.T) {
		sideBySide(t)
		s, _ := postgresState(t)
		test(t, s)
	})
}

func redisState(t *testing.T, start func(testing.TB, ...string) *servers.Redis) *stateServer {
	t.Helper()
	r := start(t, "--requirepass", servers.Password)
	return &stateServer{
		name: "redis", addr: r.Addr(),
		url:  func(addr string) string { return "redis://:" + url.QueryEscape(servers.Password) + "@" + addr + "/0" },
		kill: r.Kill, start: r.Start, pause: r.Pause, resume: r.Resume, wipe: r.Restart,
		empty: func() { r.Do("FLUSHALL") },
		fill:  func() { r.Do("CONFIG", "SET", "maxmemory", "1") }, free: func() { r.Do("CONFIG", "SET", "maxmemory", "0") },
	}
}

func postgresState(t *testing.T) (*stateServer, *servers.Postgres) {
	t.Helper()
	p := servers.StartPostgres(t)
	p.Database("gate")
	var paused []string
	// A gateway that writes at this moment may hold what this waits for, and wait for what this holds.
	empty := func() {
		p.Exec("gate", `DO $$ BEGIN LOOP
			BEGIN DROP SCHEMA gate CASCADE; CREATE SCHEMA gate AUTHORIZATION gate; EXIT;
			EXCEPTION WHEN deadlock_detected THEN NULL; END;
		END LOOP; END $$`)
	}
	return &stateServer{
		name: "postgres", addr: p.Addr(),
		url: func(addr string) string {
			return "postgres://gate:" + url.QueryEscape(servers.Password) + "@" + addr + "/gate?target_session_attrs=read-write"
		},
		kill: p.Kill, start: p.Start,
		pause: func() {
			paused = strings.Fields(p.Exec("gate", "SELECT pid FROM pg_stat_activity"))
			p.PauseAll(paused)
		},
		resume: func() { p.ResumeAll(paused) },
		empty:  empty,
		wipe: func() {
			empty()
			p.Kill()
			p.Start()
		},
	}, p
}

package postgres_test

import (
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"evergate/internal/replica"
	"evergate/internal/store/postgres"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
	"evergate/internal/threads"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, u string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// address is the URL of a database of that name, for its role.
func address(name, hosts, options string) string {
	return "postgres://" + name + ":" + url.QueryEscape(servers.Password) + "@" + hosts + "/" + name + "?" + options
}

func TestContract(t *testing.T) {
	p := servers.StartPostgres(t)
	p.Database("gate")
	var n atomic.Int64
	urls := map[replica.Store]string{}
	storetest.Run(t, func(t *testing.T) replica.Store {
		schema := fmt.Sprintf("t%d", n.Add(1))
		p.Exec("gate", `CREATE SCHEMA `+schema+` AUTHORIZATION gate`)
		u := address("gate", p.Addr(), "schema="+schema)
		s := open(t, u)
		urls[s] = u
		return s
	}, storetest.Options{Peer: func(t *testing.T, of replica.Store) replica.Store { return open(t, urls[of]) }})
}

func TestArchive(t *testing.T) {
	p := servers.StartPostgres(t)
	p.Database("gate")
	n := 0
	storetest.RunArchive(t, func(t *testing.T, room threads.Room) (one, peer threads.Archive) {
		n++
		schema := fmt.Sprintf("a%d", n)
		p.Exec("gate", `CREATE SCHEMA `+schema+` AUTHORIZATION gate`)
		u := address("gate", p.Addr(), "schema="+schema)
		return open(t, u).Answers(room), open(t, u).Answers(room)
	}, storetest.ArchiveOptions{})
}

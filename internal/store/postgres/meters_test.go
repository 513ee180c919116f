package postgres_test

import (
	"fmt"
	"testing"

	"evergate/internal/quota/meters"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

func TestMeters(t *testing.T) {
	p := servers.StartPostgres(t)
	p.Database("gate")
	n := 0
	storetest.RunMeters(t, func(t *testing.T) (one, peer meters.Store) {
		n++
		schema := fmt.Sprintf("m%d", n)
		p.Exec("gate", `CREATE SCHEMA `+schema+` AUTHORIZATION gate`)
		u := address("gate", p.Addr(), "schema="+schema)
		return open(t, u).Meters(), open(t, u).Meters()
	}, storetest.MeterOptions{})
}

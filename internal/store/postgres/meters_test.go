package postgres_test

import (
	"fmt"
	"testing"
	"time"

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

// A clock that was ahead when what has ended was last taken away, and is right again, keeps nothing from being taken away.
func TestMetersOfAWrongClock(t *testing.T) {
	p, u := start(t)
	s := open(t, u)
	for _, last := range []time.Duration{-time.Hour, 9 * 365 * 24 * time.Hour} {
		s.CountsTidied(time.Now().Add(last).Unix())
		over := meters.Tally{Meter: "m", Instance: "a", Version: 1, Life: -time.Hour}
		if _, err := s.Meters().Exchange(storetest.Within(t, callBound), []meters.Tally{over}, nil); err != nil {
			t.Fatal(err)
		}
		if got := p.Exec("gate", `SELECT count(*) FROM gate.evergate_tallies`); got != "0" {
			t.Errorf("%s tallies are left, last taken away %v from now", got, last)
		}
	}
}

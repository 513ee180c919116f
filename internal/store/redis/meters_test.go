package redis_test

import (
	"fmt"
	"testing"

	"evergate/internal/quota/meters"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

// counts runs the suite on a server; each store has a prefix of its own.
func counts(t *testing.T, url string) {
	t.Helper()
	n := 0
	storetest.RunMeters(t, func(t *testing.T) (one, peer meters.Store) {
		n++
		u := fmt.Sprintf("%sprefix=m%d-", url, n)
		return open(t, u).Meters(), open(t, u).Meters()
	}, storetest.MeterOptions{})
}

func TestMeters(t *testing.T) {
	r := servers.StartRedis(t)
	t.Run("RESP3", func(t *testing.T) { counts(t, "redis://"+r.Addr()+"/0?") })
	t.Run("RESP2", func(t *testing.T) { counts(t, "valkey://"+r.Addr()+"/1?protocol=2&") })
}

func TestMetersInCluster(t *testing.T) {
	nodes := servers.StartRedisCluster(t, 3)
	counts(t, "redis://"+nodes[1].Addr()+","+nodes[0].Addr()+"?cluster=true&")
}

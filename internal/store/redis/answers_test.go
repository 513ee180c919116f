package redis_test

import (
	"fmt"
	"testing"

	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
	"evergate/internal/threads"
)

// archives runs the suite on a server; each archive has a prefix of its own.
func archives(t *testing.T, url string) {
	t.Helper()
	n := 0
	storetest.RunArchive(t, func(t *testing.T, room threads.Room) (one, peer threads.Archive) {
		n++
		u := fmt.Sprintf("%sprefix=a%d-", url, n)
		return open(t, u).Answers(room), open(t, u).Answers(room)
	}, storetest.ArchiveOptions{})
}

func TestArchive(t *testing.T) {
	r := servers.StartRedis(t)
	t.Run("RESP3", func(t *testing.T) { archives(t, "redis://"+r.Addr()+"/0?") })
	t.Run("RESP2", func(t *testing.T) { archives(t, "valkey://"+r.Addr()+"/1?protocol=2&") })
}

func TestArchiveInCluster(t *testing.T) {
	nodes := servers.StartRedisCluster(t, 3)
	archives(t, "redis://"+nodes[1].Addr()+","+nodes[0].Addr()+"?cluster=true&")
}

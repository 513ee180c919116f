package redis_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evergate/internal/replica"
	"evergate/internal/store/redis"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The library's own, of a cluster's client: each sleeps five seconds or one at the most and ends then, also after Close.
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// open gives a store that is closed with the test.
func open(t testing.TB, url string) *redis.Store {
	t.Helper()
	s, err := redis.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// contract runs the suite on a server; each store has a prefix of its own, and peers have the same.
func contract(t *testing.T, url string, wrap func(*redis.Store) replica.Store) {
	t.Helper()
	var n atomic.Int64
	urls := map[replica.Store]string{}
	storetest.Run(t, func(t *testing.T) replica.Store {
		u := fmt.Sprintf("%sprefix=t%d-", url, n.Add(1))
		s := wrap(open(t, u))
		urls[s] = u
		return s
	}, storetest.Options{Peer: func(t *testing.T, of replica.Store) replica.Store { return wrap(open(t, urls[of])) }})
}

func TestContract(t *testing.T) {
	r := servers.StartRedis(t)
	t.Run("RESP3", func(t *testing.T) { contract(t, "redis://"+r.Addr()+"/0?", itself) })
	t.Run("RESP2", func(t *testing.T) { contract(t, "valkey://"+r.Addr()+"/1?protocol=2&", itself) })
}

func TestCluster(t *testing.T) {
	nodes := servers.StartRedisCluster(t, 3)
	contract(t, "redis://"+nodes[1].Addr()+","+nodes[0].Addr()+"?cluster=true&", func(s *redis.Store) replica.Store { return patient{s} })
}

func itself(s *redis.Store) replica.Store { return s }

// patient begins to watch a while later: the nodes of a Cluster tell each other what is published, and a watch at another node may still hear what
// was put just before it began. That harms nobody (a page says the same however often it is heard), but the suite looks for it.
type patient struct{ *redis.Store }

func (p patient) Watch(ctx context.Context, ready func(), heard func(replica.Page)) error {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
	return p.Store.Watch(ctx, ready, heard)
}

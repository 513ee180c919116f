package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/replica"
	"evergate/internal/store/redis"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

// How long a call and the beginning of a watch may take.
const (
	callBound  = 2 * time.Second
	beginBound = 5 * time.Second
)

var late = replica.Page{Instance: "a1", Topic: "guards", Key: "k", Sequence: 9}

// R60: a server that is mute holds up nobody beyond his own patience, piles nothing up, and is as good as ever when it speaks again.
func TestMuteServer(t *testing.T) {
	r := servers.StartRedis(t)
	s := open(t, "redis://"+r.Addr())
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	ended := storetest.Watching(t, beginBound, s, func(replica.Page) {})
	before := runtime.NumGoroutine()
	r.Pause()
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
			err := s.Put(ctx, []replica.Page{{Instance: "a1", Topic: "guards", Key: "k", Sequence: 2}})
			if !errors.Is(err, want) {
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
		if err == nil || !strings.Contains(err.Error(), "did not answer within 10s") {
			t.Errorf("a call without a deadline: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a call without a deadline waits for ever")
	}
	t.Logf("the watch of a mute server ended after %v", time.Since(paused).Round(time.Second))
	r.Resume()
	servers.Eventually(t, 2*time.Second, "the store works", func() bool { return storetest.PutOne(t, callBound, s, 3) == nil })
	storetest.Stands(t, callBound, s, 3)
	ended = storetest.Watching(t, beginBound, s, func(replica.Page) {})
	r.Pause()
	begun := time.Now()
	calling := make(chan error, 1)
	go func() { calling <- s.Put(context.WithoutCancel(t.Context()), []replica.Page{late}) }()
	_ = s.Close()
	if d := time.Since(begun); d > 3*time.Second {
		t.Errorf("Close of a mute server took %v", d)
	}
	if err := <-calling; err == nil {
		t.Error("a call outlived Close")
	}
	storetest.Broken(t, time.Second, ended)
}

func TestServerIsDownAtFirst(t *testing.T) {
	r := servers.StartRedis(t)
	r.Kill()
	s := open(t, "redis://"+r.Addr())
	if err := storetest.PutOne(t, callBound, s, 1); err == nil || !strings.Contains(err.Error(), r.Addr()) {
		t.Errorf("got %v, want an error that names the address", err)
	}
	if err := s.Watch(t.Context(), func() { t.Error("ready") }, func(replica.Page) {}); err == nil {
		t.Error("a watch of nothing ended without an error")
	}
	r.Start()
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	storetest.Stands(t, callBound, s, 1)
}

// A server that keeps nothing on disk comes back without pages and scripts.
func TestServerComesBackEmpty(t *testing.T) {
	r := servers.StartRedis(t)
	s := open(t, "redis://"+r.Addr())
	if err := storetest.PutOne(t, callBound, s, 5); err != nil {
		t.Fatal(err)
	}
	ended := storetest.Watching(t, beginBound, s, func(replica.Page) {})
	r.Restart()
	storetest.Broken(t, 5*time.Second, ended)
	servers.Eventually(t, 2*time.Second, "the store works", func() bool { return storetest.PutOne(t, callBound, s, 1) == nil })
	storetest.Stands(t, callBound, s, 1)
	if got, err := s.Claim(storetest.Within(t, time.Second), "lease", "a1", time.Minute); err != nil || !got {
		t.Errorf("claim: %t, %v", got, err)
	}
	r.Do("SCRIPT", "FLUSH")
	if err := storetest.PutOne(t, callBound, s, 2); err != nil {
		t.Fatal(err)
	}
	storetest.Stands(t, callBound, s, 2)
}

func TestConnectionIsCut(t *testing.T) {
	r := servers.StartRedis(t)
	p := servers.StartProxy(t, r.Addr())
	s := open(t, "redis://"+p.Addr)
	for round := range uint64(5) {
		if err := storetest.PutOne(t, callBound, s, 2*round+1); err != nil {
			t.Fatal(err)
		}
		ended := storetest.Watching(t, beginBound, s, func(replica.Page) {})
		p.Cut()
		storetest.Broken(t, 2*time.Second, ended)
		_ = storetest.PutOne(t, callBound, s, 2*round+2) // it may be the one that notices
	}
	if err := storetest.PutOne(t, callBound, s, 100); err != nil {
		t.Fatal(err)
	}
	storetest.Stands(t, callBound, s, 100)
}

func TestSlowServer(t *testing.T) {
	r := servers.StartRedis(t)
	p := servers.StartProxy(t, r.Addr())
	s := open(t, "redis://"+p.Addr)
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	p.Delay(1500 * time.Millisecond)
	if err := s.Put(storetest.Within(t, 8*time.Second), []replica.Page{late}); err != nil {
		t.Errorf("a server that takes three seconds: %v", err)
	}
}

// A master that was degraded behind the same address refuses writes; the store looks where the name leads now.
func TestMasterBecomesReplica(t *testing.T) {
	old, next := servers.StartRedis(t), servers.StartRedis(t)
	p := servers.StartProxy(t, old.Addr())
	s := open(t, "redis://"+p.Addr)
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	old.Do("REPLICAOF", "127.0.0.1", fmt.Sprint(next.Port))
	p.Lead(next.Addr())
	servers.Eventually(t, 2*time.Second, "the store writes to the new master", func() bool { return storetest.PutOne(t, callBound, s, 2) == nil })
	storetest.Stands(t, callBound, s, 2)
}

// What a script is refused by a replica reads differently before Redis 7.
func TestRefusedByAReplica(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"READONLY You can't write against a read only replica.":                                                                                         true,
		"READONLY You can't write against a read only replica. script: 1b2f, on @user_script:8.":                                                        true,
		"ERR Error running script (call to f_6b1bf486c81c): @user_script:8: @user_script: 8: -READONLY You can't write against a read only replica. ":   true,
		"ERR Error running script (call to f_6b1bf486c81c): @user_script:8: @user_script: 8: -READONLY You can't write against a read only slave. ":     true,
		"OOM command not allowed when used memory > 'maxmemory'.":                                                                                       false,
		"NOREPLICAS Not enough good replicas to write.":                                                                                                 false,
		"ERR Error running script (call to f_6b1bf486c81c): @user_script:8: @user_script: 8: -OOM command not allowed when used memory > 'maxmemory'. ": false,
	} {
		if got := redis.Degraded(said); got != want {
			t.Errorf("%q: %t", said, got)
		}
	}
}

// R60: a server that takes no writes for a while, since its memory is full, its disk is, or its replicas are gone, says so, is read nevertheless, and is as
// good as before when it does again.
func TestServerTakesNoWrites(t *testing.T) {
	r := servers.StartRedis(t)
	s := open(t, "redis://"+r.Addr())
	sequence := uint64(1)
	for _, c := range []struct{ setting, bad, good, word string }{
		{"maxmemory", "1", "0", "OOM"},
		{"min-replicas-to-write", "1", "0", "NOREPLICAS"},
	} {
		if err := storetest.PutOne(t, callBound, s, sequence); err != nil {
			t.Fatal(err)
		}
		r.Do("CONFIG", "SET", c.setting, c.bad)
		if err := storetest.PutOne(t, callBound, s, sequence+1); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", c.setting, err)
		}
		if _, err := s.Beat(storetest.Within(t, 5*time.Second), replica.Member{ID: "a"}); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", c.setting, err)
		}
		storetest.Stands(t, callBound, s, sequence)
		r.Do("CONFIG", "SET", c.setting, c.good)
		sequence += 2
		if err := storetest.PutOne(t, callBound, s, sequence); err != nil {
			t.Errorf("%s: afterwards: %v", c.setting, err)
		}
		storetest.Stands(t, callBound, s, sequence)
		sequence++
	}
}

// What is there that no gateway wrote, or one that is newer by far, blinds nobody to the rest.
func TestWhatCannotBeRead(t *testing.T) {
	r := servers.StartRedis(t)
	s := open(t, "redis://"+r.Addr())
	ctx := storetest.Within(t, 10*time.Second)
	if _, err := s.Beat(ctx, replica.Member{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	storetest.Stands(t, callBound, s, 1)
	r.Do("HSET", "{evergate}:members", "x", "?")
	for _, field := range []string{"x", "1:x1:y"} {
		r.Do("HSET", "{evergate}:pages:guards", field, "?")
		r.Do("ZADD", "{evergate}:at:guards", "9000000000000000", field)
	}
	r.Do("SADD", "{evergate}:of:x", "?")
	if all, err := s.Members(ctx); err != nil || len(all) != 1 {
		t.Errorf("members: %v, %v", all, err)
	}
	if pages, err := s.Read(ctx, "guards", time.Time{}, 0); err != nil || len(pages) != 1 {
		t.Errorf("pages: %v, %v", pages, err)
	}
	if err := s.Drop(ctx, "x"); err != nil {
		t.Error(err)
	}
	if got := r.Do("EXISTS", "{evergate}:of:x"); got != "0" {
		t.Errorf("what the instance had is there: %s", got)
	}
}

func TestSentinelFailover(t *testing.T) {
	master := servers.StartRedis(t, "--requirepass", "pw", "--masterauth", "pw")
	replicaOf := servers.StartRedis(t, "--requirepass", "pw", "--masterauth", "pw", "--replicaof", "127.0.0.1 "+fmt.Sprint(master.Port))
	sentinels := servers.StartSentinels(t, master, 3)
	hosts := make([]string, len(sentinels))
	for i, s := range sentinels {
		hosts[i] = s.Addr()
	}
	s := open(t, "redis://:pw@"+strings.Join(hosts, ",")+"?sentinel_master=main")
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	master.Do("WAIT", "1", "2000")
	ended := storetest.Watching(t, beginBound, s, func(replica.Page) {})
	begun := time.Now()
	master.Kill()
	storetest.Broken(t, 5*time.Second, ended)
	servers.Eventually(t, servers.Settle, "the store writes to the new master", func() bool { return storetest.PutOne(t, callBound, s, 2) == nil })
	t.Logf("written again %v after the master's end", time.Since(begun).Round(time.Millisecond))
	storetest.Stands(t, callBound, s, 2)
	if got := replicaOf.Do("ROLE"); !strings.HasPrefix(got, "master") {
		t.Errorf("the replica's role: %s", got)
	}
	heard := make(chan replica.Page, 1)
	storetest.Watching(t, beginBound, s, func(p replica.Page) { heard <- p })
	if err := storetest.PutOne(t, callBound, s, 3); err != nil {
		t.Fatal(err)
	}
	select {
	case <-heard:
	case <-time.After(2 * time.Second):
		t.Error("nothing heard through the new master")
	}
}

func TestClusterFailover(t *testing.T) {
	nodes := servers.StartRedisCluster(t, 3)
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.Addr())
	}
	s := open(t, "redis://"+strings.Join(hosts, ",")+"?cluster=true")
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Fatal(err)
	}
	owner := nodes[0]
	for _, n := range nodes {
		if strings.Contains(n.Do("CLUSTER", "COUNTKEYSINSLOT", n.Do("CLUSTER", "KEYSLOT", "{evergate}:x")), "3") {
			owner = n
		}
	}
	standby := servers.StartRedis(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port", fmt.Sprint(freePort(t)))
	standby.Do("CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(owner.Port), owner.Do("CONFIG", "GET", "cluster-port")[len("cluster-port\n"):])
	id := owner.Do("CLUSTER", "MYID")
	servers.Eventually(t, servers.Settle, "the standby follows", func() bool {
		_, _ = standby.Try("CLUSTER", "REPLICATE", id)
		out, _ := standby.Try("INFO", "replication")
		for _, n := range append(nodes, standby) { // who does not know it as a replica has no vote for it
			if known, _ := n.Try("CLUSTER", "REPLICAS", id); !strings.Contains(known, standby.Addr()) {
				return false
			}
		}
		return strings.Contains(out, "master_link_status:up")
	})
	begun := time.Now()
	owner.Kill()
	servers.Eventually(t, servers.Settle, "the standby took over", func() bool { return strings.HasPrefix(standby.Do("ROLE"), "master") })
	t.Logf("the standby took over after %v", time.Since(begun).Round(time.Millisecond))
	servers.Eventually(t, servers.Settle, "the store writes to the new owner of its slot", func() bool { return storetest.PutOne(t, callBound, s, 2) == nil })
	t.Logf("written again %v after the owner's end", time.Since(begun).Round(time.Millisecond))
	storetest.Stands(t, callBound, s, 2)
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Nothing stays forever, and nothing goes while somebody beats.
func TestKeysExpire(t *testing.T) {
	r := servers.StartRedis(t)
	s := open(t, "redis://"+r.Addr()+"?prefix=one-")
	ctx := storetest.Within(t, 10*time.Second)
	if _, err := s.Beat(ctx, replica.Member{ID: "a1"}); err != nil {
		t.Fatal(err)
	}
	err := s.Put(ctx, []replica.Page{
		{Instance: "a1", Topic: "guards", Key: "k", Sequence: 1}, {Topic: "orders", Key: "k", Sequence: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(ctx, "lease", "a1", time.Minute); err != nil {
		t.Fatal(err)
	}
	keys := strings.Fields(r.Do("KEYS", "*"))
	slices.Sort(keys)
	want := []string{"at:guards", "at:orders", "lease:lease", "members", "of:a1", "pages:guards", "pages:orders"}
	for i, name := range want {
		want[i] = "one-{evergate}:" + name
	}
	if !slices.Equal(keys, want) {
		t.Errorf("keys: %q", keys)
	}
	for _, key := range keys {
		if ttl := r.Do("TTL", key); strings.HasPrefix(ttl, "-") {
			t.Errorf("%s stays forever", key)
		}
	}
	guards, orders := "one-{evergate}:pages:guards", "one-{evergate}:pages:orders"
	for key, want := range map[string]time.Duration{guards: redis.Keep, orders: redis.KeepFleet} {
		if got := r.Do("TTL", key); got != fmt.Sprint(int(want.Seconds())) && got != fmt.Sprint(int(want.Seconds())-1) {
			t.Errorf("%s: %s, want %v", key, got, want)
		}
		r.Do("EXPIRE", key, "60")
	}
	// Another instance, that has only read, keeps them alive with its beats.
	other := open(t, "redis://"+r.Addr()+"?prefix=one-")
	for _, topic := range []replica.Topic{"guards", "orders"} {
		if _, err := other.Read(ctx, topic, time.Time{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.Beat(ctx, replica.Member{ID: "b2"}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{guards, orders} {
		if got := r.Do("TTL", key); len(got) < 6 {
			t.Errorf("%s was left to expire in %s s", key, got)
		}
	}
}

package servers

import (
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Redis is a redis-server (or valkey-server) of a test; Start, Kill, Pause and Resume are safe for concurrent use. It keeps nothing on disk:
// after Kill and Start it is empty.
type Redis struct {
	*process

	Port int
	cli  string
	auth []string // arguments of redis-cli
}

var redisNames = []string{"redis-server", "valkey-server"}

// StartRedis runs a server until the test ends, with further arguments as on its command line ("--requirepass", "x"). The test is
// skipped, or fails by Required, where no such server is installed.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	return startRedis(t, redisNames, freePort(t), args...)
}

// StartValkey is StartRedis for valkey-server alone. Debian has it from release 13 on, so that the test is skipped without it, come what may.
func StartValkey(t testing.TB, args ...string) *Redis {
	t.Helper()
	names := []string{"valkey-server"}
	if program(names) == "" {
		t.Skip("NOT TESTED against Valkey: valkey-server is missing")
	}
	return startRedis(t, names, freePort(t), args...)
}

func startRedis(t testing.TB, names []string, port int, args ...string) *Redis {
	t.Helper()
	path, cli := program(names), program([]string{"redis-cli", "valkey-cli"})
	if path == "" || cli == "" {
		missing(t, names[0], names[0])
	}
	dir := tempDir(t, nil)
	all := append([]string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir, "--save", "", "--appendonly", "no",
		"--repl-diskless-sync-delay", "0",
	}, args...)
	r := &Redis{Port: port, cli: cli, process: &process{t: t, path: path, args: all, dir: dir}}
	for i, a := range all {
		switch a {
		case "--requirepass":
			r.auth = append(r.auth, "--no-auth-warning", "-a", all[i+1])
		case "--tls-port":
			r.auth = append(r.auth, "--tls", "--insecure")
			r.Port, _ = strconv.Atoi(all[i+1])
		case "--tls-cert-file":
			r.auth = append(r.auth, "--cert", all[i+1])
		case "--tls-key-file":
			r.auth = append(r.auth, "--key", all[i+1])
		}
	}
	r.up = func() bool {
		out, err := r.Try("PING")
		return err == nil && strings.Contains(out, "PONG")
	}
	t.Cleanup(r.Kill)
	r.Start()
	return r
}

// StartRedisTLS runs a server that speaks TLS alone and asks for its clients' certificates.
func StartRedisTLS(t testing.TB, c Certificate) *Redis {
	t.Helper()
	return startRedis(t, redisNames, 0, "--tls-port", strconv.Itoa(freePort(t)), "--tls-cert-file", c.CertFile, "--tls-key-file", c.KeyFile, "--tls-ca-cert-file", c.CAFile)
}

// Addr is the server's host and port.
func (r *Redis) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port)) }

// Do runs a command and gives the reply as redis-cli prints it.
func (r *Redis) Do(args ...string) string {
	r.t.Helper()
	out, err := r.Try(args...)
	if err != nil {
		r.t.Fatalf("redis-cli %v: %v\n%s", args, err, out)
	}
	return out
}

// Try is Do for commands that may fail.
func (r *Redis) Try(args ...string) (string, error) {
	out, err := try(nil, askBound, r.cli, append(append([]string{"-h", "127.0.0.1", "-p", strconv.Itoa(r.Port)}, r.auth...), args...)...)
	return strings.TrimSpace(out), err
}

// StartSentinels runs n Sentinels that watch master under the name "main" and agree on its end after a second.
func StartSentinels(t testing.TB, master *Redis, n int) []*Redis {
	t.Helper()
	out := make([]*Redis, n)
	for i := range out {
		port, dir := freePort(t), tempDir(t, nil)
		conf := []string{
			"bind 127.0.0.1", "port " + strconv.Itoa(port), "dir " + dir,
			"sentinel monitor main 127.0.0.1 " + strconv.Itoa(master.Port) + " " + strconv.Itoa(n/2+1),
			"sentinel down-after-milliseconds main 1000", "sentinel failover-timeout main 5000", "",
		}
		if len(master.auth) > 0 {
			conf = append(conf, "sentinel auth-pass main "+master.auth[len(master.auth)-1], "")
		}
		write(t, dir+"/sentinel.conf", strings.Join(conf, "\n"))
		s := &Redis{Port: port, cli: master.cli, process: &process{t: t, path: master.path, args: []string{dir + "/sentinel.conf", "--sentinel"}, dir: dir}}
		s.up = func() bool {
			out, err := s.Try("PING")
			return err == nil && strings.Contains(out, "PONG")
		}
		t.Cleanup(s.Kill)
		s.Start()
		out[i] = s
	}
	Eventually(t, startBound, "the Sentinels know each other and a replica", func() bool {
		for _, s := range out {
			said, err := s.Try("SENTINEL", "MASTER", "main")
			if err != nil || after(said, "num-other-sentinels") != strconv.Itoa(n-1) || after(said, "num-slaves") == "0" {
				return false
			}
		}
		return true
	})
	return out
}

// after is the line that follows the one given.
func after(text, line string) string {
	_, rest, _ := strings.Cut(text, line+"\n")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// StartRedisCluster runs a cluster of n (3 or more) masters, further arguments for each.
func StartRedisCluster(t testing.TB, n int, args ...string) []*Redis {
	t.Helper()
	nodes := make([]*Redis, n)
	create := []string{"--cluster", "create"}
	for i := range nodes {
		nodes[i] = StartRedis(t, append([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port", strconv.Itoa(freePort(t))}, args...)...)
		create = append(create, nodes[i].Addr())
	}
	run(t, nil, nodes[0].cli, append(append(create, nodes[0].auth...), "--cluster-yes")...)
	Eventually(t, startBound, "the cluster is whole on all nodes", func() bool {
		for _, n := range nodes {
			if out, err := n.Try("CLUSTER", "INFO"); err != nil || !strings.Contains(out, "cluster_state:ok") {
				return false
			}
		}
		return true
	})
	return nodes
}

// Stop ends the server in order.
func (r *Redis) Stop() { r.end(syscall.SIGTERM) }

// Restart is a server that comes back empty after a pause of nothing: its port is the same.
func (r *Redis) Restart() {
	r.t.Helper()
	r.Kill()
	r.Start()
}

// Settle is how long a test may wait for a server that fails over.
const Settle = 20 * time.Second

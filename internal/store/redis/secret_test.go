package redis_test

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/replica"
	"evergate/internal/store/redis"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

func TestMalformedAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, url, want string }{
		{"nothing", "", "begins with none of"},
		{"another scheme", "http://u:hunter2@h", "begins with none of"},
		{"no scheme", "u:hunter2@h:6379", "begins with none of"},
		{"slash in the password", "redis://u:hunter2/3@h:6379/0", "percent-encoded"},
		{"number sign in the password", "redis://u:hunter2#3@h:6379/0", "percent-encoded"},
		{"question mark in the password", "redis://u:1?hunter2=3@h:6379/0", "percent-encoded"},
		{"at sign in the password", "redis://u:hunter2@3@h:6379/0", "percent-encoded"},
		{"percent sign in the password", "redis://u:hunter2%@h:6379/0", "percent-encoded"},
		{"port", "redis://u:hunter2@h:x", "port"},
		{"port 0", "redis://u:hunter2@h:0", "port"},
		{"no host", "redis://u:hunter2@/0", "host is missing"},
		{"database", "redis://u:hunter2@h/hunter2", "number of a database"},
		{"unknown option", "redis://u:hunter2@h?hunter2=1", "an option is unknown"},
		{"options", "redis://u:hunter2@h?prefix=%zz", "malformed"},
		{"prefix", "redis://u:hunter2@h?prefix={x}", "braces"},
		{"protocol", "redis://u:hunter2@h?protocol=4", "protocol is 2 or 3"},
		{"cluster", "redis://u:hunter2@h?cluster=maybe", "cluster is true or false"},
		{"several hosts", "redis://u:hunter2@h,i", "say which"},
		{"cluster and Sentinel", "redis://u:hunter2@h?cluster=true&sentinel_master=m", "do not go together"},
		{"cluster and database", "redis://u:hunter2@h/1?cluster=true", "database 0"},
		{"Sentinel without a name", "redis+sentinel://u:hunter2@h", "sentinel_master is missing"},
		{"TLS option without TLS", "redis://u:hunter2@h?ca=x", "is for TLS"},
		{"no such file", "rediss://u:hunter2@h?ca=/no/such", "ca: open /no/such"},
		{"no certificate", "rediss://u:hunter2@h?ca=/dev/null", "no certificate"},
		{"no key", "rediss://u:hunter2@h?cert=/no/such", "cert and key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := redis.Open(tt.url)
			if err == nil {
				_ = s.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want %q", err, tt.want)
			}
			silent(t, err, "hunter2")
		})
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		"redis://h", "redis://h:1/15", "redis://:pw@h", "redis://u@h", "redis://u:p%2Fw%40@[::1]:7000/2?prefix=x-&protocol=3", "valkey://h", "valkeys://h?server_name=x",
		"rediss://h", "redis://h,i:2,[::1]?cluster=true", "redis://h,i?sentinel_master=m&sentinel_username=u&sentinel_password=p", "redis+sentinel://h?sentinel_master=m",
		"redis://h/?cluster=false",
	} {
		s, err := redis.Open(u)
		if err != nil {
			t.Errorf("%s: %v", u, err)
			continue
		}
		_ = s.Close()
	}
}

// silent fails if an error, or one that it wraps, says a secret.
func silent(t testing.TB, err error, secrets ...string) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, s := range secrets {
			if strings.Contains(err.Error(), s) {
				t.Errorf("the error says the secret: %v", err)
			}
		}
	}
}

// failures gives what every call says of a store that cannot work.
func failures(t testing.TB, u string) []error {
	t.Helper()
	s := open(t, u)
	ctx := storetest.Within(t, 10*time.Second)
	calls := []func() error{
		func() error { _, err := s.Beat(ctx, replica.Member{ID: "a1"}); return err },
		func() error { _, err := s.Members(ctx); return err },
		func() error { _, err := s.Read(ctx, "guards", time.Time{}, 0); return err },
		func() error { _, err := s.Claim(ctx, "lease", "a1", time.Second); return err },
		func() error { return s.Put(ctx, []replica.Page{{Instance: "a1", Topic: "guards", Key: "k"}}) },
		func() error { return s.Drop(ctx, "a1") },
		func() error { return s.Watch(ctx, func() {}, func(replica.Page) {}) },
	}
	out := make([]error, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() {
			if out[i] = call(); out[i] == nil {
				t.Errorf("call %d succeeded", i)
			}
		})
	}
	all.Wait()
	return out
}

func TestPasswordsStayHidden(t *testing.T) {
	const pw = "s3cr:t/@pw"
	encoded := url.QueryEscape(pw)
	cert, other := servers.NewCertificate(t), servers.NewCertificate(t)
	r := servers.StartRedis(t, "--requirepass", "another")
	r.Do("ACL", "SETUSER", "app", "on", ">"+pw, "~nothing", "&nothing", "-@all", "+hello", "+auth", "+ping", "+client")
	secured := servers.StartRedisTLS(t, cert)
	own := "&cert=" + cert.CertFile + "&key=" + cert.KeyFile
	for _, tt := range []struct{ name, url, want string }{
		{"wrong password", "redis://:" + encoded + "@" + r.Addr(), "WRONGPASS"},
		{"wrong password, RESP2", "redis://:" + encoded + "@" + r.Addr() + "?protocol=2", "WRONGPASS"},
		{"no password", "redis://" + r.Addr(), "NOAUTH"},
		{"no permission", "redis://app:" + encoded + "@" + r.Addr(), "NOPERM"},
		{"no such host", "redis://:" + encoded + "@no-such-host.invalid", "no-such-host.invalid"},
		{"nobody listens", "redis://:" + encoded + "@127.0.0.1:1", "connection refused"},
		{"TLS to a server without", "rediss://:" + encoded + "@" + r.Addr(), ""},
		{"no TLS to a server with", "redis://:" + encoded + "@" + secured.Addr(), ""},
		{"another authority", "rediss://:" + encoded + "@" + secured.Addr() + "?ca=" + other.CAFile + own, "certificate signed by unknown authority"},
		{"another name", "rediss://:" + encoded + "@" + secured.Addr() + "?server_name=x.example&ca=" + cert.CAFile + own, "x.example"},
		{"no certificate of ours", "rediss://:" + encoded + "@" + secured.Addr() + "?ca=" + cert.CAFile, ""},
		{"no Sentinel", "redis://:" + encoded + "@127.0.0.1:1?sentinel_master=main&sentinel_password=" + encoded, "connection refused"},
		{"Sentinel is a server", "redis://:" + encoded + "@" + r.Addr() + "?sentinel_master=main&sentinel_password=" + encoded, "WRONGPASS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, err := range failures(t, tt.url) {
				silent(t, err, pw, encoded)
				if err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
			}
		})
	}
}

func TestTLS(t *testing.T) {
	cert := servers.NewCertificate(t)
	r := servers.StartRedisTLS(t, cert)
	for _, scheme := range []string{"rediss", "valkeys"} {
		s := open(t, scheme+"://"+r.Addr()+"?ca="+cert.CAFile+"&cert="+cert.CertFile+"&key="+cert.KeyFile+"&prefix="+scheme)
		heard := make(chan replica.Page, 1)
		storetest.Watching(t, beginBound, s, func(p replica.Page) { heard <- p })
		if err := storetest.PutOne(t, callBound, s, 1); err != nil {
			t.Fatal(err)
		}
		storetest.Stands(t, callBound, s, 1)
		select {
		case <-heard:
		case <-time.After(2 * time.Second):
			t.Error("nothing heard")
		}
	}
}

// The rights that the package's comment names are enough.
func TestUnprivilegedUser(t *testing.T) {
	r := servers.StartRedis(t)
	r.Do(append([]string{"ACL", "SETUSER", "gate", "on", ">pw"}, strings.Fields("~x-{evergate}:* &x-{evergate}:* +@read +@write +@scripting +@pubsub +@connection +time")...)...)
	s := open(t, "redis://gate:pw@"+r.Addr()+"?prefix=x-")
	ctx := storetest.Within(t, 10*time.Second)
	heard := make(chan replica.Page, 1)
	storetest.Watching(t, beginBound, s, func(p replica.Page) { heard <- p })
	if _, err := s.Beat(ctx, replica.Member{ID: "a1"}); err != nil {
		t.Error(err)
	}
	if err := storetest.PutOne(t, callBound, s, 1); err != nil {
		t.Error(err)
	}
	storetest.Stands(t, callBound, s, 1)
	if _, err := s.Members(ctx); err != nil {
		t.Error(err)
	}
	if got, err := s.Claim(ctx, "lease", "a1", time.Second); err != nil || !got {
		t.Error(got, err)
	}
	if err := s.Yield(ctx, "lease", "a1"); err != nil {
		t.Error(err)
	}
	if err := s.Drop(ctx, "a1"); err != nil {
		t.Error(err)
	}
	<-heard
}

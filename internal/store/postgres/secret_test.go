package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/replica"
	"evergate/internal/store/postgres"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

// silent fails if an error, or one that it wraps, says a secret, or takes more than one line.
func silent(t testing.TB, err error, secrets ...string) {
	t.Helper()
	if err != nil && strings.ContainsAny(err.Error(), "\n\t") {
		t.Errorf("more than one line: %q", err)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		for _, s := range secrets {
			if strings.Contains(err.Error(), s) {
				t.Errorf("the error says the secret: %v", err)
			}
		}
	}
}

func TestMalformedAddresses(t *testing.T) {
	for _, tt := range []struct{ name, url, want string }{
		{"nothing", "", "begins with neither"},
		{"another scheme", "mysql://u:hunter2@h", "begins with neither"},
		{"key and value", "host=h password=hunter2", "begins with neither"},
		{"slash in the password", "postgres://u:hunter2/3@h:5432/d", "percent-encoded"},
		{"number sign in the password", "postgres://u:hunter2#3@h:5432/d", "percent-encoded"},
		{"question mark in the password", "postgres://u:1?hunter2=3@h:5432/d", "percent-encoded"},
		{"question mark at the end of it", "postgres://u:hunter2?@h:5432/d", "percent-encoded"},
		{"at sign in the password", "postgres://u:hunter2@3@h:5432/d", "percent-encoded"},
		{"percent sign in the password", "postgres://u:hunter2%@h:5432/d", "percent-encoded"},
		{"port", "postgres://u:hunter2@h:x/d", "malformed"},
		{"port 0", "postgres://u:hunter2@h:0/d", "malformed"},
		{"database", "postgres://u:hunter2@h/d/hunter2", "malformed"},
		{"options", "postgres://u:hunter2@h/d?sslmode=%zz", "malformed"},
		{"sslmode", "postgres://u:hunter2@h/d?sslmode=hunter2", ""},
		{"pooler", "postgres://u:hunter2@h/d?pooler=maybe", "pooler is true or false"},
		{"target", "postgres://u:hunter2@h/d?target_session_attrs=hunter2", ""},
		{"no such file", "postgres://u:hunter2@h/d?sslmode=verify-full&sslrootcert=/no/such", "/no/such"},
		{"password as an option", "postgres://u@h/d?password=hunter2&sslmode=x", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := postgres.Open(tt.url)
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
	for _, u := range []string{
		"postgres://h/d", "postgresql://u@h:1/d", "postgres://u:p%2Fw%40@[::1]:5433,h2:5434,h3/d?target_session_attrs=read-write&schema=a%20b",
		"postgres://u:p@h/d?pooler=true&sslmode=disable&connect_timeout=7&options=-c%20geqo%3Doff", "postgres://h/d?default_query_exec_mode=simple_protocol",
	} {
		s, err := postgres.Open(u)
		if err != nil {
			t.Errorf("%s: %v", u, err)
			continue
		}
		_ = s.Close()
	}
}

// failures gives what every call says of a store that cannot work.
func failures(t testing.TB, u string) []error {
	t.Helper()
	s := open(t, u)
	ctx := storetest.Within(t, 20*time.Second)
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

// secure has the server speak TLS from now on.
func secure(t testing.TB, p *servers.Postgres, c servers.Certificate) {
	t.Helper()
	p.Exec("postgres", `ALTER SYSTEM SET ssl_cert_file = '`+p.Own("cert.pem", c.Cert)+`'`)
	p.Exec("postgres", `ALTER SYSTEM SET ssl_key_file = '`+p.Own("key.pem", c.Key)+`'`)
	p.Exec("postgres", `ALTER SYSTEM SET ssl = on`)
	p.Kill()
	p.Start()
}

func TestPasswordsStayHidden(t *testing.T) {
	const pw = "wr0ng:w/@pw"
	encoded := url.QueryEscape(pw)
	cert, other := servers.NewCertificate(t), servers.NewCertificate(t)
	p, _ := start(t)
	p.Exec("postgres", `CREATE ROLE poor LOGIN PASSWORD '`+pw+`'`)
	p.Exec("gate", `CREATE SCHEMA ours; ALTER ROLE poor SET search_path TO nowhere`)
	open := "postgres://gate:" + encoded + "@"
	poor := "postgres://poor:" + encoded + "@" + p.Addr() + "/gate"
	for _, tt := range []struct{ name, url, want string }{
		{"wrong password", open + p.Addr() + "/gate", "password authentication failed"},
		{"no such role", "postgres://nobody:" + encoded + "@" + p.Addr() + "/gate", "password authentication failed"},
		{"no such database", "postgres://poor:" + encoded + "@" + p.Addr() + "/nothing", "does not exist"},
		{"no schema", poor, "no schema of the search path exists"},
		{"no permission for the schema", poor + "?schema=ours", "permission denied for schema ours"},
		{"no permission to make one", poor + "?schema=new", "permission denied for database gate"},
		{"no such host", open + "no-such-host.invalid/gate", "no-such-host.invalid"},
		{"nobody listens", open + "127.0.0.1:1,127.0.0.1:2/gate", "connection refused"},
		{"TLS to a server without", open + p.Addr() + "/gate?sslmode=require", "TLS"},
		{"the password as an option", "postgres://gate@" + p.Addr() + "/gate?password=" + encoded, "password authentication failed"},
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
	secure(t, p, cert)
	for _, tt := range []struct{ name, url, want string }{
		{"another authority", open + p.Addr() + "/gate?sslmode=verify-full&sslrootcert=" + other.CAFile, "unknown authority"},
		{"another name", open + strings.Replace(p.Addr(), "127.0.0.1", "127.0.0.2", 1) + "/gate?sslmode=verify-full&sslrootcert=" + cert.CAFile, ""},
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
	t.Run("TLS as it should be", func(t *testing.T) {
		works(t, address("gate", p.Addr(), "sslmode=verify-full&sslrootcert="+cert.CAFile))
	})
}

// works checks that a store puts, tells and reads.
func works(t *testing.T, u string) {
	t.Helper()
	s := open(t, u)
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

package servers

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Password is that of every role of a test's PostgreSQL. It has what a URL must escape, so that it shows in an error when escaping is forgotten.
const Password = "s3cr:t/@pw" //nolint:gosec // of servers that live for a test

// Postgres is a PostgreSQL server of a test; Start, Kill, Pause and Resume are safe for concurrent use. The role "super" may do everything; roles
// log in over TCP by Password.
type Postgres struct {
	*process

	Port int
	bin  string // the folder of initdb, psql, …
	data string
}

// StartPostgres runs a server until the test ends, with further settings ("ssl=on"). PostgreSQL refuses to run as root: then it runs as
// postgres, or nobody. The test is skipped, or fails by Required, where no such server is installed.
func StartPostgres(t testing.TB, settings ...string) *Postgres {
	t.Helper()
	p := newPostgres(t, settings...)
	pw := filepath.Join(p.dir, "pw")
	write(t, pw, Password+"\n")
	own(t, pw, p.as)
	run(t, p.as, filepath.Join(p.bin, "initdb"), "--no-sync", "--pgdata", p.data, "--username", "super", "--pwfile", pw, "--encoding", "UTF8", "--locale", "C",
		"--auth-local", "trust", "--auth-host", "scram-sha-256")
	p.Start()
	return p
}

func newPostgres(t testing.TB, settings ...string) *Postgres {
	t.Helper()
	path := program([]string{"postgres"}, "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
	if path == "" {
		missing(t, "PostgreSQL", "postgresql")
	}
	if at, err := filepath.EvalSymlinks(path); err == nil {
		path = at // its companions are beside it
	}
	as := unprivileged(t)
	dir := tempDir(t, as)
	p := &Postgres{Port: freePort(t), bin: filepath.Dir(path), data: filepath.Join(dir, "data")}
	args := []string{
		"-D", p.data, "-p", strconv.Itoa(p.Port), "-k", dir, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "shared_buffers=16MB",
		"-c", "max_wal_senders=4", "-c", "max_connections=200",
	}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	p.process = &process{t: t, path: path, args: args, dir: dir, as: as}
	p.up = func() bool {
		_, err := try(p.as, askBound, filepath.Join(p.bin, "psql"), p.psql("postgres", "SELECT 1")...)
		return err == nil
	}
	t.Cleanup(p.Kill)
	return p
}

// unprivileged is who a server runs as that refuses to be root; nil: who the test runs as.
func unprivileged(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	t.Skip("NOT TESTED against a real server: PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")
	return nil
}

func (p *Postgres) psql(database, sql string) []string {
	return []string{"-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", p.dir, "-p", strconv.Itoa(p.Port), "-U", "super", "-d", database, "-c", sql}
}

// Exec runs SQL as the superuser and gives what psql prints.
func (p *Postgres) Exec(database, sql string) string {
	p.t.Helper()
	return strings.TrimSpace(run(p.t, p.as, filepath.Join(p.bin, "psql"), p.psql(database, sql)...))
}

// Database makes a database and a role of the same name that logs in with Password and owns nothing but a schema of that name in it.
func (p *Postgres) Database(name string) {
	p.t.Helper()
	p.Exec("postgres", fmt.Sprintf(`CREATE ROLE %q LOGIN PASSWORD '%s'`, name, Password))
	p.Exec("postgres", fmt.Sprintf(`CREATE DATABASE %q`, name))
	p.Exec(name, fmt.Sprintf(`REVOKE ALL ON SCHEMA public FROM PUBLIC; CREATE SCHEMA %[1]q AUTHORIZATION %[1]q`, name))
}

// Addr is the server's host and port.
func (p *Postgres) Addr() string { return "127.0.0.1:" + strconv.Itoa(p.Port) }

// Standby runs a copy of the server that follows it.
func (p *Postgres) Standby() *Postgres {
	p.t.Helper()
	s := newPostgres(p.t)
	run(p.t, p.as, filepath.Join(p.bin, "pg_basebackup"), "-h", p.dir, "-p", strconv.Itoa(p.Port), "-U", "super", "-D", s.data, "-R", "-X", "stream", "-c", "fast", "--no-sync")
	s.Start()
	return s
}

// Promote makes a standby the one that takes writes.
func (p *Postgres) Promote() {
	p.t.Helper()
	run(p.t, p.as, filepath.Join(p.bin, "pg_ctl"), "promote", "-D", p.data, "-w", "-t", "20")
}

// Kill ends the server at once, as a crash does: with its children, which SIGKILL would leave behind with its memory.
func (p *Postgres) Kill() { p.end(syscall.SIGQUIT) }

// Stop ends the server in order, its clients cut off.
func (p *Postgres) Stop() { p.end(syscall.SIGINT) }

// Own writes a file that the server may read, a key for instance, and gives its path.
func (p *Postgres) Own(name string, content []byte) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	write(p.t, path, string(content))
	own(p.t, path, p.as)
	return path
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func own(t testing.TB, path string, as *syscall.Credential) {
	t.Helper()
	if as == nil {
		return
	}
	if err := os.Chown(path, int(as.Uid), int(as.Gid)); err != nil {
		t.Fatal(err)
	}
}

// PauseAll pauses the server with its children of these process ids: the ones that serve connections do not stop with the server.
func (p *Postgres) PauseAll(pids []string) { p.signalAll(pids, syscall.SIGSTOP, p.Pause) }

// ResumeAll lets them go on.
func (p *Postgres) ResumeAll(pids []string) { p.signalAll(pids, syscall.SIGCONT, p.Resume) }

func (p *Postgres) signalAll(pids []string, s syscall.Signal, server func()) {
	server()
	for _, pid := range pids {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, s)
		}
	}
}

// Pooler runs PgBouncer in transaction mode before the server, for a role of Password, and gives its address.
func (p *Postgres) Pooler(bouncer, role string) string {
	p.t.Helper()
	port, dir := freePort(p.t), tempDir(p.t, p.as)
	for name, content := range map[string]string{
		"users.txt": fmt.Sprintf("%q %q\n", role, Password),
		"bouncer.ini": strings.Join([]string{
			"[databases]", "* = host=127.0.0.1 port=" + strconv.Itoa(p.Port), "[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(port),
			"unix_socket_dir =", "auth_type = scram-sha-256", "auth_file = " + dir + "/users.txt", "pool_mode = transaction", "default_pool_size = 2", "",
		}, "\n"),
	} {
		write(p.t, filepath.Join(dir, name), content)
		own(p.t, filepath.Join(dir, name), p.as)
	}
	b := &process{t: p.t, path: bouncer, args: []string{dir + "/bouncer.ini"}, dir: dir, as: p.as}
	addr := "127.0.0.1:" + strconv.Itoa(port)
	b.up = func() bool { return reachable(addr) }
	p.t.Cleanup(b.Kill)
	b.Start()
	return addr
}

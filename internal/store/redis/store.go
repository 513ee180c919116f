package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"evergate/internal/replica"
	"evergate/internal/store"
)

const (
	// Keep is how long what instances said stays after the last beat of any.
	Keep = 48 * time.Hour
	// KeepFleet is how long pages of the fleet's own (no instance) stay after that: an operator's order holds over a long pause.
	KeepFleet = 90 * 24 * time.Hour
)

const (
	dialBound = 2 * time.Second  // TCP and TLS
	patience  = 10 * time.Second // a server's, with a call or a greeting; a call's own context may end sooner
	pingEvery = 5 * time.Second
	// A watch asks more often, and waits less: it ends at most 12 s after the server fell silent.
	watchEvery = 3 * time.Second
	watchBound = 3 * time.Second
	// calls is how many run at once. The next ones wait, until their contexts end: what piles up before a mute server is bounded.
	calls = 16
	// Buffers of a connection; the library's own are of half a megabyte.
	bufferBytes = 16 << 10
	ringScale   = 6 // 64 commands in the pipeline, more than calls
)

var (
	errClosed = errors.New("the store was closed")
	errMute   = fmt.Errorf("the server did not answer within %v", patience)
)

// Store is a replica.Store in Redis. Its methods are safe for concurrent use, end with their contexts, and connect when they have to: a
// server that is down or comes back, empty or elsewhere behind the same name, needs no other Store.
type Store struct {
	address *address
	names   names
	scripts scripts

	ctx   context.Context // ends with Close
	close context.CancelCauseFunc
	slots chan struct{}
	work  sync.WaitGroup // goroutines

	mu      sync.Mutex
	client  rueidis.Client // nil: none yet
	dialing *dialing       // nil: nobody dials
	keeps   map[replica.Topic]time.Duration
}

// dialing is one attempt to connect that several calls may wait for.
type dialing struct {
	done   chan struct{}
	client rueidis.Client
	err    error
}

var _ replica.Store = (*Store)(nil)

// Open reads a URL: redis://user:password@host:port/db, rediss:// for TLS, valkey:// and valkeys:// alike. Options: ca, cert, key (files, PEM)
// and server_name for TLS; prefix; protocol=2; sentinel_master=name (the hosts are Sentinels, then also sentinel_username and sentinel_password) or
// cluster=true, both with several hosts after each other, separated by commas. An error says what is malformed. It connects to nothing: a server
// that is down makes calls fail.
func Open(raw string) (*Store, error) {
	a, err := parse(raw)
	if err != nil {
		return nil, err
	}
	s := &Store{
		address: a, names: names(a.prefix + "{evergate}:"), scripts: newScripts(), slots: make(chan struct{}, calls),
		keeps: map[replica.Topic]time.Duration{},
	}
	s.ctx, s.close = context.WithCancelCause(context.Background())
	return s, nil
}

// Close ends calls and watches under way with an error, and all connections.
func (s *Store) Close() error {
	s.mu.Lock()
	s.close(errClosed)
	client := s.client
	s.client = nil
	s.mu.Unlock()
	if client != nil {
		client.Close()
	}
	s.work.Wait()
	return nil
}

// call runs do on a goroutine, so that it ends for the caller when ctx does, whatever the connection is waiting for. do itself ends by
// the server's patience at the latest.
func call[T any](ctx context.Context, s *Store, what string, do func(context.Context, rueidis.Client) (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, fmt.Errorf("%s: %w", what, err)
	}
	waiting, cancel := context.WithTimeout(ctx, patience) // also for a slot
	defer cancel()
	late := func() error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return fmt.Errorf("%s: %w", what, errMute)
	}
	select {
	case s.slots <- struct{}{}:
	case <-waiting.Done():
		return zero, late()
	case <-s.ctx.Done():
		return zero, fmt.Errorf("%s: %w", what, errClosed)
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	if !s.start(func() {
		defer func() { <-s.slots }()
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		var r result
		client, err := s.connected(ctx)
		if r.err = err; err == nil {
			r.value, r.err = do(ctx, client)
			s.judge(client, r.err)
		}
		done <- r
	}) {
		<-s.slots
		return zero, fmt.Errorf("%s: %w", what, errClosed)
	}
	select {
	case r := <-done:
		if r.err != nil {
			return zero, s.fail(what, r.err)
		}
		return r.value, nil
	case <-waiting.Done():
		return zero, late()
	case <-s.ctx.Done():
		return zero, fmt.Errorf("%s: %w", what, errClosed)
	}
}

// start runs f on a goroutine that Close waits for; false: the store is closed.
func (s *Store) start(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.work.Go(f)
	return true
}

func (s *Store) fail(what string, err error) error {
	switch {
	case s.ctx.Err() != nil:
		err = errClosed
	case errors.Is(err, context.DeadlineExceeded):
		err = errMute // the caller's own deadline was told already
	}
	return fmt.Errorf("%s: %w", what, store.Hide(err, s.address.hidden...))
}

// connected gives the client, or waits until there is one.
func (s *Store) connected(ctx context.Context) (rueidis.Client, error) {
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		return nil, errClosed
	}
	if s.client != nil {
		defer s.mu.Unlock()
		return s.client, nil
	}
	d := s.dialing
	if d == nil {
		d = &dialing{done: make(chan struct{})}
		s.dialing = d
		s.work.Go(func() { s.dial(d) })
	}
	s.mu.Unlock()
	select {
	case <-d.done:
		return d.client, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Store) dial(d *dialing) {
	defer close(d.done)
	client, err := rueidis.NewClient(s.options(pingEvery, patience))
	s.mu.Lock()
	s.dialing = nil
	closed := s.ctx.Err() != nil
	switch {
	case err != nil:
		d.err = err
	case closed:
		d.err = errClosed
	default:
		d.client, s.client = client, client
	}
	s.mu.Unlock()
	if err == nil && closed {
		client.Close()
	}
}

// judge lets a client go that is connected to a server which was degraded to a replica: the name may lead to another by now.
func (s *Store) judge(client rueidis.Client, err error) {
	refused, ok := rueidis.IsRedisErr(err)
	if !ok || !degraded(refused.Error()) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != client || s.ctx.Err() != nil {
		return
	}
	s.client = nil
	s.work.Go(client.Close)
}

// degraded says whether a server refused a write as a replica. What a script was refused says so in its middle before Redis 7: "ERR Error running script (…):
// @user_script:8: @user_script: 8: -READONLY …".
func degraded(said string) bool {
	return strings.HasPrefix(said, "READONLY ") || strings.Contains(said, " -READONLY ")
}

// options are those of a client that asks an idle connection's server every so often, and whose asking and calls may take so long.
func (s *Store) options(every, wait time.Duration) rueidis.ClientOption {
	a := s.address
	o := rueidis.ClientOption{
		InitAddress: a.hosts, Username: a.user, Password: a.password, SelectDB: a.db, TLSConfig: a.tls,
		ClientName: "evergate", AlwaysRESP2: a.resp2,
		Dialer:    net.Dialer{Timeout: patience, KeepAlive: every}, // this timeout is the greeting's, dialConn has its own
		DialCtxFn: s.dialConn, ConnWriteTimeout: wait,
		DisableCache: true, DisableRetry: true, // replication tries again in its own time
		PipelineMultiplex: -1, RingScaleEachConn: ringScale, // one connection
		ReadBufferEachConn: bufferBytes, WriteBufferEachConn: bufferBytes,
		ForceSingleClient: !a.cluster,
		ClusterOption:     rueidis.ClusterOption{MaxMovedRedirections: 3, ShardsRefreshInterval: time.Minute},
	}
	if a.cluster {
		o.PipelineMultiplex = 0 // of a cluster's client that is one connection
	}
	if a.master != "" {
		o.ForceSingleClient = false
		o.Sentinel = rueidis.SentinelOption{
			Dialer: net.Dialer{Timeout: dialBound, KeepAlive: pingEvery}, TLSConfig: a.tls, MasterSet: a.master,
			Username: a.sentinelUser, Password: a.sentinelPassword, ClientName: "evergate",
			TopologyRefreshInterval: pingEvery,
		}
	}
	return o
}

// dialConn connects within dialBound. The connection ends with the store, also while somebody waits for it.
func (s *Store) dialConn(ctx context.Context, dst string, _ *net.Dialer, secured *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	dialer := net.Dialer{KeepAlive: pingEvery}
	var conn net.Conn
	var err error
	if secured != nil {
		conn, err = (&tls.Dialer{NetDialer: &dialer, Config: secured}).DialContext(ctx, "tcp", dst)
	} else {
		conn, err = dialer.DialContext(ctx, "tcp", dst)
	}
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn, forget: context.AfterFunc(s.ctx, func() { _ = conn.Close() })}, nil
}

// connection is one that its store ends.
type connection struct {
	net.Conn

	forget func() bool
}

func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}

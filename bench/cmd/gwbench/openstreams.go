package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"evergate/bench/internal/llmreq"
)

// cmdOpenStreams opens many streams at once and tells what each costs the target in memory while it is open. The
// upstream must send slowly and for longer than the whole takes (knobs delay=1s,chunks=600).
func cmdOpenStreams(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("openstreams", flag.ExitOnError)
	var c common
	c.register(fs)
	n := fs.Int("n", 5000, "streams (at most 20000)")
	ramp := fs.Duration("ramp", 5*time.Second, "time over which they are opened")
	hold := fs.Duration("hold", 10*time.Second, "time for which all are open before the memory is read")
	asJSON := fs.Bool("json", false, "print JSON")
	_ = fs.Parse(args)
	c.stream = true
	cfg, err := c.load()
	if err != nil {
		return err
	}
	t := cfg.Targets[0]
	switch {
	case t.PID == 0:
		return errors.New("openstreams needs -pid or -pidfile")
	case *n < 1 || *n > 20_000 || *ramp > time.Minute || *hold > time.Minute:
		return errors.New("flag out of range")
	}
	if err := enoughFiles(*n); err != nil {
		return err
	}
	body, err := llmreq.Body(t.Dialect, t.Model, true, c.size, t.Extra)
	if err != nil {
		return err
	}
	r, err := newRunner(t, body, options{timeout: *ramp + *hold + time.Minute, status: 200, stream: true})
	if err != nil {
		return err
	}
	idle, err := readUsage(t.PID)
	if err != nil {
		return err
	}

	held, stop := context.WithCancel(ctx)
	defer stop()
	var open, failed atomic.Int64
	var eg atomic.Value
	var all sync.WaitGroup
	for i := range *n {
		all.Go(func() {
			sleep(held, time.Duration(i)*(*ramp)/time.Duration(*n))
			if err := r.hold(held, &open); err != nil && held.Err() == nil {
				failed.Add(1)
				eg.Store(err.Error())
			}
		})
	}
	sleep(ctx, *ramp+*hold)
	u, err := readUsage(t.PID)
	at := open.Load()
	stop()
	all.Wait()
	if err != nil {
		return err
	}
	if at < int64(*n) {
		return fmt.Errorf("%d of %d streams were open (%d failed, e.g. %v)", at, *n, failed.Load(), eg.Load())
	}
	out := openStreams{
		Target: t.Name, Streams: *n,
		IdleMB: float64(idle.rss) / (1 << 20), OpenMB: float64(u.rss) / (1 << 20),
		KiBPerStream: float64(u.rss-idle.rss) / 1024 / float64(*n),
		CPUPct:       100 * float64(u.total-idle.total) / float64(*ramp+*hold),
	}
	if *asJSON {
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	fmt.Printf("%-16s %d streams: %.1f MB idle, %.1f MB with all open, %.1f KiB a stream\n", out.Target, out.Streams, out.IdleMB, out.OpenMB, out.KiBPerStream)
	return nil
}

// openStreams is what cmdOpenStreams measured.
type openStreams struct {
	Target       string  `json:"target"`
	Streams      int     `json:"streams"`
	IdleMB       float64 `json:"idle_rss_mb"` // before the first stream
	OpenMB       float64 `json:"open_rss_mb"`
	KiBPerStream float64 `json:"kib_per_stream"`
	CPUPct       float64 `json:"cpu_percent"`
}

// hold opens one stream, counts it as open from its first bytes on, and reads it until ctx is done.
func (r *runner) hold(ctx context.Context, open *atomic.Int64) error {
	cl := &client{addr: r.addr, req: r.req, end: r.end, timeout: r.o.timeout, small: true}
	seen := false
	cl.onBody = func() {
		if !seen {
			seen = true
			open.Add(1)
		}
	}
	gone := context.AfterFunc(ctx, cl.abort)
	defer gone()
	defer cl.close()
	a, err := cl.do(ctx, false)
	switch {
	case ctx.Err() != nil:
		return nil
	case seen:
		open.Add(-1)
	}
	if err == nil && a.status != 200 {
		err = fmt.Errorf("status %d", a.status)
	}
	if err == nil {
		err = errors.New("the stream ended too early")
	}
	return err
}

// enoughFiles raises the limit of open files as far as it may and refuses if that is too low for n streams.
func enoughFiles(n int) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	if need := uint64(2*n + 200); l.Max < need {
		return fmt.Errorf("the limit of open files is %d, and a proxy needs %d for %d streams: raise it with ulimit -n", l.Max, need, n)
	}
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"evergate/bench/internal/llmreq"
)

type options struct {
	conc                          int
	duration, warmup, firstWarmup time.Duration
	count                         int64
	rate                          float64
	timeout                       time.Duration
	status                        int
	stream, resetHWM              bool
	mockPID                       int
}

// result is one target measured once.
type result struct {
	Target   string  `json:"target"`
	Round    int     `json:"round"`
	Seconds  float64 `json:"seconds"`
	Requests int64   `json:"requests"`
	Errors   int64   `json:"errors"`
	ErrorEg  string  `json:"error_example,omitempty"`

	RPS       float64 `json:"rps"`
	CPUMicros float64 `json:"cpu_us_per_req"` // of the target's process tree
	UserShare float64 `json:"cpu_user_share"` // 0..1, from 10 ms ticks
	CPUPct    float64 `json:"cpu_percent"`

	P50  float64 `json:"p50_ms"`
	P90  float64 `json:"p90_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`
	Max  float64 `json:"max_ms"`

	TTFB50 float64 `json:"ttfb_p50_ms"` // first byte of the body
	TTFB99 float64 `json:"ttfb_p99_ms"`

	RSSMB   float64 `json:"rss_mb"` // at the end of the measurement
	HWMMB   float64 `json:"rss_peak_mb"`
	Threads int     `json:"threads"`
	Procs   int     `json:"procs"`

	BytesPerReq  float64 `json:"body_bytes_per_req"`
	EventsPerReq float64 `json:"events_per_req"`
	Reconnects   int64   `json:"reconnects"`

	ClientMicros float64 `json:"client_cpu_us_per_req"`
	MockMicros   float64 `json:"mock_cpu_us_per_req"`
	MachinePct   float64 `json:"machine_busy_percent"` // of all cores
	StealPct     float64 `json:"steal_percent"`
}

type runner struct {
	t     target
	o     options
	addr  string
	req   []byte
	end   []byte
	first bool
}

func newRunner(t target, body []byte, o options) (*runner, error) {
	addr, req, err := renderRequest(&t, body, o.stream)
	if err != nil {
		return nil, err
	}
	r := &runner{t: t, o: o, addr: addr, req: req, first: true}
	if o.stream {
		r.end = []byte(llmreq.Dialects[t.Dialect].End)
	}
	return r, nil
}

func (r *runner) client() *client {
	return &client{addr: r.addr, req: r.req, end: r.end, timeout: r.o.timeout}
}

// ready probes a few times, since a gateway can hold stale connections to an
// upstream that was started anew.
func (r *runner) ready(ctx context.Context) (a answer, err error) {
	for range 10 {
		if a, err = r.probe(ctx); err == nil || ctx.Err() != nil {
			return a, err
		}
		sleep(ctx, 200*time.Millisecond)
	}
	return a, err
}

// probe sends one request and refuses a target whose answer is not a success.
func (r *runner) probe(ctx context.Context) (answer, error) {
	c := r.client()
	defer c.close()
	a, err := c.do(ctx, true)
	if err != nil {
		return a, err
	}
	if a.status != r.o.status || !a.complete || a.bytes == 0 {
		return a, fmt.Errorf("probe: status %d, complete %v: %.400s", a.status, a.complete, a.sample)
	}
	return a, nil
}

const (
	phaseWarm int32 = iota
	phaseMeasure
	phaseStop
)

type worker struct {
	lat, ttfb                       hist
	done, errs, bytes, events, conn int64
	eg                              string
}

func (r *runner) run(parent context.Context, round int) (result, error) {
	o := r.o
	warm := o.warmup
	if r.first {
		warm, r.first = max(o.firstWarmup, warm), false
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()

	var phase atomic.Int32
	var left, slot atomic.Int64
	left.Store(o.count)
	workers := make([]worker, o.conc)
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range workers {
		w := &workers[i]
		wg.Go(func() {
			c := r.client()
			defer c.close()
			var before int64
			for phase.Load() != phaseStop && ctx.Err() == nil {
				due := time.Time{}
				if o.rate > 0 {
					due = begin.Add(time.Duration(float64(slot.Add(1)-1) / o.rate * float64(time.Second)))
					if d := time.Until(due); d > 0 {
						select {
						case <-time.After(d):
						case <-ctx.Done():
							return
						}
						// The timer's own lateness is not the target's; a
						// worker that was still busy at the due time keeps it.
						due = time.Now()
					}
				}
				counted := false
				if o.count > 0 && phase.Load() == phaseMeasure {
					if left.Add(-1) < 0 {
						return
					}
					counted = true
				}
				a, err := c.do(ctx, false)
				if o.count == 0 {
					counted = phase.Load() == phaseMeasure
				}
				if !counted {
					before = c.reconnects
					if err != nil || a.status != o.status {
						pause(ctx) // a dead target is not hammered
					}
					continue
				}
				w.conn = c.reconnects - before
				w.done++
				switch {
				case err != nil:
					w.errs++
					w.eg = err.Error()
					pause(ctx)
				case a.status != o.status:
					w.errs++
					w.eg = fmt.Sprintf("status %d", a.status)
				case !a.complete:
					w.errs++
					w.eg = "stream without its end mark"
				default:
					lat := a.total
					if o.rate > 0 {
						lat = time.Since(due)
					}
					w.lat.add(lat)
					w.ttfb.add(a.first)
					w.bytes += a.bytes
					w.events += a.events
				}
			}
		})
	}

	sleep(ctx, warm)
	if o.resetHWM {
		resetHWM(r.t.PID)
	}
	m0, self0 := readMachine(), selfCPU()
	mock0, err := readUsage(o.mockPID)
	if err != nil {
		return result{}, err
	}
	u0, err := readUsage(r.t.PID)
	if err != nil {
		return result{}, err
	}
	t0 := time.Now()
	phase.Store(phaseMeasure)
	if o.count > 0 {
		wg.Wait()
	} else {
		sleep(ctx, o.duration)
	}
	phase.Store(phaseStop)
	elapsed := time.Since(t0)
	u1, err := readUsage(r.t.PID)
	if err != nil {
		return result{}, err
	}
	mock1, _ := readUsage(o.mockPID)
	m1, self1 := readMachine(), selfCPU()
	wg.Wait()
	if err := parent.Err(); err != nil {
		return result{}, err
	}

	var sum worker
	for i := range workers {
		w := &workers[i]
		sum.lat.merge(&w.lat)
		sum.ttfb.merge(&w.ttfb)
		sum.done += w.done
		sum.errs += w.errs
		sum.bytes += w.bytes
		sum.events += w.events
		sum.conn += w.conn
		if w.eg != "" {
			sum.eg = w.eg
		}
	}
	if sum.done == 0 {
		return result{}, errors.New("no request ended while measuring")
	}
	n := float64(sum.done)
	ok := max(float64(sum.lat.n), 1)
	per := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / n }
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	cpu := u1.total - u0.total
	ticks := float64(u1.user - u0.user + u1.sys - u0.sys)
	res := result{
		Target: r.t.Name, Round: round, Seconds: elapsed.Seconds(),
		Requests: sum.done, Errors: sum.errs, ErrorEg: sum.eg,
		RPS:       float64(sum.lat.n) / elapsed.Seconds(),
		CPUMicros: per(cpu), CPUPct: 100 * float64(cpu) / float64(elapsed),
		P50: ms(sum.lat.quantile(.5)), P90: ms(sum.lat.quantile(.9)), P99: ms(sum.lat.quantile(.99)),
		P999: ms(sum.lat.quantile(.999)), Max: ms(time.Duration(sum.lat.max)),
		TTFB50: ms(sum.ttfb.quantile(.5)), TTFB99: ms(sum.ttfb.quantile(.99)),
		RSSMB: float64(u1.rss) / (1 << 20), HWMMB: float64(u1.hwm) / (1 << 20),
		Threads: u1.threads, Procs: u1.procs,
		BytesPerReq: float64(sum.bytes) / ok, EventsPerReq: float64(sum.events) / ok,
		Reconnects:   sum.conn,
		ClientMicros: per(self1 - self0), MockMicros: per(mock1.total - mock0.total),
	}
	if ticks > 0 {
		res.UserShare = float64(u1.user-u0.user) / ticks
	}
	if all := float64(m1.all - m0.all); all > 0 {
		res.MachinePct = 100 * float64(m1.busy-m0.busy) / all
		res.StealPct = 100 * float64(m1.steal-m0.steal) / all
	}
	return res, nil
}

func pause(ctx context.Context) { sleep(ctx, 10*time.Millisecond) }

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

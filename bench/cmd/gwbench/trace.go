package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"evergate/bench/internal/llmreq"
)

// cmdTrace sends requests one after the other and prints what each brought,
// to watch a breaker open or a stream fail over.
func cmdTrace(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("trace", flag.ExitOnError)
	var c common
	c.register(fs)
	n := fs.Int("n", 10, "requests (at most 10000)")
	gap := fs.Duration("gap", 0, "pause between two requests")
	timeout := fs.Duration("timeout", time.Minute, "limit of one request")
	_ = fs.Parse(args)
	cfg, err := c.load()
	if err != nil {
		return err
	}
	for _, t := range cfg.Targets {
		body, err := llmreq.Body(t.Dialect, t.Model, c.stream, c.size, t.Extra)
		if err != nil {
			return err
		}
		r, err := newRunner(t, body, options{timeout: *timeout, stream: c.stream})
		if err != nil {
			return err
		}
		cl := r.client()
		begin := time.Now()
		for i := 0; i < min(*n, 10000) && ctx.Err() == nil; i++ {
			at := time.Since(begin)
			a, err := cl.do(ctx, false)
			note := ""
			if err != nil {
				note = err.Error()
			} else if !a.complete {
				note = "stream without its end mark"
			}
			fmt.Printf("%s\t#%d\tat %8.3f s\tstatus %d\t%9.3f ms\tfirst byte %9.3f ms\t%d B\t%d events\t%s\n", t.Name, i+1,
				at.Seconds(), a.status, a.total.Seconds()*1e3, a.first.Seconds()*1e3, a.bytes, a.events, note)
			sleep(ctx, *gap)
		}
		cl.close()
	}
	return nil
}

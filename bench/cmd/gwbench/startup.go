package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"evergate/bench/internal/llmreq"
)

// cmdStartup starts a server several times, measures the time from exec to
// its first successful answer and its memory once it is idle, and ends it.
func cmdStartup(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("startup", flag.ExitOnError)
	var c common
	c.register(fs)
	n := fs.Int("n", 5, "starts")
	limit := fs.Duration("limit", time.Minute, "give up on a start after this time")
	settle := fs.Duration("settle", 3*time.Second, "wait before the idle memory is read")
	idle := fs.Duration("idle", 0, "then watch the idle CPU for this long")
	logFile := fs.String("log", os.DevNull, "file for the server's output")
	asJSON := fs.Bool("json", false, "print JSON")
	dir := fs.String("dir", "", "working directory of the server")
	_ = fs.Parse(args)
	if fs.NArg() == 0 {
		return errors.New("no command to start")
	}
	cfg, err := c.load()
	if err != nil {
		return err
	}
	t := cfg.Targets[0]
	body, err := llmreq.Body(t.Dialect, t.Model, c.stream, c.size, t.Extra)
	if err != nil {
		return err
	}
	type start struct {
		Millis  float64 `json:"first_ok_ms"`
		RSSMB   float64 `json:"idle_rss_mb"`
		CPUMs   float64 `json:"cpu_ms_to_idle"`
		IdlePct float64 `json:"idle_cpu_percent"`
		Threads int     `json:"threads"`
	}
	var all []start
	for range *n {
		out, err := os.OpenFile(*logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		cmd := exec.Command(fs.Arg(0), fs.Args()[1:]...)
		cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, *dir
		t0 := time.Now()
		if err := cmd.Start(); err != nil {
			return err
		}
		s, err := func() (start, error) {
			var s start
			r, err := newRunner(t, body, options{timeout: 5 * time.Second, status: 200, stream: c.stream})
			if err != nil {
				return s, err
			}
			for {
				if _, err = r.probe(ctx); err == nil {
					break
				}
				if time.Since(t0) > *limit || ctx.Err() != nil {
					return s, fmt.Errorf("no successful answer: %w", err)
				}
				time.Sleep(time.Millisecond)
			}
			s.Millis = float64(time.Since(t0)) / float64(time.Millisecond)
			sleep(ctx, *settle)
			u, err := readUsage(cmd.Process.Pid)
			if err != nil {
				return s, err
			}
			s.RSSMB, s.Threads = float64(u.rss)/(1<<20), u.threads
			s.CPUMs = float64(u.total) / float64(time.Millisecond)
			if *idle > 0 {
				sleep(ctx, *idle)
				v, err := readUsage(cmd.Process.Pid)
				if err != nil {
					return s, err
				}
				s.IdlePct = 100 * float64(v.total-u.total) / float64(*idle)
			}
			return s, nil
		}()
		stopTree(cmd)
		_ = out.Close()
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	if *asJSON {
		b, _ := json.Marshal(map[string]any{"name": t.Name, "starts": all})
		fmt.Println(string(b))
		return nil
	}
	col := func(get func(start) float64) three {
		var v []float64
		for _, s := range all {
			v = append(v, get(s))
		}
		return spread(v)
	}
	ms, rss := col(func(s start) float64 { return s.Millis }), col(func(s start) float64 { return s.RSSMB })
	cpu, idl := col(func(s start) float64 { return s.CPUMs }), col(func(s start) float64 { return s.IdlePct })
	fmt.Printf("%-16s first ok %.1f / %.1f / %.1f ms   idle rss %.1f / %.1f / %.1f MB   cpu to idle %.0f ms   idle cpu %.2f %%   threads %d   (%d starts)\n",
		t.Name, ms.Min, ms.Median, ms.Max, rss.Min, rss.Median, rss.Max, cpu.Median, idl.Median, all[len(all)-1].Threads, len(all))
	return nil
}

// stopTree ends the process that was started here, and its descendants.
func stopTree(cmd *exec.Cmd) {
	pids, _ := tree(cmd.Process.Pid)
	started := map[int]string{}
	for _, pid := range pids {
		if st, err := readStat(pid); err == nil {
			started[pid] = st.started
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = cmd.Process.Kill()
		<-done
	}
	slices.Reverse(pids)
	for _, pid := range pids {
		if st, err := readStat(pid); err == nil && pid != cmd.Process.Pid && st.started == started[pid] {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

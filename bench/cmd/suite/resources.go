package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// starts is what gwbench startup says.
type starts struct {
	Starts []struct {
		Millis float64 `json:"first_ok_ms"`
		RSSMB  float64 `json:"idle_rss_mb"`
	} `json:"starts"`
}

// started starts the bare proxy and the gateway several times, on all cores, and gives the median of what get picks.
func started(ctx context.Context, s *settings, settle time.Duration, goal string, get func(starts, int) float64) ([]row, error) {
	v, err := newServers(s)
	if err != nil {
		return nil, err
	}
	defer v.stop()
	if err := v.mock(""); err != nil {
		return nil, err
	}
	unpinned := *s
	unpinned.pinLoad = ""
	var rows []row
	for _, t := range []struct {
		name, addr, model string
		argv              []string
	}{
		{"httputil.ReverseProxy", bareAddr, "gpt-4o-mini", []string{filepath.Join(s.bin, "refproxy"), "-listen", bareAddr}},
		{"evergate", gateAddr, "healthy", s.serveCommand(gateAddr)},
	} {
		var out starts
		args := []string{"startup", "-json", "-url", "http://" + t.addr, "-model", t.model, "-n", strconv.Itoa(s.rounds), "-settle", settle.String(), "--"}
		if err := unpinned.gwbench(ctx, &out, append(args, t.argv...)...); err != nil {
			return nil, err
		}
		var all []float64
		for i := range out.Starts {
			all = append(all, get(out, i))
		}
		rows = append(rows, row{Target: t.name, Value: median(all)})
	}
	rows[1].Goal = goal
	return rows, nil
}

func startup(ctx context.Context, s *settings) ([]row, error) {
	return started(ctx, s, 0, "≤ 50 ms", func(o starts, i int) float64 { return o.Starts[i].Millis })
}

func idleMemory(ctx context.Context, s *settings) ([]row, error) {
	return started(ctx, s, 2*time.Second, "≤ 25 MB", func(o starts, i int) float64 { return o.Starts[i].RSSMB })
}

// openStreams holds many streams open, each with an event a second, through the bare proxy, which passes the client's
// dialect through, and through a model of the gateway.
func openStreams(dialect, model string) func(context.Context, *settings) ([]row, error) {
	return func(ctx context.Context, s *settings) ([]row, error) {
		bare, err := openStreamsOf(ctx, s, target{Name: "httputil.ReverseProxy", URL: "http://" + bareAddr, Model: "gpt-4o-mini"}, dialect,
			func(v *servers) (int, error) { return v.proxy("reverseproxy", bareAddr) })
		if err != nil {
			return nil, err
		}
		own, err := openStreamsOf(ctx, s, target{Name: "evergate", URL: "http://" + gateAddr, Model: model}, dialect,
			func(v *servers) (int, error) { return v.gateway(gateAddr) })
		own.Goal = "≤ 48 KiB"
		return []row{bare, own}, err
	}
}

func openStreamsOf(ctx context.Context, s *settings, t target, dialect string, start func(*servers) (int, error)) (row, error) {
	v, err := newServers(s)
	if err != nil {
		return row{}, err
	}
	defer v.stop()
	if err := v.mock("delay=1s,chunks=600"); err != nil {
		return row{}, err
	}
	pid, err := start(v)
	if err != nil {
		return row{}, err
	}
	time.Sleep(2 * time.Second) // idle first
	var out struct {
		IdleMB       float64 `json:"idle_rss_mb"`
		OpenMB       float64 `json:"open_rss_mb"`
		KiBPerStream float64 `json:"kib_per_stream"`
		CPUPct       float64 `json:"cpu_percent"`
	}
	if err := s.gwbench(ctx, &out, "openstreams", "-json", "-url", t.URL, "-model", t.Model, "-dialect", dialect,
		"-pid", strconv.Itoa(pid), "-n", strconv.Itoa(s.streams)); err != nil {
		return row{}, fmt.Errorf("%s: %w", t.Name, err)
	}
	note := fmt.Sprintf("%.0f MB idle, %.0f MB with %d open, %.0f %% of a core", out.IdleMB, out.OpenMB, s.streams, out.CPUPct)
	return row{Target: t.Name, Value: out.KiBPerStream, Note: note}, nil
}

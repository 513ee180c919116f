package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// measurement is one thing that is measured; it gives the rows of its table.
type measurement struct {
	name    string
	title   string
	unit    string // of a row's value
	measure func(context.Context, *settings) ([]row, error)
}

// row is one target's result.
type row struct {
	Target string  `json:"target"`
	Value  float64 `json:"value"` // median
	Ratio  *spread `json:"ratio,omitempty"`
	Goal   string  `json:"goal,omitempty"`
	Note   string  `json:"note,omitempty"`
	Errors int64   `json:"errors,omitempty"`
}

// spread is what gwbench says of a ratio to the reference of the same round.
type spread struct{ Min, Median, Max float64 }

var measurements = []measurement{
	{"small", "Small plain chat (300 B)", "CPU µs/request", load("", "1.35")},
	{"big", "Plain chat of 50 KB", "CPU µs/request", load("", "1.40", "-size", "50000")},
	{"stream", "Stream of 100 events, one write each", "CPU µs/stream", load("chunks=100", "1.25", "-stream")},
	{"coalesced", "Stream of 100 events in one write", "CPU µs/stream", load("chunks=100,coalesce=200", "", "-stream")},
	{"messages-to-chat", "Across dialects: Messages client, chat upstream, plain", "CPU µs/request", across("", "1.80", "healthy", "-dialect", "messages")},
	{"messages-to-chat-stream", "The same, stream of 100 events", "CPU µs/stream", across("chunks=100", "2.00", "healthy", "-dialect", "messages", "-stream")},
	{"chat-to-messages", "Across dialects: chat client, Anthropic upstream, plain", "CPU µs/request", across("", "1.80", "claude", "-dialect", "chat")},
	{"chat-to-messages-stream", "The same, stream of 100 events", "CPU µs/stream", across("chunks=100", "2.00", "claude", "-dialect", "chat", "-stream")},
	{"messages-to-chat-big", "Messages client, chat upstream, 50 KB", "CPU µs/request", across("", "1.80", "healthy", "-dialect", "messages", "-size", "50000")},
	{"responses-to-chat", "Responses client, chat upstream, plain", "CPU µs/request", across("", "1.80", "healthy", "-dialect", "responses")},
	{"responses-to-chat-stream", "The same, stream of 100 events", "CPU µs/stream", across("chunks=100", "2.00", "healthy", "-dialect", "responses", "-stream")},
	{"open-breaker", "Failover with the first provider's breaker open", "CPU µs/request", openBreaker},
	{"dead-provider", "Failover from a provider that refuses connections, breaker never open, one request at a time", "ms/request", deadProvider},
	{"cold", "First requests after the start, first provider refuses connections", "ms/request", coldRequests},
	{"startup", "From exec to the first answer", "ms", startup},
	{"idle", "Memory at idle, after the first answer", "MB RSS", idleMemory},
	{"open-streams", "Memory of an open stream with one event a second", "KiB/stream", openStreams("chat", "healthy")},
	{"open-streams-across", "The same across dialects: Messages client, chat upstream", "KiB/stream", openStreams("messages", "healthy")},
}

// target is an entry of gwbench's configuration.
type target struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Model string `json:"model"`
	PID   int    `json:"pid"`
}

// paired runs targets in rounds, each compared with the first one of the same round.
func (s *settings) paired(ctx context.Context, targets []target, args ...string) ([]row, []summary, error) {
	file := filepath.Join(s.out, "targets.json")
	b, err := json.Marshal(map[string]any{"ref": targets[0].Name, "targets": targets})
	if err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		return nil, nil, err
	}
	var report struct{ Summary []summary }
	args = append([]string{"run", "-config", file, "-json", "-", "-rounds", strconv.Itoa(s.rounds)}, args...)
	if err := s.gwbench(ctx, &report, args...); err != nil {
		return nil, nil, err
	}
	var rows []row
	for i, t := range report.Summary {
		r := row{Target: t.Target, Value: t.CPUMicros, Errors: t.Errors}
		if i > 0 {
			r.Ratio = &t.Ratio.CPU
		}
		r.Note = fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, %.0f/s, RSS %.0f MB", t.P50, t.P99, t.RPS, t.RSSMB)
		rows = append(rows, r)
	}
	return rows, report.Summary, nil
}

// summary is the part of gwbench's report that is used here.
type summary struct {
	Target    string  `json:"target"`
	CPUMicros float64 `json:"cpu_us_per_req"`
	RPS       float64 `json:"rps"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	RSSMB     float64 `json:"rss_mb"`
	Errors    int64   `json:"errors"`
	Ratio     struct{ CPU spread }
}

// UnmarshalJSON reads the ratio under the name that gwbench gives it.
func (s *summary) UnmarshalJSON(b []byte) error {
	type plain summary
	aux := struct {
		*plain
		Ratio map[string]spread `json:"ratio_to_ref"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(b, &aux); err != nil {
		return err
	}
	s.Ratio.CPU = aux.Ratio["cpu"]
	return nil
}

// load measures bare proxies and the gateway under 64 connections.
func load(knobs, goal string, args ...string) func(context.Context, *settings) ([]row, error) {
	return across(knobs, goal, "healthy", args...)
}

// across is load with a model of the gateway whose upstream may speak another dialect than the client; the bare proxies
// pass the client's own dialect through, to a mock that speaks it.
func across(knobs, goal, model string, args ...string) func(context.Context, *settings) ([]row, error) {
	return func(ctx context.Context, s *settings) ([]row, error) {
		v, err := newServers(s)
		if err != nil {
			return nil, err
		}
		defer v.stop()
		if err := v.mock(knobs); err != nil {
			return nil, err
		}
		bare, err1 := v.proxy("reverseproxy", bareAddr)
		handler, err2 := v.proxy("handler", handlerAddr)
		gate, err3 := v.gateway(gateAddr)
		quiet, err4 := v.gateway(quietAddr, "--log-level", "error")
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				return nil, err
			}
		}
		rows, _, err := s.paired(ctx, []target{
			{"httputil.ReverseProxy", "http://" + bareAddr, "gpt-4o-mini", bare},
			{"net/http handler (floor)", "http://" + handlerAddr, "gpt-4o-mini", handler},
			{"evergate", "http://" + gateAddr, model, gate},
			{"evergate, no request log", "http://" + quietAddr, model, quiet},
		}, append(args, "-c", "64", "-d", "800ms", "-warmup", "300ms", "-first-warmup", "2s")...)
		if err == nil && goal != "" {
			rows[2].Goal = "≤ " + goal
		}
		return rows, err
	}
}

// pairOfModels measures two models of one gateway against each other.
func pairOfModels(ctx context.Context, s *settings, first, second string, args ...string) ([]row, []summary, error) {
	v, err := newServers(s)
	if err != nil {
		return nil, nil, err
	}
	defer v.stop()
	if err := v.mock(""); err != nil {
		return nil, nil, err
	}
	pid, err := v.gateway(gateAddr)
	if err != nil {
		return nil, nil, err
	}
	return s.paired(ctx, []target{{first, "http://" + gateAddr, first, pid}, {second, "http://" + gateAddr, second, pid}}, args...)
}

func openBreaker(ctx context.Context, s *settings) ([]row, error) {
	rows, _, err := pairOfModels(ctx, s, "healthy", "breaker-open", "-c", "64", "-d", "800ms", "-warmup", "300ms", "-first-warmup", "2s")
	if err == nil {
		rows[1].Goal = "≤ 1.05"
	}
	return rows, err
}

func deadProvider(ctx context.Context, s *settings) ([]row, error) {
	rows, sums, err := pairOfModels(ctx, s, "healthy", "dead-first", "-c", "1", "-count", "200", "-warmup", "100ms", "-first-warmup", "500ms")
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].Value, rows[i].Ratio, rows[i].Note = sums[i].P50, nil, fmt.Sprintf("p99 %.2f ms", sums[i].P99)
	}
	rows[1].Goal, rows[1].Note = "≤ 5 ms more", rows[1].Note+fmt.Sprintf("; %.2f ms more at the median", sums[1].P50-sums[0].P50)
	return rows, nil
}

// coldRequests sends a new gateway ten requests, the breaker as by default, and gives the slowest from the second on;
// the first also pays for connections.
func coldRequests(ctx context.Context, s *settings) ([]row, error) {
	var firsts, rest []float64
	for range min(s.rounds, 5) {
		v, err := newServers(s)
		if err != nil {
			return nil, err
		}
		times, err := func() ([]float64, error) {
			defer v.stop()
			if err := v.mock(""); err != nil {
				return nil, err
			}
			if _, err := v.gateway(gateAddr); err != nil {
				return nil, err
			}
			return oneByOne(ctx, 10)
		}()
		if err != nil {
			return nil, err
		}
		firsts, rest = append(firsts, times[0]), append(rest, slices.Max(times[1:]))
	}
	return []row{{Target: "first request", Value: median(firsts)}, {Target: "slowest of the 2nd to 10th", Value: median(rest)}}, nil
}

func oneByOne(ctx context.Context, n int) ([]float64, error) {
	const body = `{"model":"cold","messages":[{"role":"user","content":"hello"}]}`
	var out []float64
	for range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+gateAddr+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		start := time.Now()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s, %w", resp.Status, err)
		}
		out = append(out, float64(time.Since(start))/float64(time.Millisecond))
	}
	return out, nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

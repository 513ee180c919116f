// Command gwbench loads HTTP gateways for LLM APIs and measures what a request
// costs them. Beside rate and latency it reads the CPU time and the memory of
// the gateway's process tree, since on a small or shared machine CPU per
// request is the number that repeats.
//
//	gwbench run -url http://127.0.0.1:9200 -pid 123 -dialect chat -c 64 -d 5s
//	gwbench run -config targets.json -ref bare -rounds 7      # paired
//	gwbench startup -url http://127.0.0.1:9200 -n 5 -- ./gateway -flags
//	gwbench trace -url http://127.0.0.1:9200 -n 12            # one by one
//	gwbench openstreams -url http://127.0.0.1:9200 -pid 123 -n 5000
//
// With several targets it alternates between them in rounds, starting each
// round one target further, and prints each target's ratio to the reference
// target of the same round as min / median / max.
//
// It sends only to loopback addresses and only for a bounded time.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evergate/bench/internal/llmreq"
)

// target is one server under load.
type target struct {
	Name    string   `json:"name"`
	URL     string   `json:"url"`
	Path    string   `json:"path,omitempty"`    // default: the dialect's own path
	Dialect string   `json:"dialect,omitempty"` // chat, messages or responses
	Model   string   `json:"model,omitempty"`
	Headers []string `json:"headers,omitempty"` // "Name: value"
	Extra   string   `json:"extra,omitempty"`   // JSON object merged into the body
	PID     int      `json:"pid,omitempty"`
	PIDFile string   `json:"pidfile,omitempty"`
}

type config struct {
	Ref     string   `json:"ref"`
	MockPID int      `json:"mock_pid,omitempty"`
	Targets []target `json:"targets"`
}

type stringList []string

func (l *stringList) String() string     { return strings.Join(*l, "; ") }
func (l *stringList) Set(s string) error { *l = append(*l, s); return nil }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: gwbench run|startup|trace|openstreams [flags]; see -h of each")
		os.Exit(2)
	}
	var err error
	switch os.Args[1] {
	case "run":
		err = cmdRun(ctx, os.Args[2:])
	case "startup":
		err = cmdStartup(ctx, os.Args[2:])
	case "trace":
		err = cmdTrace(ctx, os.Args[2:])
	case "openstreams":
		err = cmdOpenStreams(ctx, os.Args[2:])
	default:
		err = fmt.Errorf("unknown command %q", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gwbench:", err)
		os.Exit(1)
	}
}

// common are the flags that describe the request and a single target.
type common struct {
	t      target
	stream bool
	size   int
	hdrs   stringList
	config string
	only   string
}

func (c *common) register(fs *flag.FlagSet) {
	fs.StringVar(&c.t.Name, "name", "target", "name of the target")
	fs.StringVar(&c.t.URL, "url", "", "base URL of the target (loopback)")
	fs.StringVar(&c.t.Path, "path", "", "path to post to (default: the dialect's)")
	fs.StringVar(&c.t.Dialect, "dialect", "chat", "chat, messages or responses")
	fs.StringVar(&c.t.Model, "model", "gpt-4o-mini", "model name to send")
	fs.StringVar(&c.t.Extra, "extra", "", "JSON object merged into the request body")
	fs.IntVar(&c.t.PID, "pid", 0, "process of the target, measured with its descendants")
	fs.StringVar(&c.t.PIDFile, "pidfile", "", "file to read the pid from")
	fs.Var(&c.hdrs, "H", "request header 'Name: value' (repeatable)")
	fs.BoolVar(&c.stream, "stream", false, "ask for streams")
	fs.IntVar(&c.size, "size", 300, "size of the request body in bytes")
	fs.StringVar(&c.config, "config", "", "JSON file with targets; fields left out take the flags' values")
	fs.StringVar(&c.only, "only", "", "comma-separated names of the config's targets to use")
}

func (c *common) load() (config, error) {
	c.t.Headers = c.hdrs
	cfg := config{Targets: []target{c.t}}
	if c.config != "" {
		b, err := os.ReadFile(c.config)
		if err != nil {
			return cfg, err
		}
		cfg = config{}
		if err := json.Unmarshal(b, &cfg); err != nil {
			return cfg, fmt.Errorf("%s: %w", c.config, err)
		}
	}
	keep := cfg.Targets[:0]
	for _, t := range cfg.Targets {
		if c.config != "" && c.only != "" && !contains(strings.Split(c.only, ","), t.Name) {
			continue
		}
		if t.Dialect == "" {
			t.Dialect = c.t.Dialect
		}
		if t.Model == "" {
			t.Model = c.t.Model
		}
		if t.Path == "" {
			t.Path = c.t.Path
		}
		if t.Extra == "" {
			t.Extra = c.t.Extra
		}
		if c.config != "" {
			t.Headers = append(t.Headers, c.hdrs...)
		}
		if t.PID == 0 && t.PIDFile != "" {
			b, err := os.ReadFile(t.PIDFile)
			if err != nil {
				return cfg, err
			}
			if t.PID, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
				return cfg, fmt.Errorf("%s: %w", t.PIDFile, err)
			}
		}
		keep = append(keep, t)
	}
	cfg.Targets = keep
	if len(keep) == 0 {
		return cfg, fmt.Errorf("no targets")
	}
	return cfg, nil
}

func contains(l []string, s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}

func cmdRun(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("run", flag.ExitOnError)
	var c common
	c.register(fs)
	var o options
	fs.IntVar(&o.conc, "c", 64, "connections")
	fs.DurationVar(&o.duration, "d", 3*time.Second, "time measured per target and round (at most 5m)")
	fs.Int64Var(&o.count, "count", 0, "requests measured per target and round, instead of -d")
	fs.DurationVar(&o.warmup, "warmup", 500*time.Millisecond, "time under load before each measurement")
	fs.DurationVar(&o.firstWarmup, "first-warmup", 3*time.Second, "the same for a target's first round")
	fs.Float64Var(&o.rate, "rate", 0, "requests per second at fixed times, latency counted from those (0: closed loop)")
	fs.DurationVar(&o.timeout, "timeout", 30*time.Second, "limit of one request")
	fs.IntVar(&o.status, "expect", 200, "status that counts as success")
	fs.BoolVar(&o.resetHWM, "reset-hwm", false, "reset the peak RSS before each measurement (needs root)")
	rounds := fs.Int("rounds", 1, "rounds over all targets")
	ref := fs.String("ref", "", "name of the reference target (default: the config's, else the first)")
	mockPID := fs.Int("mock-pid", 0, "process of the mock upstream, to see its share")
	jsonOut := fs.String("json", "", "write all results to this file as JSON ('-': standard output, no tables)")
	label := fs.String("label", "", "title of the run")
	verbose := fs.Bool("v", false, "print each round as it ends, and one answer of each target")
	_ = fs.Parse(args)

	cfg, err := c.load()
	if err != nil {
		return err
	}
	if o.conc < 1 || o.conc > 4096 || o.duration > 5*time.Minute || *rounds < 1 || *rounds > 1000 {
		return fmt.Errorf("flag out of range")
	}
	o.stream = c.stream
	o.mockPID = cfg.MockPID
	if *mockPID != 0 {
		o.mockPID = *mockPID
	}
	if *ref == "" {
		*ref = cfg.Ref
	}
	if *ref == "" || !hasTarget(cfg.Targets, *ref) {
		*ref = cfg.Targets[0].Name
	}
	var log io.Writer = os.Stderr
	if !*verbose {
		log = io.Discard
	}

	runs := make([]*runner, len(cfg.Targets))
	for i, t := range cfg.Targets {
		body, err := llmreq.Body(t.Dialect, t.Model, c.stream, c.size, t.Extra)
		if err != nil {
			return err
		}
		if runs[i], err = newRunner(t, body, o); err != nil {
			return err
		}
		a, err := runs[i].ready(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		fmt.Fprintf(log, "%s: request %d B, status %d, %d B, %d events\n%.300s\n", t.Name, len(body), a.status, a.bytes, a.events, a.sample)
	}
	var results []result
	for round := range *rounds {
		for i := range runs {
			r := runs[(i+round)%len(runs)]
			res, err := r.run(ctx, round)
			if err != nil {
				return fmt.Errorf("%s: %w", r.t.Name, err)
			}
			results = append(results, res)
			fmt.Fprintf(log, "round %d %-16s cpu %8.1f us/req  rps %9.1f  p50 %8.2f ms  p99 %8.2f ms  errors %d\n",
				round, res.Target, res.CPUMicros, res.RPS, res.P50, res.P99, res.Errors)
		}
	}
	rep := newReport(*label, *ref, cfg.Targets, o, c, results)
	if *jsonOut != "" {
		b, err := json.MarshalIndent(rep, "", " ")
		if err != nil {
			return err
		}
		if *jsonOut == "-" {
			_, err = os.Stdout.Write(append(b, '\n'))
			return err
		}
		if err := os.WriteFile(*jsonOut, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	rep.print(os.Stdout)
	return nil
}

func hasTarget(ts []target, name string) bool {
	for _, t := range ts {
		if t.Name == name {
			return true
		}
	}
	return false
}

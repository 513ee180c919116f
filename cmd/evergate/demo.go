package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"evergate/internal/app"
	"evergate/internal/config"
	"evergate/internal/journal"
	"evergate/internal/mock"
)

type demoCmd struct {
	Listen  string        `help:"Address to listen on." default:"127.0.0.1:8080" env:"EVERGATE_DEMO_LISTEN"`
	Every   time.Duration `help:"Time between the demo's own requests; 0 sends none." default:"1s" env:"EVERGATE_DEMO_EVERY"`
	Verbose bool          `help:"Write the gateway's own log, too." env:"EVERGATE_DEMO_VERBOSE"`
}

// The demo's providers. The first fails on a schedule, each time in another way.
const (
	demoChat   = `latency: 40ms, first_token: 20ms, chunk_delay: 15ms`
	demoAurora = `name: aurora
models: [demo-large]
defaults: {` + demoChat + `}
rules:
  - {name: outage, schedule: "up 8s, down 12s, up 20s", do: {status: 503, latency: 5ms}}
  - {name: resets, schedule: "up 28s, down 12s", do: {reset: before_headers}}
`
	demoBorealis = "name: borealis\nmodels: [demo-large, demo-embed]\ndefaults: {" + demoChat + "}\n"
	demoCirrus   = "name: cirrus\nmodels: [demo-small]\ndefaults: {" + demoChat + "}\n"
)

// demoConfig shows the settings a first config would have, but for a breaker that is quick enough to watch.
const demoConfig = `server: {listen: %q}
providers:
  aurora: {type: openai-compatible, base_url: %q, models: [demo-large]}
  borealis: {type: openai-compatible, base_url: %q, models: [demo-large, demo-embed]}
  cirrus: {type: openai-compatible, base_url: %q, models: [demo-small]}
models:
  demo:
    strategy: ordered
    targets: [aurora/demo-large, borealis/demo-large, cirrus/demo-small]
    availability: 99.9%%
catalog: # so that money is seen
  demo-large: {input_price: 2.5, output_price: 10}
  demo-small: {input_price: 0.15, output_price: 0.6}
resilience:
  circuit_breaker: {failure_threshold: 3, timeout: 5s}
`

func (d *demoCmd) Run(c *cli) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	urls := []any{d.Listen}
	for _, text := range []string{demoAurora, demoBorealis, demoCirrus} {
		script, err := mock.ParseScript([]byte(text))
		if err != nil {
			return err
		}
		s, err := mock.Listen(ctx, "127.0.0.1:0", mock.New(script))
		if err != nil {
			return err
		}
		defer s.Close() //nolint:errcheck // the process ends
		urls = append(urls, s.URL())
	}
	cfg, err := config.Parse("demo", []byte(fmt.Sprintf(demoConfig, urls...)), noEnvironment)
	if err != nil {
		return err
	}
	logger := slog.New(slog.DiscardHandler)
	if d.Verbose {
		verbose, lines, err := openLog(c, cfg.Log)
		if err != nil {
			return err
		}
		defer within(func() { _ = lines.Close() })
		logger = verbose
	}
	a, err := app.New(app.Options{Config: cfg, Logger: logger, Version: version, Sinks: []journal.Sink{demoScreen{}}})
	if err != nil {
		return err
	}
	return runUntilSignal(a, func() {
		fmt.Fprintf(os.Stdout, `Evergate demo: http://%[1]s with three SIMULATED providers (no model, no key, nothing leaves this machine).
aurora fails for 12 s in every 20, once with 503s, once with resets; borealis and cirrus stand in. Each line is one request.

Dashboard: http://%[1]s/ui/

Try it yourself, in another terminal:
  curl -si http://%[1]s/v1/chat/completions -H 'Content-Type: application/json' \
    -d '{"model":"demo","messages":[{"role":"user","content":"hello"}]}'
  %[2]s status --url http://%[1]s

`, d.Listen, os.Args[0])
		if d.Every > 0 {
			go demoTraffic(ctx, "http://"+d.Listen, d.Every)
		}
	})
}

func noEnvironment(string) (string, bool) { return "", false }

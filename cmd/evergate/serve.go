package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"evergate/internal/app"
	"evergate/internal/config"
	"evergate/internal/handover"
	"evergate/internal/telemetry/traces"
)

type serveCmd struct {
	Config string `short:"c" help:"Config file; without it ./evergate.yaml if there, else providers found in the environment." type:"path" env:"EVERGATE_CONFIG"`
	Listen string `help:"Address to listen on, in place of server.listen." env:"EVERGATE_LISTEN"`

	PidFile        string        `help:"File that names the process which serves, through upgrades." type:"path" env:"EVERGATE_PID_FILE"`
	UpgradeTimeout time.Duration `help:"How long a new process may take to be ready, at an upgrade." default:"30s" env:"EVERGATE_UPGRADE_TIMEOUT"`
}

// defaultFile is read if it is there and no other is named.
const defaultFile = "evergate.yaml"

// settle is how long a process that takes over looks at what the providers have before it serves; as long as one look takes.
const settle = 10 * time.Second

func (s *serveCmd) Run(c *cli) error {
	unprotected := keepMemory(os.Getenv)
	file := s.Config
	if file == "" {
		if _, err := os.Stat(defaultFile); err == nil {
			file = defaultFile
		}
	}
	load := func() (*config.Config, error) { return s.load(file) }
	cfg, err := load()
	if err != nil {
		return err
	}
	spans, err := traces.FromEnvironment(os.LookupEnv)
	if err != nil {
		return &exitError{1, err.Error()}
	}
	logger, lines, err := openLog(c, cfg.Log)
	if err != nil {
		return &exitError{2, err.Error()}
	}
	defer within(func() { _ = lines.Close() })
	if unprotected != nil {
		logger.Warn("a core dump of this process may hold credentials", "error", unprotected.Error())
	}
	process, err := handover.Begin(handover.Options{PIDFile: s.PidFile, Timeout: s.UpgradeTimeout})
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // whoever reads the log may go away; requests go on
	o := app.Options{Config: cfg, Logger: logger, LogDropped: lines.Dropped, Version: version, OpenState: app.OpenState, Listen: process.Listen, Traces: spans}
	if file != "" {
		o.Load, o.Watch = func() (*config.Config, error) { return s.reload(file) }, file
	}
	if process.Inherited() {
		o.Settle = min(settle, s.UpgradeTimeout/2)
	}
	a, err := app.New(o)
	if err != nil {
		return err
	}
	return (&life{app: a, process: process, log: logger, started: func() {
		if err := process.Ready(); err != nil {
			logger.Warn("not everybody was told that this process serves", "error", err.Error())
		}
	}}).run()
}

// reload reads the file again, if it can be: a pipe gives its content once, and would be waited for.
func (s *serveCmd) reload(file string) (*config.Config, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a regular file and cannot be read again", file)
	}
	return s.load(file)
}

// load reads the file, or the environment where there is none.
func (s *serveCmd) load(file string) (*config.Config, error) {
	var cfg *config.Config
	var err error
	if file != "" {
		cfg, err = config.Load(file, os.LookupEnv)
	} else {
		cfg, err = detect()
	}
	if err != nil {
		return nil, err
	}
	if s.Listen != "" {
		return cfg.WithListen(s.Listen)
	}
	return cfg, nil
}

// detect finds providers in the environment (CONTRACT §1).
func detect() (*config.Config, error) {
	cfg, found, err := config.Detect(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &exitError{2, "no provider found: there is no " + defaultFile + " here and no API key in the environment.\n" +
			"Set one of OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, GROQ_API_KEY, … or OLLAMA_BASE_URL, or write a config file (docs/config.md).\n" +
			"`evergate demo` needs no key."}
	}
	fmt.Fprintln(os.Stderr, "evergate: providers found in the environment:", strings.Join(found, ", "))
	return cfg, nil
}

package main

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"evergate/internal/config"
	"evergate/internal/telemetry"
)

// lastWords is how long the process waits at its end for an output that takes nothing, such as a full pipe.
const lastWords = time.Second

// within runs f and waits for it, but no longer than lastWords.
func within(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(lastWords):
	}
}

// openLog makes the logger: flag before environment before file; text when standard error is a terminal, else JSON.
func openLog(c *cli, l config.Log) (*slog.Logger, *telemetry.LineWriter, error) {
	format := c.LogFormat
	if format == "auto" {
		format = l.Format
	}
	if format == "" {
		format = "json"
		if term.IsTerminal(int(os.Stderr.Fd())) {
			format = "text"
		}
	}
	name := c.LogLevel
	if name == "auto" {
		name = l.Level
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return nil, nil, fmt.Errorf("log level %q: use debug, info, warn or error", name)
	}
	w := telemetry.NewLineWriter(os.Stderr)
	logger, err := telemetry.NewLogger(w, format, level)
	if err != nil {
		return nil, nil, err
	}
	return logger, w, nil
}

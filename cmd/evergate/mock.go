package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"evergate/internal/mock"
)

type mockCmd struct {
	Listen string `help:"Address to listen on." default:"127.0.0.1:9090" env:"EVERGATE_MOCK_LISTEN"`
	Script string `help:"YAML file that says when to fail and how (docs/mock.md)." type:"path" env:"EVERGATE_MOCK_SCRIPT"`
}

func (m *mockCmd) Run(*cli) error {
	var script mock.Script
	if m.Script != "" {
		data, err := os.ReadFile(m.Script)
		if err != nil {
			return err
		}
		if script, err = mock.ParseScript(data); err != nil {
			return fmt.Errorf("%s: %w", m.Script, err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := mock.Serve(ctx, m.Listen, mock.New(script), func(s *mock.Server) {
		fmt.Fprintf(os.Stderr, "evergate: simulated provider on %s (not a real model)\n", s.URL())
	})
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "listen" {
		return fmt.Errorf("listen on %s: %w; set --listen to a free address", m.Listen, op.Err)
	}
	return err
}

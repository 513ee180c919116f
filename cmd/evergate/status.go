package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"evergate/internal/admin"
)

type statusCmd struct {
	URL   string `help:"Address of the gateway (or of its admin listener)." default:"http://127.0.0.1:8080" env:"EVERGATE_URL"`
	Token string `help:"Admin token." env:"EVERGATE_ADMIN_TOKEN"`
	JSON  bool   `help:"Print the reply as it is." env:"EVERGATE_STATUS_JSON"`
	Watch bool   `short:"w" help:"Refresh every second." env:"EVERGATE_STATUS_WATCH"`
}

func (s *statusCmd) Run(c *cli) error {
	ctx, stop := signal.NotifyContext(c.trusting(context.Background()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	terminal := term.IsTerminal(int(os.Stdout.Fd()))
	for seen := false; ; seen = true {
		err := s.show(ctx, os.Stdout, terminal)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if !s.Watch || !seen {
				return err
			}
			fmt.Fprintln(os.Stderr, "evergate:", err) // a gateway that restarts comes back
		}
		if !s.Watch {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// show asks once and prints what came.
func (s *statusCmd) show(ctx context.Context, to io.Writer, terminal bool) error {
	body, err := s.fetch(ctx)
	var h admin.Health
	if err == nil && (json.Unmarshal(body, &h) != nil || h.Providers == nil) {
		err = fmt.Errorf("%s did not answer with a health reply but with %s; is it an Evergate gateway?", s.URL, shown(body))
	}
	if s.Watch && terminal {
		fmt.Fprint(to, "\x1b[H\x1b[2J")
	}
	switch {
	case err != nil:
		return err
	case s.JSON:
		_, err = fmt.Fprintln(to, strings.TrimSpace(string(body)))
		return err
	}
	return admin.RenderStatus(to, h, time.Now(), terminal)
}

// fetch asks for the health reply.
func (s *statusCmd) fetch(ctx context.Context) ([]byte, error) {
	gateway := adminClient{url: s.URL, token: s.Token}
	reply, err := gateway.do(ctx, http.MethodGet, "/admin/v1/health", nil)
	switch {
	case err != nil:
		return nil, err
	case reply.code != http.StatusOK:
		return nil, refused(s.URL, reply.status, reply.text)
	}
	return reply.text, nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
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

func (s *statusCmd) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	terminal := term.IsTerminal(int(os.Stdout.Fd()))
	for {
		body, err := s.fetch(ctx)
		if err != nil {
			return err
		}
		if s.Watch && terminal {
			fmt.Print("\x1b[H\x1b[2J")
		}
		if s.JSON {
			fmt.Println(string(body))
		} else {
			var h admin.Health
			if err := json.Unmarshal(body, &h); err != nil {
				return fmt.Errorf("%s did not answer with a health reply: %w", s.URL, err)
			}
			if err := admin.RenderStatus(os.Stdout, h, time.Now(), terminal); err != nil {
				return err
			}
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

func (s *statusCmd) fetch(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/admin/v1/health", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("--url %q: %w", s.URL, err)
	}
	if s.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.Token)
	}
	client := &http.Client{Timeout: 10 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no gateway at %s (start one, or name it with --url): %w", s.URL, err)
	}
	defer res.Body.Close() //nolint:errcheck // nothing is left to be lost
	body, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s: %s", s.URL, res.Status, body)
	}
	return body, nil
}

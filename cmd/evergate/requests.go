package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"evergate/internal/admin"
)

type requestsCmd struct {
	Failed   bool   `help:"Only those that failed by the gateway or its providers." env:"EVERGATE_REQUESTS_FAILED"`
	Rescued  bool   `help:"Only those that failover saved." env:"EVERGATE_REQUESTS_RESCUED"`
	Model    string `help:"Only those of this virtual model, or model id." env:"EVERGATE_REQUESTS_MODEL"`
	Provider string `help:"Only those of which some attempt went there." env:"EVERGATE_REQUESTS_PROVIDER"`
	Key      string `help:"Only those of this caller's key, by name." env:"EVERGATE_REQUESTS_KEY"`
	Limit    string `help:"How many, up to 500." default:"20" env:"EVERGATE_REQUESTS_LIMIT"`
	Watch    bool   `short:"w" help:"Go on with those that end from now on." env:"EVERGATE_REQUESTS_WATCH"`
	JSON     bool   `help:"Print the reply as it is; with --watch a request a line." env:"EVERGATE_REQUESTS_JSON"`
	URL      string `help:"Address of the gateway (or of its admin listener)." default:"http://127.0.0.1:8080" env:"EVERGATE_URL"`
	Token    string `help:"Admin token." env:"EVERGATE_ADMIN_TOKEN"`
}

func (k *requestsCmd) Run(c *cli) error {
	ctx, stop := signal.NotifyContext(c.trusting(context.Background()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	terminal := term.IsTerminal(int(os.Stdout.Fd()))
	t := &tail{}
	if err := k.show(ctx, os.Stdout, t, terminal); err != nil || !k.Watch {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		if err := k.show(ctx, os.Stdout, t, terminal); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "evergate:", err) // a gateway that restarts comes back
		}
	}
}

// show prints the requests that are new to a tail, the oldest first.
func (k *requestsCmd) show(ctx context.Context, to io.Writer, t *tail, terminal bool) error {
	goesOn := t.seen != nil
	var fresh []listed
	var from time.Time
	if goesOn {
		from = t.from()
	}
	next := ""
	var failed error // of a page after the first: those before it are shown all the same
	for range tailPages {
		text, err := k.fetch(ctx, goesOn, from, next)
		if err != nil && next != "" {
			failed = err
			break
		}
		if err != nil {
			return err
		}
		if k.JSON && !k.Watch {
			_, err = fmt.Fprintln(to, strings.TrimSpace(string(text)))
			return err
		}
		var rows []listed
		if rows, next, err = k.readPage(text); err != nil {
			return err
		}
		if !goesOn {
			t.first(names(rows), next)
			fresh = rows
			break
		}
		fresh = append(fresh, slices.DeleteFunc(rows, func(r listed) bool { return !t.take(r.Row) })...)
		if next == "" {
			break
		}
	}
	slices.SortStableFunc(fresh, func(a, b listed) int { return cmp.Compare(a.Row, b.Row) })
	var rows []admin.Listed
	for _, r := range fresh {
		rows = append(rows, r.Listed)
		if k.JSON {
			fmt.Fprintln(to, string(r.raw))
		}
	}
	if k.JSON || len(rows) == 0 && goesOn {
		return failed
	}
	return errors.Join(failed, admin.RenderRequests(to, rows, time.Local, goesOn, terminal))
}

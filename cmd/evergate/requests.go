package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

func (k *requestsCmd) Run(*cli) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	terminal := term.IsTerminal(int(os.Stdout.Fd()))
	last, err := k.show(ctx, os.Stdout, "", terminal)
	if err != nil || !k.Watch {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		if last, err = k.show(ctx, os.Stdout, last, terminal); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "evergate:", err) // a gateway that restarts comes back
		}
	}
}

// show prints the requests after a row, the oldest first, and gives the row of the last one; without a row it is the first time.
func (k *requestsCmd) show(ctx context.Context, to io.Writer, after string, terminal bool) (last string, err error) {
	text, err := k.fetch(ctx, after)
	if err != nil {
		return after, err
	}
	var page struct {
		Requests []json.RawMessage `json:"requests"`
	}
	if json.Unmarshal(text, &page) != nil {
		return after, fmt.Errorf("%s did not answer with requests but with %s; is it an Evergate gateway?", k.URL, shown(text))
	}
	if k.JSON && !k.Watch {
		_, err = fmt.Fprintln(to, strings.TrimSpace(string(text)))
		return after, err
	}
	last = cmp.Or(after, "0") // below all rows: what comes from now on goes on
	var rows []admin.Listed
	for _, raw := range slices.Backward(page.Requests) {
		var r admin.Listed
		if json.Unmarshal(raw, &r) != nil || r.Row <= after {
			continue
		}
		last = max(last, r.Row)
		rows = append(rows, r)
		if k.JSON {
			fmt.Fprintln(to, string(raw))
		}
	}
	if k.JSON || len(rows) == 0 && after != "" {
		return last, nil
	}
	return last, admin.RenderRequests(to, rows, time.Local, after != "", terminal)
}

// fetch asks for the newest requests; after a row for as many as there may be.
func (k *requestsCmd) fetch(ctx context.Context, after string) ([]byte, error) {
	q := url.Values{"limit": {k.Limit}}
	if after != "" {
		q.Set("limit", "500")
	}
	for name, v := range map[string]string{"route": k.Model, "provider": k.Provider, "key": k.Key} {
		if v != "" {
			q.Set(name, v)
		}
	}
	for name, yes := range map[string]bool{"failed": k.Failed, "rescued": k.Rescued} {
		if yes {
			q.Set(name, "true")
		}
	}
	gateway := adminClient{url: k.URL, token: k.Token}
	reply, err := gateway.do(ctx, http.MethodGet, "/admin/v1/requests?"+q.Encode(), nil)
	switch {
	case err != nil:
		return nil, err
	case reply.code != http.StatusOK:
		return nil, refused(k.URL, reply.status, reply.text)
	}
	return reply.text, nil
}

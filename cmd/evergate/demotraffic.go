package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"evergate/internal/journal"
)

// demoTraffic sends a small request every so often, every third one streamed.
func demoTraffic(ctx context.Context, url string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		body := fmt.Sprintf(`{"model":"demo","stream":%t,"messages":[{"role":"user","content":"hello"}]}`, n%3 == 2)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			continue // not listening yet, or stopping
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

// demoScreen prints requests and transitions as they happen.
type demoScreen struct{ journal.Nothing }

func (demoScreen) RequestEnded(r *journal.Request) {
	kind := "plain "
	if r.Stream {
		kind = "stream"
	}
	note := ""
	if len(r.Trail) > 1 && r.Status == http.StatusOK {
		note = "   <- failed over"
	}
	if r.Status != http.StatusOK {
		note = "   <- " + r.Code
	}
	fmt.Printf("%s  %s  %d  %4d ms  %-20s  %s%s\n", r.Start.Format("15:04:05"), kind, r.Status, r.Duration.Milliseconds(),
		r.Provider+"/"+r.Model, journal.AppendTrail(nil, r.Trail), note)
}

func (demoScreen) GuardChanged(g *journal.Guard) {
	fmt.Println(strings.TrimSpace(fmt.Sprintf("%s  %s of %s: %s -> %s  %s", g.At.Format("15:04:05"), strings.ReplaceAll(g.Guard, "_", " "),
		g.Provider, g.From, g.To, g.Reason)))
}

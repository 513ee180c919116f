package attempt

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A provider that begins to give what it keeps, or to say why not, and falls silent, does not hold its caller: timeouts.idle is the
// longest between two pieces of it, the time not counted that the caller takes to read.
func TestFetchFromTheSilent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   []piece
		idle   time.Duration
		slow   time.Duration // of the caller, between two reads
		fails  bool
		took   time.Duration
	}{
		{"silent in the answer", 200, []piece{say("a"), silence()}, 30 * second, 0, true, 30 * second},
		{"slow, and not silent", 200, []piece{say("a"), after(29*second, "b"), after(29*second, "c")}, 30 * second, 0, false, 58 * second},
		{"a slow caller", 200, []piece{say("a"), after(29*second, "b"), after(29*second, "c")}, 30 * second, 100 * second, false, 458 * second},
		{"silent for as long as it likes", 200, []piece{say("a"), after(1000*second, "b")}, 0, 0, false, 1000 * second},
		{"silent in a refusal", 400, []piece{say("a"), silence()}, 0, 0, true, errorBodyTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, &upstream{scripts: []scripted{{status: tt.status, body: tt.body}}})
				leg := &b.legs[0]
				leg.Target.Timeouts.Attempt, leg.Target.Timeouts.Idle = 0, tt.idle
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				resp, f := b.runner.Fetch(ctx, "req", leg, &Outgoing{Method: http.MethodGet, Header: http.Header{}, Release: func() {}})
				failed := f != nil
				for buf := make([]byte, 10); f == nil; {
					_, err := resp.Body.Read(buf)
					time.Sleep(tt.slow)
					if err != nil {
						failed = err != io.EOF
						_ = resp.Body.Close()
						break
					}
				}
				if took := time.Since(start).Truncate(second); failed != tt.fails || took != tt.took {
					t.Errorf("failed: %t, %v, after %s", failed, f, took)
				}
			})
		})
	}
}

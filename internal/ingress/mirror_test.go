package ingress

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
	"evergate/internal/wire/openaichat"
)

// counting is an upstream that answers at once and counts by model.
type counting struct {
	instant
	users, copies atomic.Int64
}

func (u *counting) Send(ctx context.Context, r *attempt.Outgoing) (*http.Response, *fault.Fault) {
	if r.Model == mirrorModel {
		u.copies.Add(1)
	} else {
		u.users.Add(1)
	}
	return u.instant.Send(ctx, r)
}

// Copies are made of the share of requests that the mirror says, within 1 %. Chance is evenly spread here, so that no luck is in it.
func TestMirrorShare(t *testing.T) {
	for _, share := range []float64{0.01, 0.05, 0.5, 1} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			const requests, golden = 10_000, 0.6180339887498949
			plain, _ := chatAnswers()
			up := &counting{instant: instant{plain, []string{"chat"}}}
			mirror := route.Mirror{Target: route.Target{Provider: "up", Model: mirrorModel}, Share: share, MaxInFlight: math.MaxInt, Timeout: time.Minute}
			h := mirroring(up, &mirror)
			last := 0.0
			h.random = func() float64 {
				_, last = math.Modf(last + golden)
				return last
			}
			for range requests {
				r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"fast","messages":[{"role":"user","content":"hi"}]}`))
				h.ServeHTTP(&nowhere{header: http.Header{}}, r)
			}
			h.StopCopies(t.Context())
			if users, got := up.users.Load(), float64(up.copies.Load())/requests; users != requests || math.Abs(got-share) > 0.01*share {
				t.Errorf("%d requests, and copies of %g of them", users, got)
			}
		})
	}
}

// mirroring is a gateway with one provider and the model fast.
func mirroring(up attempt.Upstream, m *route.Mirror) *Handler {
	guards := health.New(deaf{})
	settings := resilience.Defaults()
	guards.Apply([]health.Config{{Name: "up", Settings: settings}})
	h := New(wire.NewTable(openaichat.Chat{}), Routes{Dialects: []wire.Dialect{openaichat.Chat{}}}, &attempt.Runner{Health: guards, Journal: deaf{}}, deaf{}, noDiscovery{})
	h.Configure(&Config{
		Table: &route.Table{
			Providers: []route.Provider{{Name: "up"}},
			Virtual:   map[string]*route.Virtual{"fast": {Name: "fast", Targets: []route.Target{{Provider: "up", Model: "m"}}, Mirror: m}},
		},
		Providers: map[string]*Provider{"up": {Guards: guards.Provider("up"), Upstream: up, Settings: &settings}},
		MaxBody:   1 << 20,
	})
	return h
}

// A model with a mirror that is not drawn costs its requests nothing.
func TestMirrorNotDrawnAllocatesNothing(t *testing.T) {
	plain, _ := chatAnswers()
	cost := func(m *route.Mirror) float64 {
		h := mirroring(&instant{plain, []string{"chat"}}, m)
		h.random = func() float64 { return 0.999 }
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
		return testing.AllocsPerRun(500, func() {
			r.Body = io.NopCloser(strings.NewReader(`{"model":"fast","messages":[{"role":"user","content":"hi"}]}`))
			h.ServeHTTP(&nowhere{header: http.Header{}}, r)
		})
	}
	without, with := cost(nil), cost(&route.Mirror{Target: route.Target{Provider: "up", Model: mirrorModel}, Share: 0.05, MaxInFlight: 8, Timeout: time.Minute})
	if without != with && !underRace {
		t.Errorf("%v allocations, and %v with a mirror", without, with)
	}
}

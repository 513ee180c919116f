package attempt

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"evergate/internal/fault"
	"evergate/internal/route"
)

// dialling is an upstream to which no connection comes about.
type dialling struct{ Upstream }

func (d dialling) Send(ctx context.Context, r *Outgoing) (*http.Response, *fault.Fault) {
	defer r.Release()
	<-ctx.Done()
	return nil, &fault.Fault{Class: fault.ClientGone, Unsent: true}
}

// R71: what was outrun, or given up by its client, before anything was sent costs nothing.
func TestOutrunWhileDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, silent(), answers(0, second, "from-b"))
		b.legs[0].Upstream = dialling{b.legs[0].Upstream}
		b.change = func(call *Call) { call.Hedge = route.Hedge{Max: 1, After: 10 * second} }
		r := b.ask(t.Context(), &client{})
		if s := &r.Steps[0]; s.Reason != outrunWord || s.Estimated || s.Usage.Input != 0 || !s.Cost.Known {
			t.Errorf("it was outrun and used %+v, %+v", s.Usage, s.Cost)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, silent())
		b.legs[0].Upstream = dialling{b.legs[0].Upstream}
		ctx, leave := context.WithTimeout(t.Context(), second)
		defer leave()
		r := b.ask(ctx, &client{})
		if s := &r.Steps[0]; s.Estimated || s.Usage.Input != 0 || !s.Cost.Known {
			t.Errorf("its client left and it used %+v, %+v", s.Usage, s.Cost)
		}
	})
}

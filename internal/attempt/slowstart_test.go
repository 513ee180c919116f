package attempt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// R13, R56, R67: the time that a client took to send its body is not the provider's silence.
func TestTheClientsUploadIsNotTheProvidersSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, &upstream{scripts: []scripted{{header: 24 * time.Hour}}})
		b.change = func(c *Call) { c.Start = c.Start.Add(-40 * time.Second) }
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		r := b.ask(ctx, &client{})
		if n := b.failures(); n != 0 {
			t.Errorf("%s, %d failures of a provider that had 100 ms", story(r), n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, &upstream{scripts: []scripted{{header: 5 * time.Second, body: []piece{say(hello)}}}})
		b.body = unstreamed
		b.change = func(c *Call) { c.Start = c.Start.Add(-55 * time.Second) }
		r := b.ask(t.Context(), &client{})
		if !r.OK || r.Steps[0].Duration != 5*time.Second {
			t.Errorf("%s: an attempt of 5 s took %v", story(r), r.Steps[0].Duration)
		}
	})
}

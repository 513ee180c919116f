package attempt

import (
	"context"
	"math/rand/v2"
	"time"

	"evergate/internal/failover"
)

// mirrored is why the attempt of a copy is made.
const mirrored failover.Why = "mirror"

// Mirror makes one attempt at the call's only leg and throws the answer away. Guards are asked, and hear of the outcome, as
// with any attempt; what they block is not asked, not even where everything is blocked (R51), nor after a wait. Nothing
// follows: no sibling credential, no retry, no hedge, no resume; and the retry budget hears nothing of it.
//
// The last of the result's Steps says what came of it. It is a skip where nothing was sent.
func (r *Runner) Mirror(ctx context.Context, c *Call) *Result {
	x := &run{r: r, c: c, sink: nobody{}, now: time.Now(), rnd: r.random()}
	x.res.Steps = x.steps[:0]
	x.session.Begin(c.params(x.space[:0]), x)
	x.move = x.session.Next(x.now, x, rand.Float64()) //nolint:gosec // jitter, not secrets
	x.noteSkips()
	if x.move.Kind != failover.Try || x.move.Force {
		return &x.res
	}
	x.move.Why = mirrored
	e := &x.first
	defer e.release()
	if !x.ready(e, x.move) || !x.admit(e) {
		return &x.res
	}
	e.parent = ctx
	f := e.do()
	x.now = time.Now()
	e.finish(f)
	x.res.OK = f == nil
	return &x.res
}

// nobody takes an answer that nobody reads.
type nobody struct{}

func (nobody) Answering()         {}
func (nobody) Begin(*Head) error  { return nil }
func (nobody) Write([]byte) error { return nil }
func (nobody) Flush() error       { return nil }

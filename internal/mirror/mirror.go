// Package mirror sends copies of requests to a virtual model's mirror and throws the answers away. It owns how many copies
// and how many bytes of them are under way, how long one may take, and the end of them all when the gateway stops. It states a
// fact for each. It must not know what is copied, or where it may go: ingress decides that; nor how a provider is asked.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/journal"
)

// maxBytes is how many bytes of request bodies the copies under way may hold, all together: bodies that would else be let
// go of when their own request is over.
const maxBytes = 64 << 20

// errLate is the cause of the end of a copy that took longer than it may.
var errLate = errors.New("the copy took longer than the mirror's timeout")

// The outcomes of a copy that no fault class has a word for.
const (
	blocked = "blocked"
	dropped = "dropped"
	late    = "late"
	stopped = "stopped"
	bug     = "bug"
)

// Copy is one request that is to be sent once more.
type Copy struct {
	// Call has one leg, and holds the body, which is let go of when the copy is over.
	Call      attempt.Call
	RequestID string
	// Route is the virtual model that the client asked for.
	Route string
	// MaxInFlight is how many copies for the model may be under way, this one included.
	MaxInFlight int
	// Timeout is how long it may take, whole.
	Timeout time.Duration
}

// Copies sends copies. Safe for concurrent use.
type Copies struct {
	runner  *attempt.Runner
	journal journal.Sink
	ctx     context.Context //nolint:containedctx // ends all copies when the gateway stops
	abandon context.CancelCauseFunc

	mu       sync.Mutex
	inFlight map[string]int // by virtual model; the names outlive a reload, and so do the counts
	held     int            // bytes, of at most room
	room     int
	stopped  bool
	running  sync.WaitGroup
}

// New makes one that has runner make the attempts and tells j of each copy.
func New(runner *attempt.Runner, j journal.Sink) *Copies {
	c := &Copies{runner: runner, journal: j, inFlight: map[string]int{}, room: maxBytes}
	c.ctx, c.abandon = context.WithCancelCause(context.Background())
	return c
}

// Start sends a copy on a goroutine of its own, which nothing ends but its timeout and Stop. Where there is no room it
// does not: nobody waits for a copy.
func (c *Copies) Start(k *Copy) {
	size := len(k.Call.Request.Body)
	if !c.enter(k, size) {
		c.tell(k, &attempt.Result{}, time.Now(), dropped)
		k.Call.Release()
		return
	}
	go c.run(k, size)
}

// enter takes a place for a copy; false: there is none.
func (c *Copies) enter(k *Copy, size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || c.inFlight[k.Route] >= k.MaxInFlight || size > c.room-c.held {
		return false
	}
	c.inFlight[k.Route]++
	c.held += size
	c.running.Add(1)
	return true
}

// leave gives the place back.
func (c *Copies) leave(k *Copy, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight[k.Route]--; c.inFlight[k.Route] == 0 {
		delete(c.inFlight, k.Route)
	}
	c.held -= size
	c.running.Done()
}

func (c *Copies) run(k *Copy, size int) {
	defer c.leave(k, size)
	defer k.Call.Release()
	ctx, cancel := context.WithTimeoutCause(c.ctx, k.Timeout, errLate)
	defer cancel()
	if res := c.send(ctx, &k.Call); res != nil {
		c.tell(k, res, time.Now(), outcome(ctx, res))
	}
}

// send makes the attempt; nil: it must not be made. A panic on its way is a bug of ours, which must not end the gateway: nobody
// else is there to take it.
func (c *Copies) send(ctx context.Context, call *attempt.Call) (res *attempt.Result) {
	defer func() {
		if p := recover(); p != nil {
			message := fmt.Sprintf("BUG: %v\n%s", p, debug.Stack())
			res = &attempt.Result{Steps: []journal.Step{{Reason: bug, Message: message}}}
		}
	}()
	if !Ready(call) {
		return nil
	}
	call.Start = time.Now()
	return c.runner.Mirror(ctx, call)
}

// outcome is the word for what came of a copy.
func outcome(ctx context.Context, res *attempt.Result) string {
	if len(res.Steps) == 0 {
		return blocked
	}
	step := &res.Steps[len(res.Steps)-1]
	switch {
	case step.Skipped && step.Reason != fault.Unable.String() && step.Reason != fault.ContextLength.String():
		return blocked
	case step.Reason != fault.ClientGone.String():
		return step.Reason
	case errors.Is(context.Cause(ctx), errLate):
		return late
	}
	return stopped
}

// tell states the fact of a copy.
func (c *Copies) tell(k *Copy, res *attempt.Result, now time.Time, outcome string) {
	leg := &k.Call.Legs[0]
	fact := journal.Mirror{
		RequestID: k.RequestID, Start: k.Call.Start, Route: k.Route, Dialect: k.Call.Dialect.Name(), Stream: k.Call.Request.Stream,
		Provider: leg.Target.Provider, Model: leg.Target.Model, Outcome: outcome, Finish: res.Reply.Finish,
	}
	if n := len(res.Steps); n > 0 {
		step := &res.Steps[n-1]
		fact.Credential, fact.Status, fact.Message, fact.Duration = step.Credential, step.Status, step.Message, step.Duration
		fact.Usage, fact.Estimated, fact.Cost, fact.Span = step.Usage, step.Estimated, step.Cost, step.Span
		if step.Skipped && outcome == blocked {
			fact.Message = step.Reason
		}
	}
	if trace := k.Call.Trace; trace != nil {
		fact.Trace = *trace
	}
	if fact.Start.IsZero() {
		fact.Start = now
	}
	if !res.FirstContent.IsZero() {
		fact.FirstContent = res.FirstContent.Sub(fact.Start)
	}
	c.journal.MirrorEnded(&fact)
}

// Stop waits until ctx ends for the copies under way, and cuts off those that are left then. None is started after it.
func (c *Copies) Stop(ctx context.Context) {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	over := make(chan struct{})
	go func() {
		c.running.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done():
		c.abandon(attempt.ErrShutdown)
		<-over
	}
	c.abandon(attempt.ErrShutdown)
}

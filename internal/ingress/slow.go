package ingress

import (
	"math"
	"net/http"
	"os"
	"strconv"
	"time"

	"evergate/internal/identity"
	"evergate/internal/wire"
)

const (
	// leastRate is how many bytes of a body a client must send in a second, over the time that it may be silent: less than any voice that is sent as it
	// is spoken, and more than somebody pays who only wants to keep connections busy.
	leastRate = 256

	codeTooManyInvalid = "too_many_invalid_keys"
)

// patience is how long a client may be silent while it sends a body.
func (x *exchange) patience() time.Duration {
	if d := x.cfg.ReadTimeout; d > 0 {
		return d
	}
	return bodyTimeout
}

// pace is how fast a body comes. Only the time that was spent waiting for the client counts: who is slow because the upstream is may take
// as long as that does.
type pace struct {
	waited time.Duration
	bytes  int
}

// slow says, after a read that took so long, whether the client sends next to nothing.
func (p *pace) slow(took time.Duration, n int, patience time.Duration) bool {
	p.waited += took
	p.bytes += n
	if p.waited < patience {
		return false
	}
	slow := float64(p.bytes) < leastRate*p.waited.Seconds()
	*p = pace{}
	return slow
}

// errSlow ends the body of a client that sends next to nothing, as its silence would.
var errSlow = os.ErrDeadlineExceeded

// heldOff says why nothing is looked at that comes from where too many keys were refused; nil: it is not so.
func (x *exchange) heldOff() *wire.Failure {
	wait := x.cfg.Guesses.Wait(x.r.RemoteAddr, x.start)
	if wait <= 0 {
		return nil
	}
	h := x.w.Header()
	h["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(wait.Seconds())))}
	h["Retry-After-Ms"] = []string{strconv.FormatInt(int64(math.Ceil(float64(wait)/float64(time.Millisecond))), 10)}
	f := failure(http.StatusTooManyRequests, codeTooManyInvalid, "too many API keys from this address were not known here; send the right one after the time in Retry-After")
	return &f
}

// notKnown counts a key that nobody has. One that was somebody's, or none at all, is no guess.
func (x *exchange) notKnown(v identity.Verdict) {
	if v == identity.Unknown || v == identity.Mistyped {
		x.cfg.Guesses.Failed(x.r.RemoteAddr, x.start)
	}
}

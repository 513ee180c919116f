package attempt

import (
	"time"

	"evergate/internal/fault"
	"evergate/internal/wire"
)

// Censor judges answers before the client gets them. It must be safe for concurrent use: attempts may run beside each other.
type Censor interface {
	// Filter begins with one attempt's answer.
	Filter() wire.Filter
	// Answer judges a plain answer of an operation that has no codec (wire.Opaque), and gives what may go out of it.
	Answer(body []byte) ([]byte, error)
}

// barredWord is what the trail says of an attempt whose answer was not let out.
const barredWord = "blocked"

// censored says whether the answer has to go through the codecs, so that it can be judged.
func (c *Call) censored() bool {
	if c.Censor == nil {
		return false
	}
	_, counts := c.Dialect.(wire.Counter)
	_, words := c.Dialect.(wire.Client)
	return words && !counts
}

// censor puts the filter between the upstream's decoder and the client's encoder.
func (e *exchange) censor() {
	if e.x.c.censored() {
		e.translation.Watch(e.x.c.Censor.Filter())
	}
}

// barred is an answer that is not let out: nobody's fault, and nothing is tried elsewhere.
func (e *exchange) barred(why error) *fault.Fault {
	e.blocked = true
	return gone(why)
}

// judged is the answer of an operation without a codec, as it may go out.
func (e *exchange) judged(body []byte) ([]byte, *fault.Fault) {
	if e.x.c.Censor == nil || e.translation != nil {
		return body, nil
	}
	e.watch.pause(time.Now()) // the time that takes is not the upstream's
	out, err := e.x.c.Censor.Answer(body)
	e.watch.resume(time.Now())
	if err != nil {
		return nil, e.barred(err)
	}
	return out, nil
}

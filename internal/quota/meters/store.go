package meters

import (
	"context"
	"fmt"
	"time"
)

// Store is where the instances of a fleet lay down what they counted. Its methods are safe for concurrent use and end with their contexts.
type Store interface {
	// Exchange lays down this instance's tallies, one a meter at most, and gives those of all instances, its own included, of the meters that are wanted. A tally takes the place of
	// an older version of the same meter and instance, never of a newer one: to lay it down again changes nothing. What is laid down is seen by every Exchange
	// that begins later, also by this one. A tally may be forgotten once its Life is over since it was laid down last.
	Exchange(ctx context.Context, own []Tally, wanted []string) ([]Tally, error)
}

// Tally is what one instance has counted on one meter.
type Tally struct {
	Meter, Instance string
	Version         uint64 // below 1 << 63
	Body            []byte // at most MaxTally
	// Life is how long it is to be kept; of those that Exchange gives it is not set.
	Life time.Duration
	// Age is how long ago it was laid down last, by the store's clock; only of those that Exchange gives.
	Age time.Duration
}

// MaxTally is how long a body may be, in bytes.
const MaxTally = 8 << 10

// Check says why no store may take a tally; nil: it may.
func (t *Tally) Check() error {
	if n := len(t.Body); n > MaxTally {
		return fmt.Errorf("a tally of %d bytes, the limit is %d", n, MaxTally)
	}
	return nil
}

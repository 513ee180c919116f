package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"evergate/internal/quota/meters"
)

// counts are what instances have counted of limits and budgets. Safe for concurrent use.
type counts struct{ store *Store }

// Meters gives the counts under the same keys.
func (s *Store) Meters() meters.Store { return counts{s} }

// fewest is the least that a key lives, so that a clock which jumps takes nothing away at once.
const fewest = 10 * time.Second

// Exchange takes one round trip.
func (c counts) Exchange(ctx context.Context, own []meters.Tally, wanted []string) ([]meters.Tally, error) {
	s := c.store
	if len(own) == 0 && len(wanted) == 0 {
		return nil, ctx.Err()
	}
	keys := make([]string, 0, len(wanted))
	places := make(map[string]int, len(wanted))
	place := func(meter string) int {
		at, ok := places[meter]
		if !ok {
			keys = append(keys, s.names.meter(meter))
			at = len(keys)
			places[meter] = at
		}
		return at
	}
	named := make([]string, 0, len(wanted)) // by their keys
	for _, m := range wanted {
		if place(m) > len(named) {
			named = append(named, m)
		}
	}
	args := make([]string, 0, 2+5*len(own))
	args = append(args, strconv.Itoa(len(named)), millis(fewest))
	for i := range own {
		t := &own[i]
		if err := t.Check(); err != nil {
			return nil, err
		}
		args = append(args, strconv.Itoa(place(t.Meter)), t.Instance, digits(t.Version), millis(t.Life), string(t.Body))
	}
	return call(ctx, s, "exchange counts", func(ctx context.Context, client rueidis.Client) ([]meters.Tally, error) {
		said, err := s.scripts.exchange.Exec(ctx, client, keys, args).AsStrSlice()
		if err != nil {
			return nil, err
		}
		return talliesOf(said, named)
	})
}

// talliesOf reads a reply: for each tally the number of its key, instance, version, age in µs, and body.
func talliesOf(said, named []string) ([]meters.Tally, error) {
	if len(said)%5 != 0 {
		return nil, errMalformed
	}
	out := make([]meters.Tally, 0, len(said)/5)
	for i := 0; i < len(said); i += 5 {
		at, err := strconv.Atoi(said[i])
		if err != nil || at < 1 || at > len(named) {
			return nil, errMalformed
		}
		version, err := strconv.ParseUint(said[i+2], 10, 64)
		if err != nil {
			return nil, errMalformed
		}
		micros, err := strconv.ParseInt(said[i+3], 10, 64)
		if err != nil {
			return nil, errMalformed
		}
		out = append(out, meters.Tally{
			Meter: named[at-1], Instance: said[i+1], Version: version, Age: max(time.Duration(micros)*time.Microsecond, 0), Body: []byte(said[i+4]),
		})
	}
	return out, nil
}

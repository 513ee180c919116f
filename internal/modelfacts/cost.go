package modelfacts

import "math"

// Tokens are what one exchange used. Input holds the cached and the cache-written ones, too.
type Tokens struct{ Input, CachedInput, CacheWrite, Output int64 }

// mostNano is the most that one exchange is believed to cost, a million dollars: an upstream may say any number of tokens, and what attempts cost is added up.
const mostNano = 1e15

// Cost is what tokens come to by these prices, in billionths of a dollar; false: a price that it takes is not known. What a prompt cache read or wrote costs as
// much as other input where nothing else is known: so a cost is too high rather than too low for reads, and by a quarter too low at most for writes.
func (p *Prices) Cost(t Tokens) (nano int64, known bool) {
	cached, written := min(max(t.CachedInput, 0), max(t.Input, 0)), max(t.CacheWrite, 0)
	written = min(written, max(t.Input, 0)-cached)
	fresh, output := max(t.Input, 0)-cached-written, max(t.Output, 0)
	sum := 0.0
	for _, part := range [...]struct {
		tokens    int64
		own, rest Price
	}{{fresh, p.Input, Price{}}, {cached, p.CacheRead, p.Input}, {written, p.CacheWrite, p.Input}, {output, p.Output, Price{}}} {
		price := part.own
		if !price.Known {
			price = part.rest
		}
		if part.tokens > 0 && !price.Known {
			return 0, false
		}
		sum += float64(part.tokens) * price.USD
	}
	return int64(min(math.Round(sum*1e3), mostNano)), p.Input.Known || sum > 0
}

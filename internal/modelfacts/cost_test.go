package modelfacts

import (
	"math"
	"testing"
)

func TestCost(t *testing.T) {
	price := func(usd float64) Price { return Price{USD: usd, Known: true} }
	all := Prices{Input: price(3), Output: price(15), CacheRead: price(0.3), CacheWrite: price(3.75)}
	for _, c := range []struct {
		name  string
		p     Prices
		t     Tokens
		nano  int64
		known bool
	}{
		{"fresh, cached and written input each at its price", all, Tokens{Input: 1000, CachedInput: 600, CacheWrite: 300, Output: 10}, 100*3000 + 600*300 + 300*3750 + 10*15000, true},
		{"a cache without a price costs what input does", Prices{Input: price(3), Output: price(15)}, Tokens{Input: 1000, CachedInput: 600, CacheWrite: 300}, 1000 * 3000, true},
		{"more cached than there is input", all, Tokens{Input: 100, CachedInput: 600, CacheWrite: 300}, 100 * 300, true},
		{"negative numbers", all, Tokens{Input: -5, CachedInput: -1, CacheWrite: math.MinInt64, Output: -7}, 0, true},
		{"parts of a billionth are rounded", Prices{Input: price(0.0004), Output: price(0)}, Tokens{Input: 4}, 2, true},
		{"a number that nobody believes", all, Tokens{Input: math.MaxInt64, CachedInput: math.MaxInt64, CacheWrite: math.MaxInt64, Output: math.MaxInt64}, mostNano, true},
		{"no price of the output", Prices{Input: price(3)}, Tokens{Input: 1, Output: 1}, 0, false},
		{"no output, and no price of it", Prices{Input: price(3)}, Tokens{Input: 1}, 3000, true},
		{"no price at all", Prices{}, Tokens{}, 0, false},
		{"what is free", Prices{Input: price(0), Output: price(0)}, Tokens{Input: 9, Output: 9}, 0, true},
	} {
		if nano, known := c.p.Cost(c.t); nano != c.nano || known != c.known {
			t.Errorf("%s: %d, %v, want %d, %v", c.name, nano, known, c.nano, c.known)
		}
	}
	nano, _ := all.Cost(Tokens{Output: math.MaxInt64})
	if nano*256 < 0 {
		t.Error("what the attempts of a request cost does not fit together")
	}
}

package quota

import (
	"testing"

	"pgregory.net/rapid"
)

func TestShare(t *testing.T) {
	for _, c := range []struct {
		name string
		Share
		want Refusal
	}{
		{"no limit", Share{Own: 5, Instances: 3}, Admitted},
		{"room", Share{Limit: 10, Own: 9, Instances: 1}, Admitted},
		{"the next after the one that crossed", Share{Limit: 10, Own: 12, Instances: 1}, Full},
		{"others have it", Share{Limit: 10, Own: 1, Others: 9, Instances: 3}, Full},
		{"alone nothing is unsaid", Share{Limit: 1000, Own: 999, Unsaid: 999, Instances: 1}, Admitted},
		{"an equal part", Share{Limit: 900, Own: 299, Unsaid: 299, Instances: 3}, Admitted},
		{"more than that", Share{Limit: 900, Own: 300, Unsaid: 300, Instances: 3}, Cautious},
		{"what is told counts as known", Share{Limit: 900, Own: 500, Unsaid: 100, Instances: 3}, Admitted},
		{"a lease near the end", Share{Limit: 1000, Own: 980, Unsaid: 10, Instances: 3}, Admitted},
		{"and no more", Share{Limit: 1000, Own: 990, Unsaid: 20, Instances: 3}, Cautious},
		{"a lease is one at least", Share{Limit: 2, Own: 1, Others: 0, Unsaid: 0, Instances: 9}, Admitted},
		{"what was given back", Share{Limit: 10, Own: 3, Unsaid: -5, Others: 2, Instances: 2}, Admitted},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.Admit(); got != c.want {
				t.Errorf("%v instead of %v", got, c.want)
			}
		})
	}
}

// TestBoundOfSilentFleet: instances that know the same and hear no more of each other let in the limit and a lease each, at most.
func TestBoundOfSilentFleet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(2, 8).Draw(t, "instances")
		limit := rapid.Int64Range(1, 5000).Draw(t, "limit")
		said := make([]int64, n)
		known := int64(0)
		for i := range said {
			said[i] = rapid.Int64Range(0, limit/n).Draw(t, "said")
			known += said[i]
		}
		total := known
		for i := range said {
			for more := int64(0); ; more++ {
				s := Share{Limit: limit, Own: said[i] + more, Unsaid: more, Others: known - said[i], Instances: n}
				if s.Admit() != Admitted {
					break
				}
				total++
			}
		}
		if total > limit+n*Lease(limit) {
			t.Fatalf("%d of %d were let in by %d", total, limit, n)
		}
		if total < limit-n {
			t.Fatalf("only %d of %d were let in by %d", total, limit, n)
		}
	})
}

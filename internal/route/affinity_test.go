package route

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// nest makes a resolution of targets written as name or name:group, and of groups by number.
func nest(s Strategy, targets string, groups ...Group) *Resolution {
	r := &Resolution{Strategy: s, Groups: groups}
	for _, f := range strings.Fields(targets) {
		name, group, _ := strings.Cut(f, ":")
		t := Target{Provider: name, Model: "m"}
		if group != "" {
			t.Group = uint16(group[0] - '0')
		}
		r.Targets = append(r.Targets, t)
	}
	return r
}

func order(r *Resolution) string {
	var names []string
	for i := range r.Targets {
		names = append(names, r.Targets[i].Provider)
	}
	return strings.Join(names, " ")
}

// R47: affinity chooses among those that the strategy holds equal, in each group.
func TestPrefer(t *testing.T) {
	free, fixed := Group{Strategy: RoundRobin}, Group{Strategy: Ordered}
	inner := Group{Strategy: Weighted, Within: 1}
	cases := []struct {
		name   string
		r      *Resolution
		prefer string
		want   string
		first  bool
	}{
		{"the first", nest(Weighted, "a b c"), "a", "a b c", true},
		{"the last", nest(Weighted, "a b c"), "c", "c a b", true},
		{"the second", nest(LeastLatency, "a b c"), "b", "b a c", true},
		{"one that is no more", nest(Weighted, "a b c"), "x", "a b c", false},
		{"ordered stands", nest(Ordered, "a b c"), "c", "a b c", false},
		{"a group that is free, in an order", nest(Ordered, "a b:1 c:1 d", free), "c", "a c b d", false},
		{"a group that is free and first", nest(Ordered, "b:1 c:1 d", free), "c", "c b d", true},
		{"an ordered group among equals", nest(Auto, "a b:1 c:1 d", fixed), "c", "b c a d", false},
		{"an ordered group's first", nest(Auto, "a b:1 c:1 d", fixed), "b", "b c a d", true},
		{"beside a group", nest(Auto, "a b:1 c:1 d", fixed), "d", "d a b c", true},
		{"a group in a group", nest(Weighted, "a b:1 c:2 d:2 e", fixed, inner), "d", "b d c a e", false},
		{"a group first in a group", nest(Weighted, "a c:2 d:2 b:1 e", free, inner), "d", "d c b a e", true},
		{"one of two groups", nest(Weighted, "a:1 b:1 c:2 d:2", free, free), "d", "d c a b", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := order(c.r)
			shared := c.r.Targets
			c.r.Prefer(func(t *Target) bool { return t.Provider == c.prefer })
			if got := order(c.r); got != c.want {
				t.Errorf("%s: %s, want %s", before, got, c.want)
			}
			if (c.r.Order == Affine) != c.first {
				t.Errorf("order %q", c.r.Order)
			}
			if old := (&Resolution{Targets: shared}); order(old) != before {
				t.Errorf("the table's list was changed: %s", order(old))
			}
		})
	}
}

// R47: nobody is lost or invented, and whoever is preferred ends no later than before.
func TestPreferIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		strategy := func() Strategy { return Strategy(rapid.IntRange(0, int(Auto)).Draw(t, "strategy")) }
		r := &Resolution{Strategy: strategy(), Groups: []Group{{Strategy: strategy()}, {Strategy: strategy(), Within: 1}}}
		cuts := [4]int{}
		for i := range cuts {
			cuts[i] = rapid.IntRange(0, n).Draw(t, "cut")
		}
		for i := range n {
			target := Target{Provider: string(rune('a' + i)), Model: "m"}
			if lo, hi := min(cuts[0], cuts[1]), max(cuts[0], cuts[1]); lo <= i && i < hi {
				target.Group = 1
				if in := min(max(cuts[2], lo), hi); in <= i && i < max(in, min(cuts[3], hi)) {
					target.Group = 2
				}
			}
			r.Targets = append(r.Targets, target)
		}
		before := order(r)
		want := string(rune('a' + rapid.IntRange(0, n-1).Draw(t, "preferred")))
		r.Prefer(func(t *Target) bool { return t.Provider == want })
		after := order(r)
		if strings.Index(after, want) > strings.Index(before, want) {
			t.Fatalf("%s: %s, then %s", want, before, after)
		}
		for i := range n {
			if strings.Count(after, string(rune('a'+i))) != 1 {
				t.Fatalf("%s, then %s", before, after)
			}
		}
	})
}

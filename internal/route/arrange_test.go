package route

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/wire"
)

// told are signals by model.
type told map[string]Signal

func (s told) Signal(t *Target) Signal { return s[t.Model] }

// models makes targets by their models' names.
func models(names string) (out []Target) {
	for _, name := range strings.Fields(names) {
		out = append(out, Target{Provider: "p", Model: name})
	}
	return out
}

func namesOf(targets []Target) string {
	var out []string
	for i := range targets {
		out = append(out, targets[i].Model)
	}
	return strings.Join(out, " ")
}

// shares arranges n times, and gives how often each target came first, as a share.
func shares(r Resolution, c Circumstances, n int) map[string]float64 {
	out := map[string]float64{}
	for range n {
		own := r
		own.Arrange(&c)
		out[own.Targets[0].Model] += 1 / float64(n)
		c.Turn++
	}
	return out
}

func near(t *testing.T, got map[string]float64, want string, by float64) {
	t.Helper()
	for _, pair := range strings.Fields(want) {
		name, text, _ := strings.Cut(pair, "=")
		var share float64
		if _, err := fmt.Sscan(text, &share); err != nil {
			t.Fatal(err)
		}
		if math.Abs(got[name]-share) > by {
			t.Errorf("%s comes first for %.3f, want %.3f", name, got[name], share)
		}
	}
}

// R50: every strategy's shares of first places, within a hundredth.
func TestShares(t *testing.T) {
	t.Parallel()
	free := Tariff{Known: true}
	dear := Tariff{Known: true, Input: 1e-6, Output: 4e-6}
	signals := told{
		"quick": {FirstContent: 100 * time.Millisecond, InFlight: 9, Health: 1, Headroom: 1, Tariff: dear},
		"half":  {FirstContent: 200 * time.Millisecond, InFlight: 9, Health: 1, Headroom: 1, Tariff: dear},
		"slow":  {FirstContent: 10 * time.Second, Health: 1, Headroom: 1, Tariff: free},
		"new":   {Health: 1, Headroom: 1},
		"down":  {FirstContent: 100 * time.Millisecond, InFlight: 9},
	}
	for _, tt := range []struct {
		name, targets string
		s             Strategy
		want          string
	}{
		{"in turn", "a b c", RoundRobin, "a=0.333 b=0.333 c=0.333"},
		{"twice as quick", "quick half", LeastLatency, "quick=0.85 half=0.15"},                               // 8:1, and a tenth drawn
		{"hopelessly slow", "slow quick", LeastLatency, "quick=0.95 slow=0.05"},                              // half of the tenth
		{"the best of four has half", "slow quick slow2 slow3", LeastLatency, "slow=0.175"},                  // drawn below
		{"not measured is as good as any", "new slow", LeastLatency, "new=0.5 slow=0.5"},                     //
		{"equal", "quick down", LeastLatency, "quick=0.5 down=0.5"},                                          //
		{"the idle one", "quick slow", LeastBusy, "slow=1"},                                                  //
		{"equally busy", "quick half", LeastBusy, "quick=0.5 half=0.5"},                                      //
		{"the idle one of three, where it is drawn", "quick slow half", LeastBusy, "slow=0.667 quick=0.167"}, //
		{"the free one", "quick slow", LeastCost, "slow=1"},                                                  //
		{"as declared where the cost is the same", "half quick", LeastCost, "half=1"},                        //
		{"a price that nobody knows is the last", "new quick", LeastCost, "quick=1"},                         //
		{"a score that is as good", "quick quick2", Auto, "quick=0.5"},                                       // below
		{"one that is down is not asked first", "down quick", Auto, "quick=1"},                               //
		{"a single one", "quick", Auto, "quick=1"},                                                           //
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			signals := told{"slow2": signals["slow"], "slow3": signals["slow"], "quick2": signals["quick"], "quick": signals["quick"], "half": signals["half"], "slow": signals["slow"], "new": signals["new"], "down": signals["down"]}
			rng := rand.New(rand.NewPCG(50, 1))
			got := shares(Resolution{Targets: models(tt.targets), Strategy: tt.s}, Circumstances{Signals: signals, Random: rng.Float64, Load: Load{Input: 1000}}, 30_000)
			near(t, got, tt.want, 0.01)
		})
	}
}

// R50: who takes turns takes them evenly, and what stands second does, too: so one that is blocked leaves its turns to all others alike.
func TestRoundRobin(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	for turn := range uint64(24) {
		r := Resolution{Targets: models("a b c d"), Strategy: RoundRobin}
		r.Arrange(&Circumstances{Turn: turn})
		got[namesOf(r.Targets)]++
		if want := "abcd"[turn%4 : turn%4+1]; r.Targets[0].Model != want || r.Order != InTurn {
			t.Errorf("turn %d begins with %s, want %s", turn, r.Targets[0].Model, want)
		}
	}
	if len(got) != 24 {
		t.Errorf("%d orders of 24", len(got))
	}
}

// R50: least_cost goes by the price of what the request is expected to need: what the prompt cache has, and how long answers
// are there, within the request's own limit.
func TestLeastCost(t *testing.T) {
	t.Parallel()
	tariff := func(in, cached, out float64) Tariff {
		return Tariff{Input: in, CacheRead: cached, Output: out, Known: true}
	}
	for _, tt := range []struct {
		name string
		load Load
		a, b Signal
		want string
		cost float64 // of b
	}{
		{"a long prompt", Load{Input: 1000}, Signal{Tariff: tariff(2, 2, 1)}, Signal{Tariff: tariff(1, 1, 2)}, "b a", 2000},
		{"a short prompt", Load{Input: 10}, Signal{Tariff: tariff(2, 2, 1)}, Signal{Tariff: tariff(1, 1, 2)}, "a b", 1010},
		{"a warm cache", Load{Input: 1000}, Signal{Tariff: tariff(2, 2, 0)}, Signal{Tariff: tariff(3, 0, 0), CachedShare: 0.5}, "b a", 1500},
		{"longer answers", Load{}, Signal{Tariff: tariff(0, 0, 2), Output: 10}, Signal{Tariff: tariff(0, 0, 1), Output: 30}, "a b", 30},
		{"answers of unknown length are like the other's", Load{}, Signal{Tariff: tariff(0, 0, 2), Output: 10}, Signal{Tariff: tariff(0, 0, 1)}, "b a", 10},
		{"a limit", Load{Output: 5}, Signal{Tariff: tariff(0, 0, 2), Output: 10}, Signal{Tariff: tariff(0, 0, 1), Output: 30}, "b a", 5},
		{"no price", Load{Input: 1000}, Signal{Tariff: tariff(9, 9, 9)}, Signal{}, "a b", -1},
		{"free", Load{Input: 1000}, Signal{Tariff: tariff(1, 1, 1)}, Signal{Tariff: tariff(0, 0, 0)}, "b a", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Resolution{Targets: models("a b"), Strategy: LeastCost}
			cost := math.NaN()
			r.Arrange(&Circumstances{Signals: told{"a": tt.a, "b": tt.b}, Load: tt.load, Judged: func(t *Target, j Judgement) {
				if t.Model == "b" {
					cost = j.Cost
				}
			}})
			if got := namesOf(r.Targets); got != tt.want || cost != tt.cost || r.Order != Cheapest {
				t.Errorf("%s, %v, want %s, %v", got, cost, tt.want, tt.cost)
			}
		})
	}
}

// R50, R72: the terms of auto, and what the weights make of them.
func TestAutoTerms(t *testing.T) {
	t.Parallel()
	signals := told{
		"a": {FirstContent: time.Second, Health: 1, Headroom: 0.5, InFlight: 3, Tariff: Tariff{Known: true, Input: 4}},
		"b": {FirstContent: 4 * time.Second, Health: 0.5, Headroom: 1, InFlight: 7, Tariff: Tariff{Known: true, Input: 1}},
		"c": {Health: 1, Headroom: 1, InFlight: 3},
	}
	for _, tt := range []struct {
		weights Weights
		want    map[string][5]float64 // health, latency, cost, headroom, score
	}{
		{Weights{}, map[string][5]float64{"a": {1, 1, 0.25, 0.5, 0.8}, "b": {0.5, 0.25, 1, 0.5, 0.525}, "c": {1, 1, 0, 1, 0.8}}},
		{Weights{Cost: 3}, map[string][5]float64{"a": {1, 1, 0.25, 0.5, 0.25}, "b": {0.5, 0.25, 1, 0.5, 1}, "c": {1, 1, 0, 1, 0}}},
	} {
		got := map[string][5]float64{}
		r := Resolution{Targets: models("a b c"), Strategy: Auto, Auto: tt.weights}
		r.Arrange(&Circumstances{Signals: signals, Load: Load{Input: 1}, Random: func() float64 { return 0 }, Judged: func(t *Target, j Judgement) {
			got[t.Model] = [5]float64{j.Health, j.Latency, j.CostTerm, j.Headroom, j.Score}
		}})
		for name, want := range tt.want {
			for i := range want {
				if math.Abs(got[name][i]-want[i]) > 1e-9 {
					t.Errorf("%+v: %s is %v, want %v", tt.weights, name, got[name], want)
					break
				}
			}
		}
		if r.Order != Scored {
			t.Errorf("%v", r.Order)
		}
	}
}

// R50: no herd. Twenty instances that know the same, and know it late, do not all choose the same target: its share is bounded, and
// where targets are nearly equal, so are their shares.
func TestNoHerd(t *testing.T) {
	t.Parallel()
	const instances, each = 20, 2000
	almost := told{"a": {FirstContent: time.Second, InFlight: 4, Health: 1, Headroom: 1}}
	apart := told{"a": {FirstContent: 100 * time.Millisecond, Health: 1, Headroom: 1}}
	for i, name := range strings.Fields("b c d e") {
		d := time.Duration(i+1) * 20 * time.Millisecond
		almost[name] = Signal{FirstContent: time.Second + d, InFlight: 5, Health: 1, Headroom: 1}
		apart[name] = Signal{FirstContent: 2*time.Second + d, InFlight: 5, Health: 1, Headroom: 1}
	}
	for _, tt := range []struct {
		name, targets string
		s             Strategy
		signals       told
		most          float64
	}{
		{"two, almost equal", "a b", LeastLatency, almost, 0.55},
		{"five, almost equal", "a b c d e", LeastLatency, almost, 0.25},
		{"five, one much better", "a b c d e", LeastLatency, apart, 0.4},
		{"three, one less busy", "a b c", LeastBusy, apart, 0.68},
		{"five, one less busy", "a b c d e", LeastBusy, almost, 0.41},
		{"two, almost equal, by score", "a b", Auto, almost, 0.6},
		{"five, almost equal, by score", "a b c d e", Auto, almost, 0.3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first := map[string]float64{}
			for i := range uint64(instances) {
				rng := rand.New(rand.NewPCG(i, 20))
				for name, share := range shares(Resolution{Targets: models(tt.targets), Strategy: tt.s}, Circumstances{Signals: tt.signals, Random: rng.Float64}, each) {
					first[name] += share / instances
				}
			}
			if first["a"] > tt.most {
				t.Errorf("%.3f go to the best, want at most %.2f", first["a"], tt.most)
			}
			for name, share := range first {
				if name != "a" && share > first["a"] {
					t.Errorf("%s gets %.3f, more than the best", name, share)
				}
			}
		})
	}
}

// R50: models within models. A group stands in the place of its name, is ordered by its own strategy, and is judged by
// the target that it would have asked first.
func TestGroups(t *testing.T) {
	t.Parallel()
	in := func(g uint16, names string) []Target {
		out := models(names)
		for i := range out {
			out[i].Group = g
		}
		return out
	}
	cost := told{"a": {Tariff: Tariff{Known: true, Input: 3}}, "b": {Tariff: Tariff{Known: true, Input: 2}}, "c": {Tariff: Tariff{Known: true, Input: 1}}}
	for _, tt := range []struct {
		name    string
		targets []Target
		s       Strategy
		groups  []Group
		turn    uint64
		want    string
	}{
		{"ordered in ordered", slices.Concat(in(0, "x"), in(1, "a b"), in(0, "y")), Ordered, []Group{{}}, 0, "x a b y"},
		{"by cost in ordered", slices.Concat(in(0, "x"), in(1, "a b c"), in(0, "y")), Ordered, []Group{{Strategy: LeastCost}}, 0, "x c b a y"},
		{"the cheapest of a group stands for it", slices.Concat(in(0, "b"), in(1, "a c")), LeastCost, []Group{{Strategy: LeastCost}}, 0, "c a b"},
		{"the first of a group stands for it", slices.Concat(in(0, "b"), in(1, "a c")), LeastCost, []Group{{}}, 0, "b a c"},
		{"turns of two", slices.Concat(in(0, "x"), in(1, "a b")), RoundRobin, []Group{{Strategy: RoundRobin}}, 1, "a b x"},
		{"a group's next turn comes with the next round", slices.Concat(in(0, "x"), in(1, "a b")), RoundRobin, []Group{{Strategy: RoundRobin}}, 3, "b a x"},
		{"groups side by side", slices.Concat(in(1, "a b"), in(2, "c x")), RoundRobin, []Group{{Strategy: LeastCost}, {}}, 1, "c x b a"},
		{"a group in a group", slices.Concat(in(1, "a"), in(2, "b c"), in(0, "x")), RoundRobin, []Group{{}, {Strategy: LeastCost, Within: 1}}, 0, "a c b x"},
		{"a group in a group, at once", slices.Concat(in(2, "b c"), in(0, "x")), RoundRobin, []Group{{}, {Strategy: LeastCost, Within: 1}}, 1, "x c b"},
		{"what stands in two groups is asked once", slices.Concat(in(1, "a b"), in(0, "b")), Ordered, []Group{{}}, 0, "a b"},
		{"what a rule adds stays behind", slices.Concat(in(0, "a b c"), []Target{{Provider: "p", Model: "free", Rule: true}}), LeastCost, nil, 0, "c b a free"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Resolution{Targets: tt.targets, Strategy: tt.s, Groups: tt.groups}
			before := namesOf(tt.targets)
			r.Arrange(&Circumstances{Signals: cost, Load: Load{Input: 1}, Turn: tt.turn})
			order := tt.s.order()
			if tt.s == Ordered {
				if order = NoOrder; slices.ContainsFunc(tt.groups, func(g Group) bool { return g.Strategy != Ordered }) {
					order = Nested
				}
			}
			if got := namesOf(r.Targets); got != tt.want || r.Order != order {
				t.Errorf("%s (%s), want %s (%s)", got, r.Order, tt.want, order)
			}
			if namesOf(tt.targets) != before {
				t.Error("the table was changed")
			}
		})
	}
}

// R50: a request's own strategy takes the groups apart.
func TestUse(t *testing.T) {
	t.Parallel()
	targets := models("a b c")
	targets[0].Group, targets[1].Group = 1, 1
	r := Resolution{Targets: targets, Strategy: Weighted, Groups: []Group{{}}}
	r.Use(LeastCost)
	price := func(p float64) Signal { return Signal{Tariff: Tariff{Known: true, Input: p}} }
	r.Arrange(&Circumstances{Signals: told{"a": price(1), "b": price(3), "c": price(2)}, Load: Load{Input: 1}})
	if got := namesOf(r.Targets); got != "a c b" || r.Order != Cheapest {
		t.Errorf("%s, %v", got, r.Order)
	}
}

// R50: only the first target is explored for: who steps in for it is the quickest that is left.
func TestExploredOnce(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(50, 2))
	signals := told{"quick": {FirstContent: time.Millisecond}, "slow": {FirstContent: time.Hour}, "slower": {FirstContent: 2 * time.Hour}}
	explored := 0
	for range 2000 {
		r := Resolution{Targets: models("slow quick slower"), Strategy: LeastLatency}
		r.Arrange(&Circumstances{Signals: signals, Random: rng.Float64})
		if r.Targets[0].Model == "quick" {
			continue
		}
		if explored++; r.Targets[1].Model != "quick" {
			t.Fatalf("%s", namesOf(r.Targets))
		}
	}
	if explored < 100 {
		t.Errorf("explored %d times", explored)
	}
}

// R50: targets that cost nothing are equally cheap.
func TestAutoAmongFree(t *testing.T) {
	t.Parallel()
	free := Signal{Health: 1, Headroom: 1, Tariff: Tariff{Known: true}}
	r := Resolution{Targets: models("a b"), Strategy: Auto}
	r.Arrange(&Circumstances{Signals: told{"a": free, "b": free}, Random: func() float64 { return 0.7 }, Judged: func(t2 *Target, j Judgement) {
		if j.CostTerm != 1 || j.Score != 1 {
			t.Errorf("%s: %+v", t2.Model, j)
		}
	}})
	if got := namesOf(r.Targets); got != "b a" {
		t.Errorf("%s", got)
	}
}

// R50: whatever the strategies and the groups, an order has every target once, and groups stay together.
func TestArrangePermutes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		strategy := rapid.Custom(func(t *rapid.T) Strategy { return Strategy(rapid.IntRange(0, int(Auto)).Draw(t, "s")) })
		r := Resolution{Strategy: strategy.Draw(t, "strategy")}
		groups := rapid.IntRange(0, 5).Draw(t, "groups")
		for i := range groups {
			r.Groups = append(r.Groups, Group{Strategy: strategy.Draw(t, "inner"), Within: uint16(rapid.IntRange(0, i).Draw(t, "within"))})
		}
		signals := told{}
		// The members of a group, then the groups in it, as they are declared.
		var fill func(g uint16)
		fill = func(g uint16) {
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				name := fmt.Sprint("m", len(r.Targets))
				r.Targets = append(r.Targets, Target{Provider: "p", Model: name, Group: g, Params: []wire.Param{{Name: "x"}}})
				signals[name] = Signal{
					FirstContent: time.Duration(rapid.IntRange(0, 3).Draw(t, "ms")) * time.Millisecond, InFlight: rapid.IntRange(0, 2).Draw(t, "in flight"),
					Health: rapid.Float64Range(0, 1).Draw(t, "health"), Headroom: rapid.Float64Range(0, 1).Draw(t, "headroom"),
					Tariff: Tariff{Known: rapid.Bool().Draw(t, "known"), Input: rapid.Float64Range(0, 1).Draw(t, "price")},
				}
			}
			for i := range r.Groups {
				if r.Groups[i].Within == g {
					fill(uint16(i + 1))
				}
			}
		}
		fill(0)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		before := slices.Clone(r.Targets)
		declared := r.Targets
		r.Arrange(&Circumstances{Signals: signals, Load: Load{Input: 10}, Turn: rapid.Uint64().Draw(t, "turn"), Random: rng.Float64})
		if namesOf(before) != namesOf(declared) {
			t.Fatal("the table was changed")
		}
		sorted := strings.Fields(namesOf(r.Targets))
		slices.Sort(sorted)
		want := strings.Fields(namesOf(before))
		slices.Sort(want)
		if !slices.Equal(sorted, want) {
			t.Fatalf("%v of %v", sorted, want)
		}
		inside := func(t *Target, g uint16) bool {
			at := t.Group
			for at != g && at != 0 {
				at = r.Groups[at-1].Within
			}
			return at == g
		}
		for g := uint16(1); int(g) <= len(r.Groups); g++ {
			changes := 0
			for i := range r.Targets {
				if inside(&r.Targets[i], g) != (i > 0 && inside(&r.Targets[i-1], g)) {
					changes++
				}
			}
			if changes > 2 {
				t.Fatalf("group %d is torn apart: %v", g, r.Targets)
			}
		}
	})
}

// R50: scores that say nothing leave no target out: with cost as the only term and no price known, all are alike.
func TestAutoWithoutScores(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := Resolution{Targets: models("a b c"), Strategy: Auto, Auto: Weights{Cost: 1}}
	got := shares(r, Circumstances{Signals: told{}, Random: random.Float64}, 3000)
	near(t, got, "a=0.333 b=0.333 c=0.333", 0.05)
}

// R50: with Auto, too, one that was slow is asked now and then, or it would stay slow for ever; not so one that is down.
func TestAutoExplores(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := Resolution{Targets: models("quick slow down"), Strategy: Auto, Auto: Weights{Latency: 1}}
	got := shares(r, Circumstances{Random: random.Float64, Signals: told{
		"quick": {FirstContent: 100 * time.Millisecond, Health: 1},
		"slow":  {FirstContent: 10 * time.Second, Health: 1},
		"down":  {FirstContent: 10 * time.Second},
	}}, 20_000)
	near(t, got, "quick=0.99 slow=0.01 down=0", 0.003)
}

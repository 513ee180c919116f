package telemetry

import "testing"

func TestHandlesAreMadeOnceAndSettle(t *testing.T) {
	t.Parallel()
	made := map[int]int{}
	h := newHandles(func(k int) int { made[k]++; return k * k }, func(int) int { return -1 })
	for range 3 {
		for k := range 1000 {
			equal(t, "value", h.get(k), k*k)
		}
	}
	for k, n := range made {
		if n != 1 {
			t.Errorf("%d made %d times", k, n)
		}
	}
	h.get(5000) // one newcomer among a thousand waits beside the map …
	if _, ok := (*h.found.Load())[5000]; ok {
		t.Error("one label set is worth no copy of a thousand")
	}
	for range 1001 { // … until it was asked for as often as a copy costs
		h.get(5000)
	}
	if v, ok := (*h.found.Load())[5000]; !ok || v != 5000*5000 {
		t.Errorf("found is %d, %v", v, ok)
	}
	equal(t, "made", made[5000], 1)
}

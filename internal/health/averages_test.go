package health

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"evergate/internal/resilience"
)

// answer settles a good attempt that took a time to its content, and twice that to its end.
func answer(p *Provider, model string, d time.Duration) {
	now := time.Now()
	permit, _ := p.Admit(now, 0, model, now.Add(time.Minute), false)
	permit.Settle(now, resilience.Outcome{Success: true}, Measured{FirstByte: d, FirstContent: d, Total: 2 * d, Stream: true})
}

// said is what an instance says of model m at provider p.
func said(instance string, d time.Duration, samples float64, at time.Time) Peer {
	return Peer{instance, []Latency{{"p", "m", resilience.Averages{FirstContent: d, Total: 2 * d, Recency: resilience.Recency{Samples: samples, At: at}}}}}
}

func shared() (*Health, *Provider) {
	h := New(&facts{})
	h.Apply([]Config{config("p", "k"), config("q", "k")})
	return h, h.Provider("p")
}

// R67: what this instance measured is told; what it heard is not.
func TestLatenciesTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := shared()
		h.AbsorbLatencies(time.Now(), []Peer{said("x", time.Second, 8, time.Now())})
		if got := h.Latencies(time.Now()); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		answer(p, "m", time.Second)
		answer(p, "m", 3*time.Second)
		answer(h.Provider("q"), "a", time.Second)
		at := time.Now()
		want := []Latency{
			{"p", "m", resilience.Averages{FirstContent: 2 * time.Second, Total: 4 * time.Second, Recency: resilience.Recency{Samples: 2, At: at}}},
			{"q", "a", resilience.Averages{FirstContent: time.Second, Total: 2 * time.Second, Recency: resilience.Recency{Samples: 1, At: at}}},
		}
		if got := h.Latencies(at.Add(time.Minute)); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%+v, want %+v", got, want)
		}
		if got := h.Latencies(at.Add(10 * time.Minute)); len(got) != 0 {
			t.Errorf("old: %+v", got)
		}
		for i := range 300 {
			for range 1 + i%2 {
				answer(p, fmt.Sprintf("m%03d", i), time.Second)
			}
		}
		got := h.Latencies(time.Now())
		if len(got) != maxTold {
			t.Fatalf("%d", len(got))
		}
		twice := 0
		for _, l := range got {
			if l.Samples > 1 {
				twice++
			}
		}
		if twice != 151 {
			t.Errorf("of those with two samples it tells %d", twice)
		}
	})
}

// R67: routing and views go by the weighted mean of what was measured here and elsewhere; percentiles by what was measured here.
func TestLatenciesHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := shared()
		want := func(what string, first time.Duration) {
			t.Helper()
			now := time.Now()
			explained, _ := p.FirstContent(now, "m")
			s := p.Snapshot(now)
			for name, got := range map[string]time.Duration{
				"signal": p.Signal(now, "m").FirstContent, "explained": explained, "view": s.FirstContent, "view's total": s.Total / 2,
			} {
				if got.Round(time.Millisecond) != first {
					t.Errorf("%s: the %s is %v, want %v", what, name, got, first)
				}
			}
		}
		want("nothing", 0)
		h.AbsorbLatencies(time.Now(), []Peer{said("x", 4*time.Second, 1, time.Now())})
		want("of one", 4*time.Second)
		h.AbsorbLatencies(time.Now(), []Peer{said("x", 6*time.Second, 1, time.Now()), said("y", 2*time.Second, 3, time.Now())})
		want("replaced, not added", 3*time.Second)
		for range 4 {
			answer(p, "m", time.Second)
		}
		want("with its own", 2*time.Second)
		if _, ok := p.Content("m", 95, true); ok {
			t.Error("a percentile of four")
		}
		h.AbsorbLatencies(time.Now(), []Peer{{Instance: "x"}})
		want("one fell silent", 1429*time.Millisecond) // (3 × 2 s + 4 × 1 s) / 7
		time.Sleep(10 * time.Minute)
		want("all is old", time.Second)
		h.AbsorbLatencies(time.Now(), nil)
		if len(h.others.said) != 0 || p.heard.models != nil {
			t.Errorf("%+v", h.others.said)
		}
	})
}

// R67: what others say takes a bounded place: 256 models of 32 instances, 32 bytes each.
func TestLatenciesHeardAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := shared()
		now := time.Now()
		var peers []Peer
		for i := range maxHeard + 8 {
			one := Peer{Instance: fmt.Sprint("i", i)}
			for m := range maxTold + 50 {
				one.Latencies = append(one.Latencies, Latency{"p", fmt.Sprint("m", m), resilience.Averages{FirstContent: time.Second, Recency: resilience.Recency{Samples: 1, At: now}}})
			}
			one.Latencies[0].FirstContent = -1
			one.Latencies[1].Provider = "nobody"
			peers = append(peers, one)
		}
		h.AbsorbLatencies(now, peers)
		if n := len(h.others.said); n != maxHeard {
			t.Errorf("%d instances", n)
		}
		if _, ok := h.others.said["i0"]; !ok {
			t.Error("the first is not among them")
		}
		if n := len(p.heard.models); n != maxTold-2 {
			t.Errorf("%d models", n)
		}
		if n := unsafe.Sizeof(saying{}); n > 32 {
			t.Errorf("%d bytes", n)
		}
		peers[0].Latencies = nil
		h.AbsorbLatencies(now, peers)
		if _, ok := h.others.said["i0"]; ok || len(h.others.said) != maxHeard {
			t.Errorf("no place for the next: %d", len(h.others.said))
		}
	})
}

// R60: reading what was heard costs no allocation.
func TestHeardSignalAllocatesNothing(t *testing.T) {
	h, p := shared()
	now := time.Now()
	h.AbsorbLatencies(now, []Peer{said("x", time.Second, 8, now)})
	answer(p, "m", time.Second)
	if n := testing.AllocsPerRun(100, func() { p.Signal(now, "m"); p.Signal(now, "other") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSignalHeard(b *testing.B) {
	h, p := shared()
	now := time.Now()
	h.AbsorbLatencies(now, []Peer{said("x", time.Second, 8, now)})
	answer(p, "m", time.Second)
	b.ReportAllocs()
	for b.Loop() {
		p.Signal(now, "m")
	}
}

package config

import (
	"testing"
	"time"

	"evergate/internal/testkit"
)

// A configuration of 2,000 models at 50 providers, with 200 virtual ones, is read in much less than a tenth of a second, so that a reload is
// done in that.
func TestLargeConfigIsQuick(t *testing.T) {
	text := testkit.LargeConfig()
	best := time.Hour
	for range 5 { // others may need the machine, too
		start := time.Now()
		cfg, err := Parse("f.yaml", text, nobody)
		if best = min(best, time.Since(start)); err != nil {
			t.Fatal(err)
		}
		if n := len(cfg.Table.Virtual["virtual-3"].Targets); n != 32 {
			t.Fatalf("%d targets", n)
		}
	}
	t.Logf("%d bytes in %v", len(text), best)
	if best > 2*time.Second { // BenchmarkLargeConfig has the figure; this is what a slow machine under the race detector may take
		t.Errorf("%v", best)
	}
}

func BenchmarkLargeConfig(b *testing.B) {
	text := testkit.LargeConfig()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("f.yaml", text, nobody); err != nil {
			b.Fatal(err)
		}
	}
}

package route

import (
	"testing"
	"time"
)

// R34: a first target that has just come back stays second for a while.
func TestHold(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		holdDown time.Duration
		targets  int
		closed   time.Time
		want     string
	}{
		{"never open", time.Minute, 3, time.Time{}, "0 1 2"},
		{"just closed", time.Minute, 3, now, "1 0 2"},
		{"almost over", time.Minute, 3, now.Add(-59 * time.Second), "1 0 2"},
		{"over", time.Minute, 3, now.Add(-time.Minute), "0 1 2"},
		{"off", 0, 3, now, "0 1 2"},
		{"alone", time.Minute, 1, now, "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := []Target{{Provider: "p", Model: "0"}, {Provider: "p", Model: "1"}, {Provider: "p", Model: "2"}}[:tt.targets]
			r := Resolution{Targets: all, HoldDown: tt.holdDown}
			r.Hold(now, func(provider, model string) time.Time {
				if provider != "p" || model != "0" {
					t.Errorf("asked for %s/%s", provider, model)
				}
				return tt.closed
			})
			got := ""
			for i := range r.Targets {
				if got += r.Targets[i].Model; i+1 < len(r.Targets) {
					got += " "
				}
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if all[0].Model != "0" {
				t.Error("the table's own list was changed")
			}
		})
	}
}

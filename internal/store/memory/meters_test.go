package memory_test

import (
	"testing"
	"time"

	"evergate/internal/quota/meters"
	"evergate/internal/store/memory"
	"evergate/internal/store/storetest"
)

func TestMeters(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	storetest.RunMeters(t, func(*testing.T) (one, peer meters.Store) {
		s := memory.New(c.Now)
		return s.Meters(), s.Peer().Meters()
	}, storetest.MeterOptions{Advance: c.Advance})
}

package sqlite_test

import (
	"path/filepath"
	"testing"

	"evergate/internal/quota/meters"
	"evergate/internal/store/storetest"
)

func TestMeters(t *testing.T) {
	t.Parallel()
	storetest.RunMeters(t, func(t *testing.T) (one, peer meters.Store) {
		path := filepath.Join(t.TempDir(), "evergate.db")
		return openPages(t, path).Meters(), openPages(t, path).Meters()
	}, storetest.MeterOptions{})
}

package sqlite_test

import (
	"path/filepath"
	"testing"

	"evergate/internal/replica"
	"evergate/internal/store/sqlite"
	"evergate/internal/store/storetest"
)

func openPages(t testing.TB, path string) *sqlite.Pages {
	t.Helper()
	p, err := sqlite.OpenPages(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestContract(t *testing.T) {
	t.Parallel()
	paths := map[replica.Store]string{}
	storetest.Run(t, func(t *testing.T) replica.Store {
		path := filepath.Join(t.TempDir(), "evergate.db")
		p := openPages(t, path)
		paths[p] = path
		return p
	}, storetest.Options{
		Deaf: true,
		Peer: func(t *testing.T, of replica.Store) replica.Store { return openPages(t, paths[of]) },
	})
}

// TestPagesOfASharedFile leave the file to its other users.
func TestPagesOfASharedFile(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "evergate.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Pages().Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.Pages().Members(t.Context()); err != nil {
		t.Errorf("closing pages closed the file: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.Pages().Members(t.Context()); err == nil {
		t.Error("the file is open though it was closed")
	}
}

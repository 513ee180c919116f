package sqlite_test

import (
	"path/filepath"
	"testing"

	"evergate/internal/store/storetest"
	"evergate/internal/threads"
)

func TestArchive(t *testing.T) {
	t.Parallel()
	storetest.RunArchive(t, func(t *testing.T, room threads.Room) (one, peer threads.Archive) {
		path := filepath.Join(t.TempDir(), "evergate.db")
		return openPages(t, path).Answers(room), openPages(t, path).Answers(room)
	}, storetest.ArchiveOptions{})
}

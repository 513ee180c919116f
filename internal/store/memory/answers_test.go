package memory_test

import (
	"testing"
	"time"

	"evergate/internal/store/memory"
	"evergate/internal/store/storetest"
	"evergate/internal/threads"
)

func TestArchive(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	storetest.RunArchive(t, func(_ *testing.T, room threads.Room) (one, peer threads.Archive) {
		s := memory.New(func() time.Time { return now })
		return s.Answers(room), s.Peer().Answers(room)
	}, storetest.ArchiveOptions{Advance: func(d time.Duration) { now = now.Add(d) }})
}

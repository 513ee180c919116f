package app

import (
	"context"
	"sync"

	"evergate/internal/config"
	"evergate/internal/replica"
	"evergate/internal/threads"
)

// archivist is a store that keeps answers beside pages.
type archivist interface {
	Answers(room threads.Room) threads.Archive
}

// roomOf is how much a store keeps of answers: one that has all in memory less.
func roomOf(s config.State) threads.Room {
	if s.Kind() == "redis" {
		return threads.Room{Bytes: 256 << 20}
	}
	return threads.Room{Bytes: 1 << 30}
}

// archive has the answers that clients may continue kept in the fleet's store too.
func (a *App) archive(s config.State) {
	if !s.KeepAnswers {
		return
	}
	found := &archives{room: roomOf(s), fleet: a.fleet}
	a.ingress.Threads().Archive(found.reached)
	a.stops = append(a.stops, func(ctx context.Context) error {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		a.ingress.Threads().Stop(last)
		return nil
	})
}

// archives gives the archive of the store that the fleet has.
type archives struct {
	fleet *replica.Fleet
	room  threads.Room

	mu      sync.Mutex
	of      replica.Store // that archive belongs to
	archive threads.Archive
}

// reached is nil while the store is lost.
func (a *archives) reached() threads.Archive {
	store := a.fleet.Reached()
	if store == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != store {
		a.of, a.archive = store, nil
		if s, ok := store.(archivist); ok {
			a.archive = s.Answers(a.room)
		}
	}
	return a.archive
}

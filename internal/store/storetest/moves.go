package storetest

import (
	"context"
	"testing"
	"time"

	"evergate/internal/replica"
)

// The moves of tests about what happens to a store that is kept by a server: each ends the test where it takes longer than its bound.

// Within is a context that ends after d, or with the test.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// PutOne puts the one page that Stands looks for.
func PutOne(t testing.TB, bound time.Duration, s replica.Store, sequence uint64) error {
	t.Helper()
	return s.Put(Within(t, bound), []replica.Page{page("a1", "k", sequence, "x")})
}

// Stands checks that the store has one page, with that sequence.
func Stands(t testing.TB, bound time.Duration, s replica.Store, sequence uint64) {
	t.Helper()
	pages, err := s.Read(Within(t, bound), guards, time.Time{}, 0)
	if err != nil || len(pages) != 1 || pages[0].Sequence != sequence {
		t.Fatalf("got %v, %v; want one page of sequence %d", pages, err, sequence)
	}
}

// Watching begins to watch and gives what ends it.
func Watching(t testing.TB, bound time.Duration, s replica.Store, heard func(replica.Page)) <-chan error {
	t.Helper()
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() { ended <- s.Watch(t.Context(), func() { close(ready) }, heard) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("the watch did not begin: %v", err)
	case <-time.After(bound):
		t.Fatal("the watch does not begin")
	}
	return ended
}

// Broken waits for a watch to end with an error.
func Broken(t testing.TB, bound time.Duration, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the watch ended as if its context had")
		}
	case <-time.After(bound):
		t.Fatalf("the watch goes on after %v", bound)
	}
}

package sqlite

import (
	"fmt"
	"testing"
	"time"

	"evergate/internal/replica"
)

// BenchmarkPut50 is what an instance with 50 providers puts when all of their guards changed.
func BenchmarkPut50(b *testing.B) {
	p := openDB(b, newPath(b), defaults(b)).Pages()
	b.ReportAllocs()
	for sequence := uint64(1); b.Loop(); sequence++ {
		if err := p.Put(b.Context(), numbered("i", 50, sequence, 1000)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead1000 is what an instance reads at its start from a file that has seen 20 others.
func BenchmarkRead1000(b *testing.B) {
	p := openDB(b, newPath(b), defaults(b)).Pages()
	for i := range 20 {
		if err := p.Put(b.Context(), numbered(fmt.Sprint("i", i), 50, 1, 1000)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if pages, err := p.Read(b.Context(), "guards", time.Time{}, 0); err != nil || len(pages) != 1000 {
			b.Fatal(len(pages), err)
		}
	}
}

func BenchmarkBeat(b *testing.B) {
	p := openDB(b, newPath(b), defaults(b)).Pages()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Beat(b.Context(), replica.Member{ID: "i", Version: "1.2.3"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is what the store adds to the start of a program whose file is there.
func BenchmarkOpen(b *testing.B) {
	path := newPath(b)
	openDB(b, path, defaults(b))
	b.ReportAllocs()
	for b.Loop() {
		db, err := Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

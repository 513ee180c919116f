package app

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestTidierIsDue(t *testing.T) {
	const mb = 1 << 20
	start := time.Now()
	tests := []struct {
		name string
		was  tidier
		open int64
		heap uint64
		want bool
	}{
		{"idle", tidier{}, 0, 20 * mb, false},
		{"a few requests", tidier{}, 100, 20 * mb, false},
		{"many more than before", tidier{open: 1000, at: start}, 1300, 60 * mb, true},
		{"about as many", tidier{open: 1000}, 1200, 60 * mb, false},
		{"a large heap", tidier{heap: 20 * mb, at: start.Add(-time.Minute)}, 3, 900 * mb, true},
		{"a large heap, looked through just now", tidier{heap: 20 * mb, at: start.Add(-10 * time.Second)}, 3, 900 * mb, false},
		{"a large heap in use", tidier{heap: 850 * mb, at: start.Add(-time.Minute)}, 3, 900 * mb, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.was.due(start, tt.open, tt.heap); got != tt.want {
				t.Errorf("due is %t", got)
			}
		})
	}
	few := tidier{open: 1000}
	if few.due(start, 10, 0); few.open != 10 || !few.due(start, 150, 0) {
		t.Error("fewer requests are not the new measure")
	}
}

func TestHeapSize(t *testing.T) {
	debug.FreeOSMemory() // else the block finds room in what is free
	before := heapSize()
	block := make([]byte, 256<<20)
	if after := heapSize(); before == 0 || after < before+200<<20 {
		t.Errorf("%d bytes, and %d with %d more", before, after, len(block))
	}
	runtime.KeepAlive(block)
}

package app

import (
	"context"
	"runtime/debug"
	"time"
)

// ballastSize is allocated and never touched, so that it costs address space and no memory. A busy gateway's heap is a
// few megabytes small and would be collected hundreds of times a second; the ballast makes that a few times
// (docs/performance.md).
const ballastSize = 16 << 20

const tidyInterval = 5 * time.Second

// tidy collects garbage and gives memory back when many more requests are open than when it last did: what opening a
// stream left behind, and the stacks that it no longer needs, are a quarter of what an open stream holds, and the
// collector would not look for them before the heap has doubled. The work is in proportion to the growth.
func (a *App) tidy(ctx context.Context) {
	tick := time.NewTicker(tidyInterval)
	defer tick.Stop()
	var tidied int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch open := a.ingress.InFlight(); {
		case open > tidied+tidied/8+128:
			debug.FreeOSMemory()
			tidied = open
		case open < tidied:
			tidied = open
		}
	}
}

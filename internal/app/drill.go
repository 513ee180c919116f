package app

import (
	"context"

	"evergate/internal/drill/running"
	"evergate/internal/journal"
)

// drill makes the keeper of the drills (R74), which hears the facts, and states that a drill began or ended.
func (a *App) drill(sinks []journal.Sink) []journal.Sink {
	a.drills = &running.Drills{}
	return append(sinks, a.drills)
}

// shareDrills makes the drills those of the fleet.
func (a *App) shareDrills() {
	a.drills.Spread = a.fleet.Drilled
	a.drills.First = func(id string) bool {
		soon, cancel := context.WithTimeout(context.Background(), flushTime) // a stop waits for it
		defer cancel()
		return a.fleet.First(soon, "drill "+id)
	}
}

// endDrills is for a stop: what runs goes on elsewhere, or ends with the process.
func (a *App) endDrills(context.Context) error {
	a.drills.Close()
	return nil
}

package alert

import (
	"sync/atomic"
	"time"
)

// outage is what requests for one model come to while nobody can answer some. Requests write it, without a lock.
type outage struct {
	failed, answered, told atomic.Int64 // the last of them, in milliseconds since 1970
}

// failedAt notes a request that failed; true: the loop is to be told, which it is once a second at most.
func (o *outage) failedAt(ms int64) bool {
	latest(&o.failed, ms)
	before := o.told.Load()
	return ms-before >= 1000 && o.told.CompareAndSwap(before, ms)
}

func (o *outage) answeredAt(ms int64) { latest(&o.answered, ms) }

func latest(at *atomic.Int64, ms int64) {
	for before := at.Load(); ms > before && !at.CompareAndSwap(before, ms); before = at.Load() {
	}
}

// answers says whether the last request that is known was answered.
func (o *outage) answers() bool { return o.answered.Load() > o.failed.Load() }

func (o *outage) lastFailed() time.Time { return time.UnixMilli(o.failed.Load()) }

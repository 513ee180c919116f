package ledger

import (
	"context"
	"time"
)

// Store keeps a ledger. Safe for concurrent use. An error leaves open whether a write happened: it may be written again, as the same rows.
type Store interface {
	// Write lays a batch down, and adds its requests to the sums, in one step. Rows that are there already add nothing, and nothing to the sums.
	Write(ctx context.Context, b Batch) error
	// Requests gives a page of what the query wants, the newest first. It looks at MaxLooked rows or a few more, and gives what it found among them.
	Requests(ctx context.Context, q RequestQuery) (RequestPage, error)
	// Request gives one request, by its row or by its id; of several of an id the newest. False: there is none.
	Request(ctx context.Context, id string) (*Request, bool, error)
	// Timeline gives a page of entries, the newest first.
	Timeline(ctx context.Context, q TimelineQuery) (TimelinePage, error)
	// Usage gives sums, in the order of SortUsage. Rows without any number but zeros may be missing.
	Usage(ctx context.Context, q UsageQuery) ([]UsageRow, error)
	// Expire takes away what is too old or too much, the oldest first, in steps that let writes in between, until ctx ends or nothing is left to take.
	Expire(ctx context.Context, keep Retention) error
}

// Retention is for how long rows are kept, and how many. Entries of the timeline are kept as long as requests, sums as long as KeepMinutes and KeepHours
// say.
type Retention struct {
	Age      time.Duration // 0: by number alone
	Requests int           // 0: by age alone
	Entries  int           // 0: by age alone
	// Bytes is how large a store may get that is a file of the gateway's own; 0: as large as it likes. Rows may be larger than most: then fewer are kept.
	Bytes int64
	// ByNumber: nothing goes for its age, neither rows nor sums, as the clock is not to be trusted now.
	ByNumber bool
}

// FileBytes is the room for so many requests, and what else is in the file: sums, the timeline, answers that are kept. A million have 616 MiB, and take half of it unless
// they are larger than most.
func FileBytes(requests int) int64 { return 128<<20 + 512*int64(requests) }

// How long sums are kept.
const (
	KeepMinutes = 48 * time.Hour
	KeepHours   = 400 * 24 * time.Hour
)

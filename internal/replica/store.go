package replica

import (
	"context"
	"errors"
	"time"
)

// Store is what a store is to replication: a place where each instance lays down pages of its own and finds the others'. Its
// methods do I/O, end with their context, and are safe for concurrent use; none is called on a request's way (R60). What
// every store owes is held by storetest.
type Store interface {
	// Beat announces an instance, or renews it, and gives the store's clock at that moment (R63).
	Beat(ctx context.Context, self Member) (now time.Time, err error)
	// Members are all instances that were announced and not dropped, this one among them, by their Seen.
	Members(ctx context.Context) ([]Member, error)
	// Put lays down pages. Each takes the place of the page with its instance, topic and key, if that one's sequence is lower; else
	// it is passed over. Of several pages all come to stand, or the error says that some may not.
	Put(ctx context.Context, pages []Page) error
	// Read gives the pages of a topic that were put at since or later by the store's clock, the latest first; at most limit of
	// them (0: all). The zero since gives those of all times.
	Read(ctx context.Context, topic Topic, since time.Time, limit int) ([]Page, error)
	// Watch tells heard of pages that are put from now on, by whom ever, soon after: until ctx ends (nil) or it can not go on (an
	// error). What is put while nobody watches, or what gets lost, is found by Read, and so are quiet pages, which Watch need not
	// tell of. heard does not block. ready is called once Watch has begun to hear.
	Watch(ctx context.Context, ready func(), heard func(Page)) error
	// Drop forgets an instance and its pages.
	Drop(ctx context.Context, instance string) error
	// Claim takes a lease that ends by itself after life of the store's clock, or renews one that the holder has; false:
	// another has it.
	Claim(ctx context.Context, lease, holder string, life time.Duration) (bool, error)
	// Yield gives a lease back, if holder has it.
	Yield(ctx context.Context, lease, holder string) error
	// Close lets go of connections and files.
	Close() error
}

// ErrDeaf is what Watch ends with where nothing is ever told, because of something between the store and this program. It is no failure of the store: what is put is
// found by Read.
var ErrDeaf = errors.New("nothing is told of what is put")

// Member is one instance, a process.
type Member struct {
	ID      string // of this process alone: another start has another one
	Version string // of the program
	Started time.Time
	Seen    time.Time // of its last Beat by the store's clock; the store sets it
	// Left says that it stopped in order: it is gone from that Beat on, and only its pages may still matter (R65).
	Left bool
}

// Page is one thing that an instance says, as a whole: a newer page takes its place.
type Page struct {
	// Instance is who says it; empty for what is the fleet's and outlives every instance.
	Instance string
	Topic    Topic
	Key      string // what it is about, a provider's name for instance
	// Sequence orders the versions of a page: the higher one stands.
	Sequence uint64
	At       time.Time // when it was put, by the store's clock; the store sets it
	Body     []byte    // at most MaxBody bytes, and none where nothing is left to say
	// Quiet pages need not be told to those who watch: Read finds them. It is a word to Put alone, and not kept.
	Quiet bool
}

// Topic is what kind of thing a page says. Its words stand in stores: they are never given another meaning.
type Topic string

// MaxBody is how long a page's body may be.
const MaxBody = 256 << 10

package admin

import (
	"context"
	"sync"
	"time"
)

const (
	// restFor is for how many times as long as an overview took it is shown again: with many keys and models it is a million sums to add,
	// and every open page asks for it every few seconds.
	restFor = 10
	// oldest is how old it may get by that.
	oldest = 30 * time.Second
	// glances is how many windows are remembered.
	glances = 8
)

// lookout remembers overviews that took long. The zero value is ready. It is safe for concurrent use.
type lookout struct {
	mu   sync.Mutex // held while one is made: whoever else asks waits for it
	seen map[time.Duration]glance
}

type glance struct {
	*overview
	until time.Time
}

// look gives the overview of a window, of now or a moment ago.
func (l *lookout) look(ctx context.Context, window time.Duration, make func(context.Context) (*overview, error)) (*overview, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	begin := time.Now()
	if g, ok := l.seen[window]; ok && begin.Before(g.until) {
		return g.overview, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, err := make(ctx)
	if err != nil {
		return nil, err
	}
	if l.seen == nil || len(l.seen) >= glances {
		l.seen = map[time.Duration]glance{}
	}
	end := time.Now()
	l.seen[window] = glance{o, end.Add(min(restFor*end.Sub(begin), oldest))}
	return o, nil
}

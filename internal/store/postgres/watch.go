package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"evergate/internal/replica"
	"evergate/internal/store"
)

const (
	quietFor  = 10 * time.Second // that a watch hears nothing before it asks whether it still hears
	echoBound = 5 * time.Second  // for the answer
)

var errDeaf = fmt.Errorf("%w: LISTEN does not work through a pooler in transaction mode", replica.ErrDeaf)

// Watch hears on a connection of its own. At first and whenever it has heard nothing for a while it has something said to it, so that it notices a
// connection that is dead, or deaf. It ends with an error as soon as the connection does, also if another could be had at once: what was told between the two is only found
// by reading.
func (s *Store) Watch(ctx context.Context, ready func(), tell func(replica.Page)) error {
	if ctx.Err() != nil {
		return nil
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.ctx, stop)()
	err := s.listen(listening, ready, tell)
	switch {
	case s.ctx.Err() != nil:
		return fmt.Errorf("watch: %w", errClosed)
	case ctx.Err() != nil:
		return nil
	}
	return fmt.Errorf("watch: %w", store.Hide(err, s.address.hidden...))
}

func (s *Store) listen(ctx context.Context, ready func(), tell func(replica.Page)) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	preparing, cancel := s.bounded(ctx)
	defer cancel()
	q, err := s.prepared(preparing, conn)
	if err != nil {
		return err
	}
	echo := "evergate_echo_" + rand.Text()
	for _, channel := range []string{q.channel, echo} {
		if _, err := conn.Exec(preparing, `LISTEN `+pgx.Identifier{channel}.Sanitize()); err != nil {
			return err
		}
	}
	w := &watch{store: s, conn: conn, echo: echo, ready: ready, tell: tell}
	return w.run(ctx)
}

// watch is one that listens.
type watch struct {
	store *Store
	conn  *pgx.Conn
	echo  string
	ready func() // nil: was called
	tell  func(replica.Page)
}

func (w *watch) run(ctx context.Context) error {
	for {
		if err := w.ask(ctx); err != nil {
			return err
		}
		for quiet := false; !quiet; {
			n, err := w.next(ctx, quietFor)
			if err != nil {
				return err
			}
			if quiet = n == nil; !quiet {
				if err := w.take(ctx, n.Channel, n.Payload); err != nil {
					return err
				}
			}
		}
	}
}

// ask has another connection say what this one should hear: what a connection tells itself it hears through every pooler.
func (w *watch) ask(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, echoBound)
	defer cancel()
	if _, err := w.store.exec(bounded, "echo", func(q *sql) string { return q.echo }, w.echo); err != nil {
		return err
	}
	for end := time.Now().Add(echoBound); ; {
		n, err := w.next(ctx, time.Until(end))
		switch {
		case err != nil:
			return err
		case n == nil:
			return errDeaf
		case n.Channel == w.echo:
			if w.ready != nil {
				w.ready()
				w.ready = nil
			}
			return nil
		}
		if err := w.take(ctx, n.Channel, n.Payload); err != nil {
			return err
		}
	}
}

// notification is what was told on a channel.
type notification struct{ Channel, Payload string }

// next waits for what is told; nil: nothing was for so long.
func (w *watch) next(ctx context.Context, long time.Duration) (*notification, error) {
	bounded, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	n, err := w.conn.WaitForNotification(bounded)
	switch {
	case err == nil:
		return &notification{n.Channel, n.Payload}, nil
	case ctx.Err() == nil && bounded.Err() != nil && !w.conn.IsClosed():
		return nil, nil //nolint:nilnil // nothing is no error
	}
	return nil, err
}

// take tells of a page. One that did not fit in the notice is read.
func (w *watch) take(ctx context.Context, channel, payload string) error {
	if channel == w.echo {
		return nil
	}
	p, whole, err := heard(payload)
	if err != nil {
		return nil //nolint:nilerr // what others tell there is nothing to us
	}
	if whole {
		w.tell(p)
		return nil
	}
	pages, err := w.store.one(ctx, p)
	if err != nil {
		return err
	}
	for _, p := range pages {
		w.tell(p)
	}
	return nil
}

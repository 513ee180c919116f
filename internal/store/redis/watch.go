package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/rueidis"

	"evergate/internal/replica"
	"evergate/internal/store"
)

// Watch hears on a connection of its own. It ends with an error as soon as that breaks, also if a new one could be had at once: what was told
// between the two is only found by reading. In a Cluster it may hear what was put a moment before.
func (s *Store) Watch(ctx context.Context, ready func(), heard func(replica.Page)) error {
	if ctx.Err() != nil {
		return nil
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.ctx, stop)()
	err := s.listen(listening, ready, heard)
	switch {
	case s.ctx.Err() != nil:
		return fmt.Errorf("watch: %w", errClosed)
	case ctx.Err() != nil:
		return nil
	}
	return fmt.Errorf("watch: %w", store.Hide(err, s.address.hidden...))
}

// listen subscribes and tells of pages until ctx ends or the connection does.
func (s *Store) listen(ctx context.Context, ready func(), heard func(replica.Page)) error {
	client, err := s.another(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if !s.start(client.Close) { // it waits for the server, up to a second
			client.Close()
		}
	}()
	var once sync.Once
	hooked := rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) { once.Do(ready) })
	err = client.Receive(hooked, client.B().Subscribe().Channel(s.names.channel()).Build(), func(m rueidis.PubSubMessage) {
		if p, err := message(m.Message); err == nil { // what others publish there is nothing to us
			heard(p)
		}
	})
	if err == nil {
		err = errors.New("the server ended the subscription")
	}
	return err
}

// another gives a client for one watch.
func (s *Store) another(ctx context.Context) (rueidis.Client, error) {
	type result struct {
		client rueidis.Client
		err    error
	}
	got := make(chan result) // without a buffer: a client that nobody takes is closed by who made it
	if !s.start(func() {
		client, err := rueidis.NewClient(s.options(watchEvery, watchBound))
		select {
		case got <- result{client, err}:
		case <-ctx.Done():
			if err == nil {
				client.Close()
			}
		}
	}) {
		return nil, errClosed
	}
	select {
	case r := <-got:
		return r.client, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// message reads what the script tells of a page.
func message(m string) (replica.Page, error) {
	topic, rest, ok := cut(m)
	if !ok {
		return replica.Page{}, errMalformed
	}
	instance, key, value, ok := cut2(rest)
	if !ok {
		return replica.Page{}, errMalformed
	}
	return whole(replica.Topic(topic), instance, key, value)
}

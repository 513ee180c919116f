package redis

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"evergate/internal/replica"
)

// Beat takes one round trip.
func (s *Store) Beat(ctx context.Context, self replica.Member) (time.Time, error) {
	keys, args := s.alive(self)
	return call(ctx, s, "beat", func(ctx context.Context, c rueidis.Client) (time.Time, error) {
		at, err := s.scripts.beat.Exec(ctx, c, keys, args).ToString()
		if err != nil {
			return time.Time{}, err
		}
		return moment(at)
	})
}

// alive gives the script's keys, which are all that live on, and what it says of them.
func (s *Store) alive(self replica.Member) (keys, args []string) {
	left := "0"
	if self.Left {
		left = "1"
	}
	keys = []string{s.names.members(), s.names.of(self.ID)}
	args = []string{self.ID, pack(self.Version, strconv.FormatInt(self.Started.UnixMicro(), 10), left), millis(KeepFleet), millis(KeepFleet)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, topic := range slices.Sorted(maps.Keys(s.keeps)) {
		keep := millis(s.keeps[topic])
		keys = append(keys, s.names.pages(topic), s.names.at(topic))
		args = append(args, keep, keep)
	}
	return keys, args
}

// Members takes one round trip.
func (s *Store) Members(ctx context.Context) ([]replica.Member, error) {
	return call(ctx, s, "members", func(ctx context.Context, c rueidis.Client) ([]replica.Member, error) {
		all, err := c.Do(ctx, c.B().Hgetall().Key(s.names.members()).Build()).AsStrMap()
		if err != nil {
			return nil, err
		}
		members := make([]replica.Member, 0, len(all))
		for id, said := range all {
			if m, err := member(id, said); err == nil { // what no gateway wrote, or one that is newer by far, is passed over
				members = append(members, m)
			}
		}
		slices.SortFunc(members, func(a, b replica.Member) int { return a.Seen.Compare(b.Seen) })
		return members, nil
	})
}

func member(id, said string) (replica.Member, error) {
	if len(said) < timeDigits {
		return replica.Member{}, errMalformed
	}
	seen, err := moment(said[:timeDigits])
	if err != nil {
		return replica.Member{}, err
	}
	version, started, rest, ok1 := cut2(said[timeDigits:])
	left, _, ok2 := cut(rest) // what follows is a newer program's
	micros, err := strconv.ParseInt(started, 10, 64)
	if !ok1 || !ok2 || err != nil {
		return replica.Member{}, errMalformed
	}
	return replica.Member{ID: id, Version: version, Started: time.UnixMicro(micros).UTC(), Seen: seen, Left: left == "1"}, nil
}

// Drop forgets an instance; it takes two round trips for every 500 pages.
func (s *Store) Drop(ctx context.Context, instance string) error {
	if instance == "" {
		return errors.New("drop: no instance is named")
	}
	_, err := call(ctx, s, "drop", func(ctx context.Context, c rueidis.Client) (bool, error) {
		of := s.names.of(instance)
		for {
			listed, err := c.Do(ctx, c.B().Srandmember().Key(of).Count(batchPages).Build()).AsStrSlice()
			if err != nil {
				return false, err
			}
			keys, args := []string{s.names.members(), of}, []string{instance}
			places := map[string]int{}
			for _, entry := range listed {
				topic, field, ok := cut(entry)
				if !ok {
					if err := c.Do(ctx, c.B().Srem().Key(of).Member(entry).Build()).Error(); err != nil {
						return false, err
					}
					continue
				}
				if places[topic] == 0 {
					places[topic] = len(keys) + 1 // Lua counts from 1
					keys = append(keys, s.names.pages(replica.Topic(topic)), s.names.at(replica.Topic(topic)))
				}
				args = append(args, strconv.Itoa(places[topic]), field, entry)
			}
			if err := s.scripts.drop.Exec(ctx, c, keys, args).Error(); err != nil || len(listed) < batchPages {
				return true, err
			}
		}
	})
	return err
}

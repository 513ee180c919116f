package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"evergate/internal/threads"
)

// readAnswers is how many bytes of a conversation are read at once at most: the server does nothing else meanwhile.
const readAnswers = 4 << 20

// answers are the kept answers. Safe for concurrent use.
type answers struct {
	store *Store
	room  threads.Room
}

// Answers gives the kept answers under the same keys: at most so many.
func (s *Store) Answers(room threads.Room) threads.Archive { return &answers{s, room} }

// key is that of one answer.
func (a *answers) key(owner, id string) string { return a.store.names.answersOf(owner) + pack(id) }

// Put takes one round trip as long as the answers have together less than a megabyte.
func (a *answers) Put(ctx context.Context, life time.Duration, put []threads.Record) error {
	for i := range put {
		if n := len(put[i].Body); n > threads.MaxRecord {
			return fmt.Errorf("put: an answer of %d bytes, the limit is %d", n, threads.MaxRecord)
		}
	}
	s := a.store
	for from := 0; ; {
		keys := []string{s.names.answers(), s.names.answerBytes()}
		args := []string{millis(life), strconv.FormatInt(a.room.Bytes, 10), strconv.Itoa(threads.RecordCost)}
		size := 0
		for ; from < len(put) && (size == 0 || size+len(put[from].Body) <= batchBytes) && len(keys) < batchPages; from++ {
			r := &put[from]
			keys = append(keys, a.key(r.Owner, r.ID))
			args = append(args, pack(r.Previous)+string(r.Body))
			size += len(r.Body) + 1
		}
		_, err := call(ctx, s, "put answers", func(ctx context.Context, c rueidis.Client) (int64, error) {
			return s.scripts.keep.Exec(ctx, c, keys, args).AsInt64()
		})
		if err != nil || from == len(put) {
			return err
		}
	}
}

// Get takes one round trip.
func (a *answers) Get(ctx context.Context, owner, id string, turns, size int) ([]threads.Record, error) {
	s := a.store
	args := []string{s.names.answersOf(owner), id, strconv.Itoa(turns), strconv.Itoa(min(size, readAnswers))}
	return call(ctx, s, "get answers", func(ctx context.Context, c rueidis.Client) ([]threads.Record, error) {
		said, err := s.scripts.chain.Exec(ctx, c, []string{a.key(owner, id)}, args).AsStrSlice()
		if err != nil {
			return nil, err
		}
		if len(said)%2 != 0 {
			return nil, errMalformed
		}
		var found []threads.Record
		for i := 0; i < len(said); i += 2 {
			previous, body, ok := cut(said[i+1])
			if !ok {
				return nil, errMalformed
			}
			found = append(found, threads.Record{Owner: owner, ID: said[i], Previous: previous, Body: []byte(body)})
		}
		return found, nil
	})
}

// Delete takes one round trip.
func (a *answers) Delete(ctx context.Context, owner, id string) error {
	s := a.store
	keys := []string{s.names.answers(), s.names.answerBytes(), a.key(owner, id)}
	_, err := call(ctx, s, "delete an answer", func(ctx context.Context, c rueidis.Client) (int64, error) {
		return s.scripts.forget.Exec(ctx, c, keys, []string{strconv.Itoa(threads.RecordCost)}).AsInt64()
	})
	return err
}

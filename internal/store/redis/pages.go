package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"evergate/internal/replica"
)

const (
	batchBytes = 1 << 20 // of bodies that one script puts
	batchPages = 500
	readPages  = 256 // that are read at once: a server does nothing else meanwhile
)

// Put lays down pages, those of one instance and topic in one step and one round trip as long as they have together less than a megabyte.
func (s *Store) Put(ctx context.Context, pages []replica.Page) error {
	for _, p := range pages {
		if len(p.Body) > replica.MaxBody {
			return fmt.Errorf("put: a page of %d bytes, the limit is %d", len(p.Body), replica.MaxBody)
		}
	}
	for _, batch := range batches(pages) {
		if err := s.putBatch(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// batches splits pages so that one script can put each part: in the order given, one instance and topic.
func batches(pages []replica.Page) [][]replica.Page {
	type of struct {
		instance string
		topic    replica.Topic
	}
	groups := map[of][]replica.Page{}
	var order []of
	for _, p := range pages {
		k := of{p.Instance, p.Topic}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
	}
	var out [][]replica.Page
	for _, k := range order {
		group, size, from := groups[k], 0, 0
		for i, p := range group {
			if i > from && (size+len(p.Body) > batchBytes || i-from == batchPages) {
				out = append(out, group[from:i])
				size, from = 0, i
			}
			size += len(p.Body)
		}
		out = append(out, group[from:])
	}
	return out
}

func (s *Store) putBatch(ctx context.Context, batch []replica.Page) error {
	topic, instance := batch[0].Topic, batch[0].Instance
	keep := s.known(topic, instance == "")
	keys := []string{s.names.pages(topic), s.names.at(topic)}
	if instance != "" {
		keys = append(keys, s.names.of(instance))
	}
	args := make([]string, 0, 3+4*len(batch))
	args = append(args, s.names.channel(), millis(keep), pack(string(topic)))
	for _, p := range batch {
		quiet := "0"
		if p.Quiet {
			quiet = "1"
		}
		args = append(args, pack(p.Instance, p.Key), digits(p.Sequence), string(p.Body), quiet)
	}
	_, err := call(ctx, s, "put", func(ctx context.Context, c rueidis.Client) (int64, error) {
		return s.scripts.put.Exec(ctx, c, keys, args).AsInt64()
	})
	return err
}

// known notes a topic, so that beats have it live on, and says how long its keys are kept.
func (s *Store) known(topic replica.Topic, fleets bool) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := max(s.keeps[topic], Keep)
	if fleets {
		keep = KeepFleet
	}
	s.keeps[topic] = keep
	return keep
}

// Read takes one round trip, and one more for every 256 pages after the first.
func (s *Store) Read(ctx context.Context, topic replica.Topic, since time.Time, limit int) ([]replica.Page, error) {
	if limit <= 0 {
		limit = -1
	}
	s.known(topic, false)
	keys := []string{s.names.pages(topic), s.names.at(topic)}
	args := []string{score(since), strconv.Itoa(limit), strconv.Itoa(readPages)}
	pages, err := call(ctx, s, "read", func(ctx context.Context, c rueidis.Client) ([]replica.Page, error) {
		fields, values, err := pairs(s.scripts.read.Exec(ctx, c, keys, args))
		if err != nil {
			return nil, err
		}
		pages := make([]replica.Page, 0, len(fields))
		for {
			for i, v := range values {
				raw, err := v.ToString()
				if rueidis.IsRedisNil(err) {
					continue // dropped meanwhile
				}
				if err != nil {
					return nil, err
				}
				if p, err := page(topic, fields[i], raw); err == nil { // as with members
					pages = append(pages, p)
				}
			}
			fields = fields[len(values):]
			if len(fields) == 0 {
				return pages, nil
			}
			next := fields[:min(len(fields), readPages)]
			if values, err = c.Do(ctx, c.B().Hmget().Key(keys[0]).Field(next...).Build()).ToArray(); err != nil {
				return nil, err
			}
			if len(values) != len(next) {
				return nil, errMalformed
			}
		}
	})
	if err != nil {
		return nil, err
	}
	// Pages that were put again between two round trips are later than their places say.
	slices.SortStableFunc(pages, func(a, b replica.Page) int { return b.At.Compare(a.At) })
	if slices.ContainsFunc(pages, func(p replica.Page) bool { return p.Instance == "" }) {
		s.known(topic, true)
	}
	return pages, nil
}

// pairs reads the script's reply.
func pairs(r rueidis.RedisResult) (fields []string, values []rueidis.RedisMessage, err error) {
	reply, err := r.ToArray()
	if err != nil {
		return nil, nil, err
	}
	if len(reply) != 2 {
		return nil, nil, errMalformed
	}
	if fields, err = reply[0].AsStrSlice(); err != nil {
		return nil, nil, err
	}
	if values, err = reply[1].ToArray(); err != nil {
		return nil, nil, err
	}
	if len(values) > len(fields) || len(values) == 0 && len(fields) > 0 {
		return nil, nil, errMalformed
	}
	return fields, values, nil
}

// page reads what the hash has at a field.
func page(topic replica.Topic, field, value string) (replica.Page, error) {
	instance, key, rest, ok := cut2(field)
	if !ok || rest != "" {
		return replica.Page{}, errMalformed
	}
	return whole(topic, instance, key, value)
}

func whole(topic replica.Topic, instance, key, value string) (replica.Page, error) {
	const head = sequenceDigits + timeDigits
	if len(value) < head || len(value) > head+replica.MaxBody {
		return replica.Page{}, errMalformed
	}
	sequence, err := strconv.ParseUint(value[:sequenceDigits], 10, 64)
	if err != nil {
		return replica.Page{}, errMalformed
	}
	at, err := moment(value[sequenceDigits:head])
	if err != nil {
		return replica.Page{}, err
	}
	return replica.Page{Instance: instance, Topic: topic, Key: key, Sequence: sequence, At: at, Body: []byte(value[head:])}, nil
}

// score is the first µs that is not before t.
func score(t time.Time) string {
	micros := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		micros++
	}
	return strconv.FormatInt(max(micros, 0), 10)
}

func millis(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

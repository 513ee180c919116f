package threads

import (
	"context"
	"encoding/binary"
	"errors"
	"time"
)

// Archive is what a store is to kept answers: a place that outlives this process and that other instances find them in. Its methods do
// I/O, end with their context, and are safe for concurrent use. What every archive owes is held by storetest.
type Archive interface {
	// Put lays down answers, each in the place of one with the same owner and id, for life from now by the store's clock. It may forget the oldest,
	// whoever's they are, where there would be more than the archive's room. Put of none takes away what has ended.
	Put(ctx context.Context, life time.Duration, answers []Record) error
	// Get gives an owner's answer and, after it, those that it continues, one after the other as far as they are kept: at most turns of them
	// (at least one), and no more once they have together more than size bytes. Nothing where the first is not kept.
	Get(ctx context.Context, owner, id string, turns, size int) ([]Record, error)
	// Delete forgets an answer; one that is not there is nothing.
	Delete(ctx context.Context, owner, id string) error
}

// Record is an answer as archives keep it.
type Record struct {
	Owner, ID string
	Previous  string // the answer that this one continues; empty: none
	Body      []byte // at most MaxRecord bytes
}

// MaxRecord is how long a record's body may be, in bytes.
const MaxRecord = 4 << 20

// Room is how much an archive keeps: so many bytes of bodies, with RecordCost for each answer beside.
type Room struct{ Bytes int64 }

// RecordCost is what an answer takes beside its body, about.
const RecordCost = 256

// Size is what a record takes of an archive's room.
func (r *Record) Size() int64 { return int64(len(r.Body)) + RecordCost }

const recordVersion = 1

// record is an answer as archives keep it: a version, then each part with its length before it.
func record(owner string, a *Answer) Record {
	body := make([]byte, 0, 1+5*binary.MaxVarintLen32+len(a.Provider)+len(a.Model)+len(a.Input)+len(a.Output)+len(a.Body))
	body = append(body, recordVersion)
	for _, part := range [...][]byte{[]byte(a.Provider), []byte(a.Model), a.Input, a.Output, a.Body} {
		body = binary.AppendUvarint(body, uint64(len(part)))
		body = append(body, part...)
	}
	return Record{Owner: owner, ID: a.ID, Previous: a.Previous, Body: body}
}

var errRecord = errors.New("an archived answer that this program does not know")

// answer reads what record wrote.
func (r *Record) answer() (*Answer, error) {
	if len(r.Body) == 0 || r.Body[0] != recordVersion {
		return nil, errRecord
	}
	rest := r.Body[1:]
	var parts [5][]byte
	for i := range parts {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) { //nolint:gosec // not negative
			return nil, errRecord
		}
		rest = rest[size:]
		parts[i], rest = rest[:n:n], rest[n:]
	}
	return &Answer{
		ID: r.ID, Previous: r.Previous, Provider: string(parts[0]), Model: string(parts[1]), Input: parts[2], Output: parts[3], Body: parts[4],
	}, nil
}

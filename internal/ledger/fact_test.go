package ledger

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"evergate/internal/journal"
)

// kept has the bytes of the rows that it was given, as a store keeps them.
type kept struct {
	Store

	given []Request
	bytes [][]byte
}

func (k *kept) Write(_ context.Context, b Batch) error {
	all, err := b.All()
	for _, row := range slices.Backward(all) {
		k.given = append(k.given, row)
		k.bytes = append(k.bytes, AppendRequest(nil, &row))
	}
	return err
}

// A row that the writer has read keeps its bytes: what a store makes of them is what it makes of the row, with its account and its body.
func TestWrittenRowsReadTheSame(t *testing.T) {
	t.Parallel()
	store := &kept{}
	w := NewWriter(Options{Store: func() Store { return store }, Instance: "a1", Redact: func(b []byte) []byte { return b }})
	w.Start()
	whole := wholeRow().Request
	whole.Candidates = (*targets)(&[]journal.Candidate{{Provider: "openai", Model: "gpt-4o-mini"}})
	failed := *benchFact()
	failed.Status, failed.Code = 503, "all_providers_failed"
	with := *benchFact()
	with.Bodies = &journal.Bodies{Limit: 100, Request: journal.Copy{Text: []byte("asked"), Size: 5}}
	for _, f := range []*journal.Request{&whole, &failed, &with, benchFact()} {
		w.RequestEnded(f)
	}
	if err := w.Flush(t.Context()); err != nil { // the next ones have the room of these, and nothing of theirs
		t.Fatal(err)
	}
	nobody := *benchFact()
	nobody.Trail = nil
	w.RequestEnded(&nobody)
	w.RequestEnded(benchFact())
	w.MirrorEnded(&journal.Mirror{RequestID: "req_1", Provider: "p", Model: "m", Credential: "default", Status: 200, Outcome: "ok"})
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(store.given) != 7 || len(store.given[5].Trail) != 0 || store.given[2].Body == nil || !store.given[1].Account.Failed {
		t.Fatalf("%+v", store.given)
	}
	for i := range store.given {
		row := store.given[i]
		got, err := DecodeRequest(store.bytes[i])
		if err != nil {
			t.Fatalf("%s: %v", row.ID, err)
		}
		row.fact = ""
		if len(row.Trail) == 0 {
			row.Trail = nil
		}
		if again := AppendRequest(nil, &row); !reflect.DeepEqual(*got, row) || string(again) != string(store.bytes[i]) {
			t.Errorf("%s reads as\n%+v, it is\n%+v", row.ID, *got, row)
		}
	}
}

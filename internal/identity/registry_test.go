package identity

import (
	"context"
	"testing"
	"time"
)

// rival is a place where somebody else of the same name makes a change in the same moment, once.
type rival struct{ was bool }

func (p *rival) Refresh(context.Context) error                         { return nil }
func (p *rival) Reserve(context.Context, string) (func(), bool, error) { return func() {}, true, nil }

func (p *rival) Keep(_ context.Context, r Record) (Record, error) {
	if !p.was && r.Version == 2 {
		p.was = true
		theirs := r
		theirs.Principal = Principal{ID: r.ID, Name: r.Name, Models: []string{"fast"}}
		return theirs, nil
	}
	return r, nil
}

// Of two changes that are made of one record in the same moment both hold: who comes second makes its own anew.
func TestTwoChangesInOneMoment(t *testing.T) {
	t.Parallel()
	b := NewBook()
	reg := NewRegistry(b, &rival{}, func() time.Time { return start })
	r, _, err := reg.Create(t.Context(), Principal{Name: "night"}, "ada")
	if err != nil {
		t.Fatal(err)
	}
	r, err = reg.Change(t.Context(), r.ID, func(now Principal) (Principal, error) { now.Owner = "eve"; return now, nil }, "ada", "")
	if err != nil || r.Owner != "eve" || len(r.Models) != 1 || r.Version != 3 {
		t.Errorf("%v: owner %q, models %v, version %d", err, r.Owner, r.Models, r.Version)
	}
	if who := b.Named("night"); who.Owner != "eve" || !who.Picky() {
		t.Errorf("requests see %+v", who)
	}
}

package ledger

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/journal"
)

func drawBundle(r *rapid.T) Bundle {
	b := Bundle{}
	for range rapid.IntRange(0, 12).Draw(r, "groups") {
		word := func(label string) string { return rapid.SampledFrom([]string{"", "a", "b", "ä\x00"}).Draw(r, label) }
		var s Sums
		for _, n := range s.Numbers() {
			*n = rapid.SampledFrom([]int64{0, 0, 1, 127, 128, 1 << 40, math.MaxInt64 - 1, math.MaxInt64}).Draw(r, "number")
		}
		b.Add(Group{word("key"), word("route"), word("model"), word("provider")}, &s)
	}
	return b
}

// same says whether two bundles have the same numbers; groups of zeros are nothing.
func (b Bundle) same(o Bundle) bool {
	some := func(b Bundle) Bundle {
		out := maps.Clone(b)
		maps.DeleteFunc(out, func(_ Group, s *Sums) bool { return *s == Sums{} })
		return out
	}
	return maps.EqualFunc(some(b), some(o), func(a, b *Sums) bool { return *a == *b })
}

// Bundles that are packed and added up are what they are added up without that.
func TestPackedBundlesAdd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		one, other := drawBundle(r), drawBundle(r)
		got := Bundle{}
		for _, b := range []Bundle{one, other} {
			if err := got.AddPacked(b.Append(nil)); err != nil {
				r.Fatal(err)
			}
		}
		want := Bundle{}
		for _, b := range []Bundle{one, other} {
			for g, s := range b {
				want.Add(g, s)
			}
		}
		if !got.same(want) {
			r.Fatalf("got %v, want %v", got, want)
		}
	})
}

// A query of packed bundles has the answer of one that is not packed.
func TestPackedBundlesAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		yes := func(label string) bool { return rapid.Bool().Draw(r, label) }
		want := func(label string) string { return rapid.SampledFrom([]string{"", "", "a", "nobody"}).Draw(r, label) }
		q := UsageQuery{
			ByKey: yes("by key"), ByRoute: yes("by route"), ByModel: yes("by model"), ByProvider: yes("by provider"), Step: rapid.SampledFrom([]Step{Whole, Minute, Hour}).Draw(r, "step"),
			Key: want("key"), Route: want("route"), Model: want("model"), Provider: want("provider"),
		}
		var plain, packed Totals
		for i := range rapid.IntRange(1, 4).Draw(r, "buckets") {
			b, at := drawBundle(r), time.Unix(int64(i)*1800, 0)
			for g, s := range b {
				if *s != (Sums{}) {
					plain.Answer(&q, q.Step.Of(at), g, s)
				}
			}
			if err := packed.AnswerPacked(&q, at, b.Append(nil)); err != nil {
				r.Fatal(err)
			}
		}
		if got, want := packed.Rows(), plain.Rows(); !slices.Equal(got, want) {
			r.Fatalf("got %v, want %v", got, want)
		}
	})
}

// A number that this program does not know is left out, and hides no other.
func TestPackedBundleOfANewerProgram(t *testing.T) {
	t.Parallel()
	b := []byte{bundleVersion, 1, 1, 'k', 1, 0, 0, 0, 0x81, 0x80, 0x80, 0x80, 0x80, 0x10, 7, 9, 1, 0, 0, 0, 1, 5} // numbers 0 and 39, and 0 once more
	got := Bundle{}
	if err := got.AddPacked(b); err != nil {
		t.Fatal(err)
	}
	if want := (Bundle{{Key: "k"}: {Requests: 12}}); !got.same(want) {
		t.Errorf("got %v", got)
	}
}

// FuzzBundle reads what is no bundle without harm, and one that it reads it writes the same again.
func FuzzBundle(f *testing.F) {
	f.Add(Bundle{{Key: "a", Provider: "p"}: {Requests: 3, Input: 700}, {Route: "r"}: {Attempts: 1}}.Append(nil))
	f.Add([]byte{bundleVersion, 1, 1, 'k', 1, 0, 0, 0, 0x81, 0x80, 0x80, 0x80, 0x80, 0x10, 7, 9})
	f.Add([]byte{bundleVersion, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		got := Bundle{}
		if got.AddPacked(b) != nil {
			return
		}
		again := Bundle{}
		if err := again.AddPacked(got.Append(nil)); err != nil || !again.same(got) {
			t.Fatalf("%v, then %v: %v", got, again, err)
		}
		var totals Totals
		if err := totals.AnswerPacked(&UsageQuery{ByKey: true}, time.Unix(0, 0), b); err != nil {
			t.Fatal(err)
		}
	})
}

// A bundle folds rows as Fold gives them, whatever an upstream said of its tokens, and whoever was asked.
func TestBundlesFoldAsFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		got, want := Bundle{}, Bundle{}
		for range rapid.IntRange(1, 5).Draw(r, "rows") {
			row := drawRow(r)
			got.Fold(row)
			Fold(row, want.Add)
		}
		if !got.same(want) {
			r.Fatalf("got %v, want %v", got, want)
		}
	})
}

func drawRow(r *rapid.T) *Request {
	word := func(label string) string { return rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, label) }
	number := func(label string) int64 {
		return rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 500, 1 << 40, math.MaxInt64 - 1, math.MaxInt64}).Draw(r, label)
	}
	row := &Request{Kind: rapid.SampledFrom([]string{KindRequest, KindMirror}).Draw(r, "kind")}
	row.Key, row.Route, row.Provider, row.Model = word("key"), word("route"), word("provider"), word("model")
	row.Duration, row.FirstContent, row.Overhead = time.Duration(number("duration")), time.Duration(number("first")), time.Duration(number("overhead"))
	for range rapid.IntRange(0, 4).Draw(r, "steps") {
		s := journal.Step{Provider: word("of"), Model: word("of model"), Skipped: rapid.Bool().Draw(r, "skipped"), Estimated: rapid.Bool().Draw(r, "estimated")}
		s.Label = s.Model
		s.Usage = journal.Usage{Known: rapid.Bool().Draw(r, "known"), Input: number("input"), Output: number("output")}
		s.Cost = journal.Cost{Known: rapid.Bool().Draw(r, "priced"), Nano: number("nano")}
		row.Trail = append(row.Trail, s)
	}
	row.Account = AccountOf(&row.Request)
	return row
}

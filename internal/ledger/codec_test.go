package ledger

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/journal"
)

func wholeRow() *Request {
	f := *benchFact()
	f.Start = f.Start.Truncate(time.Microsecond).UTC()
	f.Trail[0].Start, f.Trail[0].Until = f.Start, f.Start.Add(time.Hour)
	f.Trail[0].Span, f.Trail[0].Drill, f.Drill = [8]byte{1}, "d1", "d1"
	f.Lost, f.Trace = []string{"seed"}, journal.Trace{ID: [16]byte{1}, Span: [8]byte{2}, Parent: [8]byte{3}}
	return &Request{
		Row: NewNumbers("a1").Row(f.Start.Add(f.Duration)), Instance: "a1", Kind: KindRequest, Request: f, Targets: []journal.Candidate{{Provider: "openai", Model: "gpt-4o-mini"}},
		Account: Account{OK: true, AddedTime: time.Second, AddedCost: journal.Cost{Nano: 5, Known: true}}, Body: &Body{"a", "b", false, true},
	}
}

// Every field of a row that is kept comes back: a fact that gets a new field fails here until the form has it, or says why not.
func TestRequestKeepsEveryField(t *testing.T) {
	t.Parallel()
	notKept := map[string]string{"Candidates": "they are Targets", "Bodies": "they are Body", "Certificate": "it is for the log"}
	var row Request
	row.Row, row.Instance, row.Kind = NewNumbers("a1").Row(time.UnixMicro(1_700_000_000_000_000)), "a1", KindRequest
	fillIn(reflect.ValueOf(&row.Request).Elem(), "")
	row.Request.Candidates, row.Request.Bodies, row.Request.Certificate = nil, nil, ""
	row.Request.Drill = row.Trail[0].Drill
	row.Request.Trace.State = "" // goes to the upstream alone
	fillIn(reflect.ValueOf(&row.Targets).Elem(), "")
	row.Cut = 7
	fillIn(reflect.ValueOf(&row.Account).Elem(), "")
	fillIn(reflect.ValueOf(&row.Body).Elem(), "")
	got, err := DecodeRequest(AppendRequest(nil, &row))
	if err != nil {
		t.Fatal(err)
	}
	a, b := reflect.ValueOf(got.Request), reflect.ValueOf(row.Request)
	for i := range a.NumField() {
		if name := a.Type().Field(i).Name; notKept[name] == "" && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, a.Field(i), b.Field(i))
		}
	}
	if !reflect.DeepEqual(*got, row) {
		t.Errorf("got  %+v\nwant %+v", *got, row)
	}
	var e Entry
	fillIn(reflect.ValueOf(&e).Elem(), "")
	e.Row = NewNumbers("a1").Row(e.At)
	back, err := DecodeEntry(AppendEntry(nil, &e))
	if err != nil || !reflect.DeepEqual(*back, e) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, back, e)
	}
}

// fillIn gives every field a value that is not zero, and each text another one.
func fillIn(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text of " + name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7_000_000)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillIn(v.Index(0), name)
	case reflect.Array:
		for i := range v.Len() {
			fillIn(v.Index(i), name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(v.Elem(), name)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMicro(1_700_000_000_123_456).UTC()))
			return
		}
		for i := range v.NumField() {
			fillIn(v.Field(i), name+"."+v.Type().Field(i).Name)
		}
	default: // an interface: nobody can
	}
}

// What is long is cut, and nothing of an attempt is lost.
func TestRequestIsBounded(t *testing.T) {
	t.Parallel()
	row := wholeRow()
	row.Body = nil
	row.Model, row.Asked = strings.Repeat("m", 5000), strings.Repeat("ä", 5000)
	step := row.Trail[0]
	step.Message = strings.Repeat("ö", 5000)
	skip := journal.Step{Provider: "p", Skipped: true, Reason: "circuit_open"}
	row.Trail = nil
	for range 500 {
		row.Trail = append(row.Trail, skip)
	}
	for range 100 {
		row.Trail = append(row.Trail, step)
	}
	for i := range 500 {
		row.Targets = append(row.Targets, journal.Candidate{Provider: fmt.Sprint(i)})
		row.Lost = append(row.Lost, "field")
	}
	b := AppendRequest(nil, row)
	got, err := DecodeRequest(b)
	if err != nil {
		t.Fatal(err)
	}
	if got.Cut != 500-maxSteps+len(row.Targets)-maxTargets {
		t.Errorf("%d steps and targets are left out, it says", got.Cut)
	}
	if got.Attempts() != 100 || len(got.Trail) != maxSteps+100 || len(got.Targets) != maxTargets || len(got.Lost) != maxLost {
		t.Errorf("%d attempts of %d steps, %d targets", got.Attempts(), len(got.Trail), len(got.Targets))
	}
	if m := got.Trail[maxSteps].Message; len(m) != maxMessage || !strings.HasPrefix(step.Message, m) || len(got.Model) != maxName {
		t.Errorf("%d bytes of message, %d of model", len(m), len(got.Model))
	}
}

func TestUsualRowIsSmall(t *testing.T) {
	t.Parallel()
	row := wholeRow()
	row.Trail[0].Span, row.Trail[0].Drill, row.Lost, row.Body, row.Trace = [8]byte{}, "", nil, nil, journal.Trace{}
	if n := len(AppendRequest(nil, row)); n > 300 {
		t.Errorf("%d bytes", n)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(AppendRequest(nil, wholeRow()))
	f.Add(AppendEntry(nil, &Entry{Row: NewNumbers("a1").Row(time.Now()), Kind: EntryGuard, Provider: "groq"}))
	f.Add([]byte{codecVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := DecodeRequest(b); err == nil { // what is read is written the same
			once := AppendRequest(nil, r)
			again, err := DecodeRequest(once)
			if err != nil || !bytes.Equal(AppendRequest(nil, again), once) {
				t.Fatalf("%v: %+v", err, r)
			}
		}
		if e, err := DecodeEntry(b); err == nil {
			if _, err := DecodeEntry(AppendEntry(nil, e)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Rows sort by their time, and no two are the same.
func TestRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		at := func(label string) time.Time { return time.UnixMicro(rapid.Int64Range(0, 1<<55).Draw(r, label)).UTC() }
		n := NewNumbers(rapid.String().Draw(r, "instance"))
		a, b := at("a"), at("b")
		x, y := n.Row(a), n.Row(b)
		if got, ok := x.At(); !ok || !got.Equal(a) {
			r.Fatalf("%v, want %v", got, a)
		}
		if x == y || a.Before(b) != (x < y) && !a.Equal(b) {
			r.Fatalf("%s and %s", x, y)
		}
		if from := RowsFrom(a); from > x || a.Before(b) && from >= RowsFrom(b) {
			r.Fatalf("%s is after %s", from, x)
		}
	})
	for _, no := range []Row{"", "x", Row(strings.Repeat("g", 32)), Row(strings.Repeat("A", 32)), Row(strings.Repeat("0", 31))} {
		if _, ok := no.At(); ok {
			t.Errorf("%q is a row", no)
		}
	}
}

// Every wanted row has the words of the query.
func TestWordsHoldWhatMatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		word := func(label string) string { return rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, label) }
		row := Request{Row: NewNumbers("a1").Row(time.UnixMicro(1)), Kind: rapid.SampledFrom([]string{KindRequest, KindMirror}).Draw(r, "kind")}
		row.Key, row.Route, row.Code, row.Provider, row.Model, row.ID = word("k"), word("r"), word("c"), word("p"), word("m"), word("i")
		row.Status = rapid.SampledFrom([]int{200, 404, 429, 503}).Draw(r, "status")
		row.Account = Account{Failed: rapid.Bool().Draw(r, "failed"), Rescued: rapid.Bool().Draw(r, "rescued")}
		for range rapid.IntRange(0, 3).Draw(r, "steps") {
			row.Trail = append(row.Trail, journal.Step{Provider: word("sp"), Model: word("sm"), Skipped: rapid.Bool().Draw(r, "skip"), Drill: word("d")})
		}
		row.Drill = journal.DrillOf(row.Trail)
		q := RequestQuery{
			Key: word("qk"), Route: word("qr"), Code: word("qc"), Provider: word("qp"), Model: word("qm"), Drill: word("qd"), Failed: rapid.Bool().Draw(r, "qf"),
			Rescued: rapid.Bool().Draw(r, "qres"), Drilled: rapid.Bool().Draw(r, "qdr"), Status: rapid.SampledFrom([]int{0, 2, 4, 5, 200, 404, 429}).Draw(r, "qs"),
			Kind: rapid.SampledFrom([]string{"", AnyKind, KindMirror}).Draw(r, "qkind"),
		}
		has := map[string]bool{}
		for _, w := range row.Words() {
			has[w] = true
		}
		if !q.Matches(&row) {
			return
		}
		for _, w := range q.Words() {
			if !has[w] {
				r.Fatalf("a wanted row has no %q, only %q", w, row.Words())
			}
		}
	})
}

// The id of a row is read without the rest of it.
func TestIDOfARow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		word := func(label string) string {
			return rapid.SampledFrom([]string{"", "a", "request", strings.Repeat("long", 100)}).Draw(r, label)
		}
		row := Request{Row: NewNumbers("a1").Row(time.UnixMicro(1)), Instance: word("instance"), Kind: word("kind")}
		row.Start = time.UnixMicro(rapid.Int64().Draw(r, "start"))
		row.ID = rapid.StringN(0, 40, -1).Draw(r, "id")
		b := AppendRequest(nil, &row)
		if got := IDOf(b); string(got) != row.ID {
			r.Fatalf("got %q, want %q", got, row.ID)
		}
		IDOf(b[:rapid.IntRange(0, len(b)).Draw(r, "cut")])
	})
}

package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var all = []Column{
	{"text", Text, false},
	{"maybe_text", Text, true},
	{"int", Int, false},
	{"maybe_int", Int, true},
	{"bool", Bool, false},
	{"maybe_bool", Bool, true},
	{"at", Instant, false},
	{"maybe_at", Instant, true},
	{"usd", Nano, false},
	{"maybe_usd", Nano, true},
}

// row is one of all; nil is no value.
type row struct {
	text      string
	maybeText *string
	n         int64
	maybeN    *int64
	yes       bool
	maybeYes  *bool
	at        int64 // microseconds
	maybeAt   *int64
	usd       int64
	maybeUSD  *int64
}

func (r *row) write(w *Writer) error {
	w.Text(r.text)
	give(w, r.maybeText, w.Text)
	w.Int(r.n)
	give(w, r.maybeN, w.Int)
	w.Bool(r.yes)
	give(w, r.maybeYes, w.Bool)
	w.Instant(time.UnixMicro(r.at))
	give(w, r.maybeAt, func(n int64) { w.Instant(time.UnixMicro(n)) })
	w.Nano(r.usd)
	give(w, r.maybeUSD, w.Nano)
	return w.EndRow()
}

func give[V any](w *Writer, v *V, as func(V)) {
	if v == nil {
		w.None()
		return
	}
	as(*v)
}

// values is a column of a file as the writer's own places say, as text, read by the format's rules.
func (w *Writer) values(t *rapid.T, file []byte, column int) (out []string) {
	of := w.columns[column].Column
	for _, g := range w.groups {
		c := g.chunks[column]
		packed := file[c.at : c.at+c.packed]
		head := bytes.Index(packed, []byte{0x1f, 0x8b}) // gzip's
		z, err := gzip.NewReader(bytes.NewReader(packed[head:]))
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if int64(head+len(page)) != c.plain {
			t.Fatalf("%s: %d bytes, and it says %d", of.Name, head+len(page), c.plain)
		}
		present := make([]bool, 0, g.rows)
		if of.Optional {
			n := binary.LittleEndian.Uint32(page)
			levels := page[4 : 4+n]
			page = page[4+n:]
			for len(levels) > 0 {
				run, size := binary.Uvarint(levels)
				for range run >> 1 {
					present = append(present, levels[size] == 1)
				}
				levels = levels[size+1:]
			}
		} else {
			for range g.rows {
				present = append(present, true)
			}
		}
		if len(present) != g.rows {
			t.Fatalf("%s: %d levels of %d rows", of.Name, len(present), g.rows)
		}
		bit := 0
		for _, yes := range present {
			switch {
			case !yes:
				out = append(out, "none")
			case of.Kind == Text:
				n := binary.LittleEndian.Uint32(page)
				out = append(out, string(page[4:4+n]))
				page = page[4+n:]
			case of.Kind == Bool:
				out = append(out, fmt.Sprint(page[bit/8]>>(bit%8)&1 == 1))
				bit++
			default:
				out = append(out, fmt.Sprint(int64(binary.LittleEndian.Uint64(page))))
				page = page[8:]
			}
		}
	}
	return out
}

func shown[V any](v *V) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(*v)
}

func (r *row) shown() []string {
	return []string{r.text, shown(r.maybeText), fmt.Sprint(r.n), shown(r.maybeN), fmt.Sprint(r.yes), shown(r.maybeYes), fmt.Sprint(r.at), shown(r.maybeAt), fmt.Sprint(r.usd), shown(r.maybeUSD)}
}

func drawn(t *rapid.T) *row {
	micros := rapid.Int64Range(-1<<50, 1<<50)
	return &row{
		rapid.String().Draw(t, "text"), rapid.Ptr(rapid.String(), true).Draw(t, "maybe_text"),
		rapid.Int64().Draw(t, "int"), rapid.Ptr(rapid.Int64(), true).Draw(t, "maybe_int"),
		rapid.Bool().Draw(t, "bool"), rapid.Ptr(rapid.Bool(), true).Draw(t, "maybe_bool"),
		micros.Draw(t, "at"), rapid.Ptr(micros, true).Draw(t, "maybe_at"),
		rapid.Int64().Draw(t, "usd"), rapid.Ptr(rapid.Int64(), true).Draw(t, "maybe_usd"),
	}
}

// What is written is what is read, in every column, whatever the values.
func TestColumnsAreWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		w := NewWriter(&file, all)
		var want [][]string
		for range rapid.IntRange(0, 40).Draw(t, "rows") {
			r := drawn(t)
			if rapid.IntRange(0, 9).Draw(t, "end of a group") == 0 && w.rows > 0 {
				w.flush()
			}
			if err := r.write(w); err != nil {
				t.Fatal(err)
			}
			want = append(want, r.shown())
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b := file.Bytes()
		if n := len(b); string(b[:4]) != magic || string(b[n-4:]) != magic || int(binary.LittleEndian.Uint32(b[n-8:])) != len(w.footer()) {
			t.Fatal("its beginning or its end is not that of such a file")
		}
		for i := range all {
			got := w.values(t, b, i)
			if len(got) != len(want) {
				t.Fatalf("%s has %d values of %d rows", all[i].Name, len(got), len(want))
			}
			for j := range got {
				if got[j] != want[j][i] {
					t.Fatalf("%s of row %d is %q, not %q", all[i].Name, j, got[j], want[j][i])
				}
			}
		}
	})
}

// A group is written when it is full, so that no more than one is in memory.
func TestGroupsHaveBounds(t *testing.T) {
	t.Parallel()
	w := NewWriter(io.Discard, []Column{{"text", Text, false}})
	for range 2*groupRows + 1 {
		w.Text("x")
		if err := w.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.groups) != 2 || w.rows != 1 {
		t.Errorf("%d groups, and %d rows", len(w.groups), w.rows)
	}
	long := strings.Repeat("x", groupBytes/2)
	for range 2 {
		w.Text(long)
		_ = w.EndRow()
	}
	if len(w.groups) != 3 || w.bytes != 0 {
		t.Errorf("%d groups, and %d bytes", len(w.groups), w.bytes)
	}
}

// failing is a writer that takes so many bytes.
type failing int

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	n := min(int(*f), len(p))
	if *f -= failing(n); n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	columns := []Column{{"a", Text, false}, {"b", Int, true}}
	for name, write := range map[string]func(w *Writer){
		"another kind":         func(w *Writer) { w.Int(1); w.Int(1) },
		"too few":              func(w *Writer) { w.Text("x") },
		"too many":             func(w *Writer) { w.Text("x"); w.Int(1); w.Int(1) },
		"none where one must":  func(w *Writer) { w.None(); w.Int(1) },
		"none after the last":  func(w *Writer) { w.Text("x"); w.Int(1); w.None() },
		"a truth for a number": func(w *Writer) { w.Text("x"); w.Bool(true) },
	} {
		w := NewWriter(io.Discard, columns)
		if write(w); w.EndRow() == nil || w.Close() == nil {
			t.Errorf("%s is no error", name)
		}
	}
	for room := range 60 {
		f := failing(room)
		w := NewWriter(&f, columns)
		w.Text("x")
		w.None()
		_ = w.EndRow()
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
	}
}

// Other people's readers read it: duckdb and pyarrow, where Python has them (EVERGATE_PYTHON names another one than python3).
func TestOthersReadIt(t *testing.T) {
	t.Parallel()
	python := os.Getenv("EVERGATE_PYTHON")
	if python == "" {
		python = "python3"
	}
	name := filepath.Join(t.TempDir(), "table.parquet")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(f, all)
	text, n, yes, at, usd := "ü \"=1+1\"", int64(math.MinInt64), true, int64(1_769_860_800_123_456), int64(999_999_999_999_999_999)
	rows := []row{
		{"a", &text, 1, &n, true, &yes, at, &at, 1, &usd},
		{"", nil, math.MaxInt64, nil, false, nil, 0, nil, -usd, nil},
	}
	for i := range 2*groupRows + 2 { // three groups
		if err := rows[i%2].write(w); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	const want = `[20002, "a", "ü \"=1+1\"", 1, -9223372036854775808, true, true, "2026-01-31T12:00:00.123456", "2026-01-31T12:00:00.123456", "0.000000001", "999999999.999999999", "", null, 9223372036854775807, null, false, null, "1970-01-01T00:00:00", null, "-999999999.999999999", null]`
	var expected []any
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	for reader, script := range map[string]string{
		"duckdb": `
import duckdb
db = duckdb.connect(); db.execute("set timezone='UTC'")
n = db.execute("select count(*) from read_parquet(?)", [name]).fetchone()[0]
rows = db.execute("select * from read_parquet(?) limit 2", [name]).fetchall()`,
		"pyarrow": `
import pyarrow.parquet as pq
t = pq.read_table(name); n = t.num_rows
rows = [list(r.values()) for r in t.slice(0, 2).to_pylist()]`,
	} {
		if exec.CommandContext(t.Context(), python, "-c", "import "+reader).Run() != nil {
			t.Logf("%s has no %s", python, reader)
			continue
		}
		out, err := exec.CommandContext(t.Context(), python, "-c", `
import sys, json, datetime, decimal
name = sys.argv[1]`+script+`
def plain(v):
    if isinstance(v, datetime.datetime): return v.astimezone(datetime.timezone.utc).replace(tzinfo=None).isoformat()
    if isinstance(v, decimal.Decimal): return format(v, "f")
    return v
print(json.dumps([n] + [plain(v) for r in rows for v in r]))`, name).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %s", reader, out)
			continue
		}
		var got []any
		if err := json.Unmarshal(out, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(expected) {
			t.Errorf("%s reads\n%s and not\n%s", reader, out, want)
		}
	}
}

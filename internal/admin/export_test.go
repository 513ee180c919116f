package admin

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/journal"
	"evergate/internal/ledger"
	"evergate/internal/store/memory"
)

// said is what is known of keys in these tests.
func said(key string) KeyWords {
	return map[string]KeyWords{
		"ann": {Owner: "Ann", Team: "red", Labels: map[string]string{"env": "prod", "cost": ""}},
		"bob": {Owner: "Bob", Team: "red", Labels: map[string]string{"env": "dev"}},
		"gus": {Owner: "=HYPERLINK()", Team: "blue"},
	}[key]
}

// drawnRow is a row with attempts of all kinds: whole and cut streams, usage that was said, estimated or unknown, prices known and not.
func drawnRow(t *rapid.T, end time.Time) ledger.Request {
	word := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	n := func(label string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, label) }
	r := ledger.Request{
		Row: rows.Row(end), Instance: "i1", Kind: word("kind", "request", "request", "request", "mirror", "probe"),
		Request: journal.Request{
			ID: "r" + strconv.FormatInt(n("id", 1e6), 10), Start: end.Add(-time.Second), Dialect: "chat", Key: word("key", "", "ann", "bob", "gus", "gone"),
			Route: word("route", "smart", "other"), Asked: word("asked", "smart", "=1+1", "a,\"b\"\n", "Ä\u202e"), Status: 200, Duration: time.Second, Cache: word("cache", "", "hit", "miss"),
		},
	}
	for range n("steps", 4) {
		s := journal.Step{Provider: word("provider", "groq", "openai"), Model: word("model", "llama", "gpt"), Reason: word("reason", "ok", "cut"), Start: r.Start}
		if s.Skipped = rapid.Bool().Draw(t, "skipped"); !s.Skipped {
			s.Label, s.Estimated = word("label", s.Model, "other"), rapid.Bool().Draw(t, "estimated")
			if s.Usage.Known = s.Estimated || rapid.Bool().Draw(t, "known"); s.Usage.Known {
				s.Usage.Input, s.Usage.Output = n("input", 1e6)-5, n("output", 1e14) // an upstream may say anything
				s.Usage.CachedInput, s.Usage.CacheWrite, s.Usage.Reasoning, s.Usage.AudioInput = n("cached", 9), n("written", 9), n("reasoning", 9), n("audio", 9)
			}
			s.Cost = journal.Cost{Known: rapid.Bool().Draw(t, "priced")}
			if s.Cost.Known {
				s.Cost.Nano = n("nano", 1e12)
			}
			r.Provider, r.Model = s.Provider, s.Model
		}
		r.Trail = append(r.Trail, s)
	}
	return r
}

// amounts are what rows come to, by the names of the reply of usage; money in billionths.
type amounts map[string]*big.Int

func (a amounts) add(name, value string) {
	if value == "" || value == "null" {
		return
	}
	n, ok := new(big.Rat).SetString(value)
	if !ok {
		panic("no number: " + value)
	}
	if strings.HasSuffix(name, "cost_usd") {
		n.Mul(n, big.NewRat(1e9, 1))
	}
	if !n.IsInt() {
		panic("a part of a billionth: " + value)
	}
	if a[name] == nil {
		a[name] = new(big.Int)
	}
	a[name].Add(a[name], n.Num())
}

func (a amounts) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name].Sign() != 0 {
			all = append(all, name+"="+a[name].String())
		}
	}
	return strings.Join(all, " ")
}

// added are the names that are added up and compared.
var added = []string{"input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens", "estimated_tokens", "cost_usd"}

// get asks and gives the body of a 200.
func get(t interface {
	Fatalf(string, ...any)
	Helper()
}, h http.Handler, path string,
) []byte {
	t.Helper()
	w := ask(h, http.MethodGet, path)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// table reads an export as rows of text by column.
func table(t *rapid.T, format string, body []byte) (out []map[string]string) {
	if format == "csv" {
		lines, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
		if err != nil {
			t.Fatalf("%v", err)
		}
		for _, line := range lines[1:] {
			row := map[string]string{}
			for i, name := range lines[0] {
				row[name] = line[i]
			}
			out = append(out, row)
		}
		return out
	}
	var all []map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if format == "json" {
		if err := d.Decode(&all); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	}
	for format == "jsonl" && d.More() {
		var one map[string]any
		if err := d.Decode(&one); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		all = append(all, one)
	}
	for _, one := range all {
		row := map[string]string{}
		for name, v := range one {
			if row[name] = fmt.Sprint(v); v == nil {
				row[name] = ""
			}
		}
		out = append(out, row)
	}
	return out
}

// The rows of requests, those of attempts, the sums of each group and the total come to the same, to the token and to the billionth of a dollar,
// in every form, whatever was cut, estimated or unknown; and however the sums are grouped.
func TestExportsReconcile(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	from := now.Truncate(time.Minute).Add(-time.Hour)
	span := "from=" + from.Format(time.RFC3339)
	rapid.Check(t, func(t *rapid.T) {
		store := memory.NewLedger(time.Now)
		var batch ledger.Batch
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			batch.Requests = append(batch.Requests, drawnRow(t, now.Add(-time.Duration(rapid.Int64Range(1e6, int64(59*time.Minute)).Draw(t, "ago")))))
		}
		if err := store.Write(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
		s := sources()
		s.Ledger, s.Words = func() ledger.Store { return store }, said
		h := New(s, Options{})
		total := func(path string) (all, rows amounts) {
			var reply struct {
				Rows  []map[string]any
				Total map[string]any
			}
			d := json.NewDecoder(bytes.NewReader(get(t, h, path)))
			d.UseNumber()
			if err := d.Decode(&reply); err != nil {
				t.Fatal(err)
			}
			all, rows = amounts{}, amounts{}
			for _, name := range added {
				all.add(name, fmt.Sprint(reply.Total[name]))
				for _, row := range reply.Rows {
					rows.add(name, fmt.Sprint(row[name]))
				}
			}
			return all, rows
		}
		want, _ := total("/admin/v1/usage?" + span)
		for _, by := range []string{"key", "owner", "team", "label:env", "label:cost,label:env", "owner,route,model", "key,route,model,provider", "team&step=minute", "key&step=day", "label:none&prices=current"} {
			all, rows := total("/admin/v1/usage?" + span + "&group_by=" + by)
			if all.String() != want.String() || rows.String() != want.String() {
				t.Fatalf("by %s\n%s in all and\n%s in rows; without groups\n%s", by, all, rows, want)
			}
		}
		for _, kind := range []string{"requests", "attempts"} {
			format := rapid.SampledFrom([]string{"csv", "json", "jsonl"}).Draw(t, "format")
			got := amounts{}
			lines := table(t, format, get(t, h, "/admin/v1/usage/export?"+span+"&kind="+kind+"&format="+format))
			for i, row := range lines {
				for _, name := range added {
					got.add(name, row[name])
				}
				if i > 0 && row["row"] > lines[i-1]["row"] {
					t.Fatalf("the row %s comes after the older %s", row["row"], lines[i-1]["row"])
				}
			}
			if got.String() != want.String() {
				t.Fatalf("%s as %s come to\n%s and usage to\n%s", kind, format, got, want)
			}
		}
	})
}

// exportOf is an export of some rows.
func exportOf(t *testing.T, query string, of ...ledger.Request) *httptest.ResponseRecorder {
	t.Helper()
	store := memory.NewLedger(time.Now)
	if err := store.Write(t.Context(), ledger.Batch{Requests: of}); err != nil {
		t.Fatal(err)
	}
	s := sources()
	s.Ledger, s.Words = func() ledger.Store { return store }, said
	return ask(New(s, Options{}), http.MethodGet, "/admin/v1/usage/export?"+query)
}

// A cell never is a formula to a spreadsheet, nor ends its line early.
func TestExportIsNoFormula(t *testing.T) {
	t.Parallel()
	r := ended(time.Now().Add(-time.Minute), "req_1")
	r.Key = "gus" // whose owner is one
	for _, sign := range []string{"=", "+", "-", "@", "\t", "\r"} {
		r.Asked = sign + "cmd|' /C calc'!A0"
		for _, kind := range []string{"requests", "attempts"} {
			w := exportOf(t, "kind="+kind, r)
			lines, err := csv.NewReader(w.Body).ReadAll()
			if err != nil || len(lines) < 2 {
				t.Fatalf("%v, %d lines", err, len(lines))
			}
			for _, line := range lines {
				for i, cell := range line {
					if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r\n") {
						t.Errorf("%s: %s is %q", kind, lines[0][i], cell)
					}
				}
			}
		}
	}
}

// What an export has of a request and of its attempts.
func TestExportColumns(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	r := ended(at, "req_1")
	r.Key, r.Cache = "ann", "miss"
	last := &r.Trail[len(r.Trail)-1]
	last.Cost, last.Estimated = journal.Cost{}, true
	for kind, want := range map[string][]string{
		"requests": {`"at":"` + at.UTC().Format("2006-01-02T15:04:05.000000Z") + `","row":"` + string(r.Row) + `","request_id":"req_1","instance":"i1","kind":"request","key":"ann","owner":"Ann","team":"red",` +
			`"labels":"{\"cost\":\"\",\"env\":\"prod\"}","dialect":"chat","stream":true,"asked":"smart","route":"smart","provider":"openai","model":"gpt-4o","status":200,"code":"","finish":"stop","cache":"miss","attempts":2,` +
			`"ok":true,"failed":false,"rescued":true,"input_tokens":100,"output_tokens":20,"cached_input_tokens":10,"cache_write_tokens":0,"reasoning_tokens":0,"audio_input_tokens":0,"audio_output_tokens":0,` +
			`"estimated_tokens":120,"cost_usd":0,"unpriced_attempts":1,"duration_us":900000,"first_content_us":350500,"overhead_us":125}`},
		"attempts": {
			`"attempt":2,"provider":"openai","model":"gpt-4o","model_label":"gpt-4o","credential":"default","status":200,"outcome":"ok","why":"next_candidate","drill":"","input_tokens":100,"output_tokens":20,"cached_input_tokens":10,` +
				`"cache_write_tokens":0,"reasoning_tokens":0,"audio_input_tokens":0,"audio_output_tokens":0,"estimated_tokens":120,"estimated":true,"cost_usd":null,"start":`,
			`"attempt":1,"provider":"groq","model":"llama"`, `"first_content_us":null}`,
		},
	} {
		w := exportOf(t, "format=jsonl&kind="+kind, r)
		for _, part := range want {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s\n%s\nhas no\n%s", kind, w.Body, part)
			}
		}
		if name := w.Header().Get("Content-Disposition"); name != `attachment; filename="`+kind+`.jsonl"` {
			t.Error(name)
		}
	}
}

// paged is a store that gives a page of one row at a time, and fails at the page of that number.
type paged struct {
	ledger.Store
	fails, pages int
}

func (p *paged) Requests(ctx context.Context, q ledger.RequestQuery) (ledger.RequestPage, error) {
	if p.pages++; p.pages == p.fails {
		return ledger.RequestPage{}, errors.New("gone")
	}
	q.Limit = 1
	return p.Store.Requests(ctx, q)
}

// An export of many pages has each row once. One whose store fails half way breaks off, so that nobody takes it for whole; at its first page it says why there is
// none.
func TestExportInPages(t *testing.T) {
	t.Parallel()
	store := memory.NewLedger(time.Now)
	var batch ledger.Batch
	for i := range 5 {
		batch.Requests = append(batch.Requests, ended(time.Now().Add(-time.Minute), fmt.Sprint("req_", i)))
	}
	if err := store.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		fails  int
		status int
		broken bool
	}{{0, 200, false}, {1, 503, false}, {3, 200, true}} {
		s := sources()
		p := &paged{Store: store, fails: tt.fails}
		s.Ledger = func() ledger.Store { return p }
		h := New(s, Options{})
		for range 2 * maxExports { // its place is free again afterwards
			p.pages = 0
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/admin/v1/usage/export?format=jsonl", nil)
			r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
			broken := func() (broken bool) {
				defer func() { broken = recover() != nil }()
				h.ServeHTTP(w, r)
				return false
			}()
			if broken != tt.broken || w.Code != tt.status {
				t.Errorf("failing at page %d: %d, broken off: %t; %s", tt.fails, w.Code, broken, w.Body)
			}
			if n := strings.Count(w.Body.String(), "\n"); tt.fails == 0 && n != 5 {
				t.Errorf("%d rows", n)
			}
		}
	}
	p := &paged{Store: store}
	s := sources()
	s.Ledger = func() ledger.Store { return p }
	if w := ask(New(s, Options{}), http.MethodHead, "/admin/v1/usage/export"); w.Code != http.StatusOK || w.Body.Len() != 0 || p.pages != 1 {
		t.Errorf("HEAD: %d with %d bytes, for which %d pages were read", w.Code, w.Body.Len(), p.pages)
	}
	for path, param := range map[string]string{
		"kind=all": "kind", "format=xml": "format", "from=yesterday": "from", "from=1h&to=2h": "to", "model=x": "model",
	} {
		if w := exportOf(t, path); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"param":"`+param+`"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"group_by=label:", "group_by=label:a,label:a", "group_by=label:a,label:b,label:c,label:d,label:e", "group_by=ownr", "prices=old"} {
		if w := ask(New(sources(), Options{}), http.MethodGet, "/admin/v1/usage?"+path); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// What tokens would cost now stands beside what they cost, and what has no price now is counted.
func TestUsageAtCurrentPrices(t *testing.T) {
	t.Parallel()
	s := kept(t)
	s.Words = said
	s.Price = func(provider, model string, of PricedTokens) (int64, bool) {
		return 2*of.Input + 3*of.Output + of.CachedInput + of.CacheWrite, provider == "openai" && model == "gpt-4o"
	}
	h := New(s, Options{})
	var reply struct {
		Rows []struct {
			Provider string
			Cost     json.Number `json:"cost_usd"`
			Now      json.Number `json:"current_cost_usd"`
			None     *int64      `json:"current_unpriced_tokens"`
		}
		Total struct {
			Now json.Number `json:"current_cost_usd"`
		}
	}
	if err := json.Unmarshal(get(t, h, "/admin/v1/usage?prices=current&group_by=provider"), &reply); err != nil {
		t.Fatal(err)
	}
	for _, row := range reply.Rows {
		if row.Provider == "openai" && (row.Cost != "0.00125" || row.Now != "0.00000027" || *row.None != 0) {
			t.Errorf("%+v", row)
		}
	}
	if reply.Total.Now != "0.00000027" {
		t.Errorf("in all %s", reply.Total.Now)
	}
	s.Price = nil
	if body := string(get(t, New(s, Options{}), "/admin/v1/usage?prices=current&format=csv")); !strings.Contains(body, "current_cost_usd,current_unpriced_tokens\n") || !strings.Contains(body, ",0,120\n") {
		t.Error(body)
	}
	if body := string(get(t, h, "/admin/v1/usage?group_by=owner,label:env&format=csv")); !strings.HasPrefix(body, "owner,label:env,requests,") {
		t.Error(body)
	}
}

func BenchmarkExport(b *testing.B) {
	store := memory.NewLedger(time.Now)
	for range 20 {
		var batch ledger.Batch
		for range 500 {
			batch.Requests = append(batch.Requests, ended(time.Now().Add(-time.Minute), "req"))
		}
		if err := store.Write(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	s := sources()
	s.Ledger, s.Words = func() ledger.Store { return store }, said
	h := New(s, Options{})
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := len(get(b, h, "/admin/v1/usage/export?kind=attempts&format="+format))
				b.ReportMetric(float64(n)/20_000, "bytes/row")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20_000, "ns/row")
		})
	}
}

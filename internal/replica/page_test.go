package replica

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/health"
	"evergate/internal/resilience"
)

// here is a clock that is ten minutes ahead of the store's.
func here() clock {
	var c clock
	c.take(noon.Add(10*time.Minute), noon.Add(10*time.Minute), noon)
	return c
}

func someRows() []resilience.Row {
	now := noon.Add(10 * time.Minute)
	return []resilience.Row{
		{
			Guard: resilience.CircuitBreaker, Failures: 5, FailedAt: now.Add(-time.Second), Since: now.Add(-time.Second), Until: now.Add(29 * time.Second),
			Trip: "failures", Level: 2,
		},
		{Guard: resilience.CircuitBreaker, Model: "gpt-4o", Failures: 1, FailedAt: now.Add(-time.Minute), ProvedAt: now.Add(-time.Hour)},
		{
			Guard: resilience.CredentialCooldownGuard, Credential: "team", Secret: 0xdeadbeef, Since: now, Until: now.Add(time.Hour), Named: true,
			Reason: resilience.QuotaExhausted, Level: 1,
		},
		{Guard: resilience.ModelLockoutGuard, Model: "m", Since: now, Until: now.Add(time.Minute), Reason: resilience.ModelNotFound},
	}
}

// R63: rows are the same after the way through the store, by a clock that is wrong.
func TestRowsThereAndBack(t *testing.T) {
	t.Parallel()
	body := encodeRows(here(), "ab12", someRows())
	of, rows, ok := decodeRows(here(), noon.Add(10*time.Minute), body)
	if !ok || of != "ab12" {
		t.Fatalf("%q %t: %s", of, ok, body)
	}
	if d := cmp.Diff(someRows(), rows); d != "" {
		t.Error(d)
	}
	const golden = `{"v":1,"of":"ab12","b":1782903599999,"r":[` +
		`{"g":"b","f":5,"l":3599001,"s":3599001,"u":3629001,"w":"failures","e":2},` +
		`{"g":"b","m":"gpt-4o","f":1,"l":3540001,"p":1},` +
		`{"g":"c","c":"team","k":3735928559,"s":3600001,"u":7200001,"n":true,"w":"quota_exhausted","e":1},` +
		`{"g":"m","m":"m","s":3600001,"u":3660001,"w":"model_not_found"}]}`
	if string(body) != golden { // other versions of the program read it
		t.Errorf("the form has changed:\n%s", body)
	}
	if encodeRows(here(), "ab12", nil) != nil {
		t.Error("no rows are no body")
	}
}

// What others wrote is not trusted.
func TestPagesThatAreNotSane(t *testing.T) {
	t.Parallel()
	now := noon.Add(10 * time.Minute)
	for _, c := range []struct {
		name, body string
		ok         bool
		rows       int
	}{
		{"nothing left to say", ``, true, 0},
		{"from a base that is none", `{"v":1,"b":9223372036854775807,"r":[{"g":"c","c":"k","s":1,"u":9223372036854775807,"w":"rate_limited"}]}`, true, 0},
		{"before its base", `{"v":1,"b":1782907199000,"r":[{"g":"c","c":"k","s":-9223372036854775808,"u":10,"w":"rate_limited"}]}`, true, 0},
		{"no JSON", `{"v":1`, false, 0},
		{"of a later version", `{"v":2,"r":[{"g":"b","f":1,"l":1782907199000}]}`, false, 0},
		{"fields of a later program", `{"v":1,"of":"x","new":[1],"r":[{"g":"b","f":1,"l":1782907199000,"new":{}}]}`, true, 1},
		{"a guard of a later program", `{"v":1,"r":[{"g":"z","u":1782907199000},{"g":"b","f":1,"l":1782907199000}]}`, true, 1},
		{"a word that is none", `{"v":1,"r":[{"g":"c","c":"k","s":1782907199000,"u":1782907299000,"w":"because"}]}`, true, 0},
		{"an end in 50 years", `{"v":1,"r":[{"g":"c","c":"k","s":1782907199000,"u":3400000000000,"w":"rate_limited"}]}`, true, 0},
		{"the end of all times", `{"v":1,"r":[{"g":"c","c":"k","s":1782907199000,"u":9223372036854775807,"w":"rate_limited"}]}`, true, 0},
		{"before all times", `{"v":1,"r":[{"g":"c","c":"k","s":-9223372036854775808,"u":1782907299000,"w":"rate_limited"}]}`, true, 0},
		{"a failure in the future", `{"v":1,"r":[{"g":"b","f":9,"l":1782908199000}]}`, true, 0},
		{"an end before its beginning", `{"v":1,"r":[{"g":"c","c":"k","s":1782907199000,"u":1782907099000,"w":"rate_limited"}]}`, true, 0},
		{"a beginning without an end", `{"v":1,"r":[{"g":"b","s":1782907199000}]}`, true, 0},
		{"failures at no time", `{"v":1,"r":[{"g":"b","f":9}]}`, true, 0},
		{"a name without end", `{"v":1,"r":[{"g":"m","m":"` + strings.Repeat("x", maxName+1) + `","s":1782907199000,"u":1782907299000,"w":"model_not_found"}]}`, true, 0},
		{"rows without end", `{"v":1,"r":[` + strings.Repeat(`{"g":"b","f":1,"l":1782907199000},`, 5000) + `{"g":"b"}]}`, true, maxRows},
		{"too long", `{"v":1,"of":"` + strings.Repeat(" ", MaxBody) + `"}`, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, rows, ok := decodeRows(here(), now, []byte(c.body)); ok != c.ok || len(rows) != c.rows {
				t.Errorf("%t with %d rows: %+v", ok, len(rows), rows[:min(len(rows), 3)])
			}
		})
	}
	_, rows, _ := decodeRows(here(), now, []byte(`{"v":1,"r":[{"g":"b","f":99999999999,"e":-4,"l":1782907199000}]}`))
	if len(rows) != 1 || rows[0].Failures != maxCount || rows[0].Level != 0 {
		t.Errorf("counts are not bounded: %+v", rows)
	}
}

// R67: averages are as old elsewhere as they are here, and those of another provider of that name are none.
func TestAveragesThereAndBack(t *testing.T) {
	t.Parallel()
	now := noon.Add(10 * time.Minute)
	f := New(Options{Self: Member{ID: "a"}, Interval: time.Second})
	f.Apply([]Provider{{Name: "p", Of: "x", Guards: nobody{}}, {Name: "q", Of: "y", Guards: nobody{}}})
	var said []health.Latency
	for i, name := range []string{"p", "q", "gone"} {
		said = append(said, health.Latency{Provider: name, Model: "m", Averages: resilience.Averages{
			FirstContent: 300 * time.Millisecond, Total: 2 * time.Second, Recency: resilience.Recency{Samples: 7, At: now.Add(-time.Duration(i+1) * time.Minute)},
		}})
	}
	body := f.encodePaces(here(), now, said)
	if got, ok := f.decodePaces(here(), now, body); !ok || cmp.Diff(said[:2], got) != "" {
		t.Errorf("%t %s\n%s", ok, cmp.Diff(said[:2], got), body)
	}
	var later clock
	later.take(now, now, noon.Add(5*time.Minute)) // five minutes later by the store's clock
	f.Apply([]Provider{{Name: "p", Of: "elsewhere", Guards: nobody{}}, {Name: "q", Of: "y", Guards: nobody{}}})
	got, ok := f.decodePaces(later, now, body)
	if !ok || len(got) != 1 || got[0].Provider != "q" || !got[0].At.Equal(now.Add(-7*time.Minute)) {
		t.Errorf("%t %+v", ok, got)
	}
}

// A page holds what fits, blocks before counts and long ones before short ones.
func TestMoreRowsThanAPageHolds(t *testing.T) {
	t.Parallel()
	now := noon.Add(10 * time.Minute)
	var rows []resilience.Row
	for i := range 20000 {
		r := resilience.Row{Guard: resilience.ModelLockoutGuard, Model: strings.Repeat("m", 100) + time.Duration(i).String(), Since: now, Until: now.Add(time.Duration(i) * time.Second), Reason: resilience.ModelNotFound}
		rows = append(rows, r)
	}
	rows = append(rows, resilience.Row{Guard: resilience.CircuitBreaker, Failures: 1, FailedAt: now})
	body := encodeRows(here(), "x", rows)
	_, got, ok := decodeRows(here(), now, body)
	if !ok || len(body) > MaxBody || len(got) < 500 {
		t.Fatalf("%t: %d bytes, %d rows", ok, len(body), len(got))
	}
	if !got[0].Until.Equal(rows[19999].Until) {
		t.Errorf("the longest block is not there: %+v", got[0])
	}
}

// The largest page of docs/fleet.md: 10 keys and 200 models, all at rest, each by itself, and each model with a breaker of its own.
func TestLargestPage(t *testing.T) {
	t.Parallel()
	now := noon.Add(10 * time.Minute)
	var rows []resilience.Row
	for k := range 10 {
		key := fmt.Sprintf("key-%d", k)
		rows = append(rows, resilience.Row{
			Guard: resilience.CredentialCooldownGuard, Credential: key, Secret: 1 << 31, Since: now, Until: now.Add(time.Hour), Reason: resilience.RateLimited, Level: 3,
		})
		for m := range 200 {
			rows = append(rows, resilience.Row{
				Guard: resilience.ModelLockoutGuard, Credential: key, Secret: 1 << 31, Model: fmt.Sprintf("vendor/model-%03d", m), Since: now,
				Until: now.Add(time.Hour), Reason: resilience.ModelLimited, Level: 3,
			})
		}
	}
	for m := range 200 {
		rows = append(rows, resilience.Row{
			Guard: resilience.CircuitBreaker, Model: fmt.Sprintf("vendor/model-%03d", m), Failures: 5, FailedAt: now, Since: now, Until: now.Add(time.Minute), Trip: "failures",
		})
	}
	body := encodeRows(here(), "ab12cd34", rows)
	if _, got, ok := decodeRows(here(), now, body); !ok || len(got) != len(rows) {
		t.Errorf("%t: %d of %d rows in %d bytes", ok, len(got), len(rows), len(body))
	}
	t.Logf("%d rows, %d bytes", len(rows), len(body))
}

func FuzzPages(f *testing.F) {
	f.Add([]byte(`{"v":1,"of":"x","r":[{"g":"c","c":"k","k":7,"s":1782907199000,"u":1782907299000,"n":true,"w":"rate_limited","e":3}]}`))
	f.Add([]byte(`{"v":1,"r":[{"g":"b","m":"m","f":3,"l":1782907199000,"s":1782907199000,"u":1782907299000,"w":"failures","p":1782907199000}]}`))
	f.Add([]byte{})
	now := noon.Add(10 * time.Minute)
	f.Fuzz(func(t *testing.T, body []byte) {
		of, rows, ok := decodeRows(here(), now, body)
		if !ok {
			return
		}
		m := resilience.New(resilience.Defaults(), resilience.RoundRobin, []resilience.Credential{{Name: "k"}})
		m.Restore(now, rows, nil)
		m.Absorb(now, rows, nil)
		m.Absorb(now.Add(maxAhead+time.Hour), rows, nil)
		if v, _ := m.View(now.Add(maxAhead+2*time.Hour), nil); v.Breaker.State == resilience.Open || v.Credentials[0].Reason != "" {
			t.Errorf("it blocks for ever: %+v", v)
		}
		arrange(rows)
		_, again, ok := decodeRows(here(), now, encodeRows(here(), of, rows))
		if d := cmp.Diff(rows, again); ok && len(rows) > 0 && d != "" {
			t.Error(d)
		}
	})
}

func FuzzOthersPages(f *testing.F) {
	f.Add([]byte(`{"v":1,"of":"x","provider":"p","model":"m","action":"open","reason":"r","by":"b","at":1782907199000,"until":1782907299000}`))
	f.Add([]byte(`{"v":1,"a":1782907199000,"p":{"p":{"of":"x","m":["m"],"f":[100],"t":[200],"n":[4],"s":[3]}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		n := New(Options{Self: Member{ID: "a"}, Interval: time.Second, Now: func() time.Time { return noon.Add(10 * time.Minute) }})
		n.clock = here()
		n.Apply([]Provider{{Name: "p", Of: "x", Guards: nobody{}}})
		n.hearOrder(&Page{Topic: Orders, Key: "p/m", Sequence: 1, Body: body})
		if got, ok := n.decodePaces(n.clock, n.o.Now(), body); ok && len(got) > maxPaces {
			t.Errorf("%d averages", len(got))
		}
	})
}

// nobody are guards that do nothing.
type nobody struct{}

func (nobody) Rows(time.Time) []resilience.Row                    { return nil }
func (nobody) Absorb(time.Time, []resilience.Row)                 {}
func (nobody) Restore(time.Time, []resilience.Row)                {}
func (nobody) Due(time.Time, time.Duration) []resilience.Due      { return nil }
func (nobody) Yield(time.Time, string, time.Time, time.Time) bool { return false }
func (nobody) Obey(time.Time, resilience.Order) error             { return nil }

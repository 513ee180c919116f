package identity

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"evergate/internal/quota"
)

// same compares records by what is kept of them.
var same = cmp.Options{
	cmpopts.IgnoreUnexported(Principal{}), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() }),
}

func drawnTerms(t *rapid.T) Principal {
	texts := func(label string) []string {
		return rapid.SliceOfN(rapid.StringMatching(`[a-z0-9/.-]{1,20}`), 0, 3).Draw(t, label)
	}
	p := Principal{
		Name: rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.@-]{0,60}`).Draw(t, "name"), Owner: rapid.StringMatching(`([a-zäß]{1,20})?`).Draw(t, "owner"),
		Team: rapid.StringMatching(`([a-z]{1,20})?`).Draw(t, "team"), Models: texts("models"), Providers: texts("providers"), Policies: texts("policies"),
		Guardrails: texts("guardrails"), Routes: rapid.SliceOfN(rapid.SampledFrom(RouteWords()), 0, 3).Draw(t, "routes"),
		Limits: quota.Limits{
			RequestsPerMinute: rapid.Int64Range(0, MaxLimit).Draw(t, "requests"), TokensPerMinute: rapid.Int64Range(0, MaxLimit).Draw(t, "tokens"),
			Concurrent: rapid.Int64Range(0, MaxLimit).Draw(t, "concurrent"),
		},
	}
	for range rapid.IntRange(0, 2).Draw(t, "sources") {
		raw := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "source")
		p.Sources = append(p.Sources, netip.PrefixFrom(netip.AddrFrom4([4]byte(raw)), rapid.IntRange(0, 32).Draw(t, "bits")).Masked())
	}
	for range rapid.IntRange(0, 2).Draw(t, "budgets") {
		b := quota.Budget{
			Nano: rapid.Int64Range(1, 1<<52).Draw(t, "nano"), Tokens: rapid.Int64Range(0, MaxLimit).Draw(t, "budget"),
			Per:  rapid.SampledFrom([]quota.Period{quota.Hour, quota.Day, quota.Week, quota.Month}).Draw(t, "per"),
			Warn: rapid.Float64Range(0, 1).Draw(t, "warn"), WarnOnly: rapid.Bool().Draw(t, "mode"),
		}
		if zone, err := time.LoadLocation(rapid.SampledFrom([]string{"Europe/Berlin", "Asia/Kolkata"}).Draw(t, "zone")); err == nil {
			b.Zone = zone
		}
		p.Budgets = append(p.Budgets, b)
	}
	if n := rapid.IntRange(0, 2).Draw(t, "labels"); n > 0 {
		p.Labels = map[string]string{}
		for range n {
			p.Labels[rapid.StringMatching(`[a-z]{1,5}`).Draw(t, "label")] = rapid.StringMatching(`[a-z0-9]{1,9}`).Draw(t, "text")
		}
	}
	if rapid.Bool().Draw(t, "ends") {
		p.Expires = start.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "expires")) * time.Millisecond)
	}
	return p
}

// A record is read as it was written, whatever became of it; and nothing of the key is in it.
func TestRecordsAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, key := newRecord(drawnTerms(t), "ada", start)
		keys := []string{key}
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0:
				r = r.revoked("eve", "leaked", start)
			case 1:
				r = r.changed(drawnTerms(t), "eve", "", start)
			default:
				r, key = r.rotated(time.Duration(rapid.IntRange(0, 3).Draw(t, "overlap"))*time.Hour, "eve", "", start)
				keys = append(keys, key)
			}
			if !r.Revoked.IsZero() {
				break
			}
		}
		text := r.Encode()
		got, ok := DecodeRecord(r.Version, text)
		if diff := cmp.Diff(r, got, same, cmpopts.EquateEmpty()); !ok || diff != "" {
			t.Fatalf("%t %s\n%s", ok, diff, text)
		}
		for _, k := range keys {
			if strings.Contains(string(text), k[secretAt:secretAt+12]) {
				t.Error("a part of the key is kept")
			}
		}
		if len(text) > 8<<10 {
			t.Errorf("%d bytes", len(text))
		}
	})
}

func TestRecordsThatCannotBeTrue(t *testing.T) {
	t.Parallel()
	r, _ := newRecord(Principal{Name: "night"}, "ada", start)
	good := string(r.Encode())
	if _, ok := DecodeRecord(1, []byte(good)); !ok {
		t.Fatal("a good one is not read")
	}
	turned, _ := r.rotated(time.Hour, "", "", start)
	for name, tt := range map[string]struct {
		version uint64
		text    string
	}{
		"no version":                {0, good},
		"another form":              {1, strings.Replace(good, `"v":1`, `"v":2`, 1)},
		"a short id":                {1, strings.Replace(good, r.ID, "x", 1)},
		"an id that is a path":      {1, strings.Replace(good, r.ID, "../../etc/", 1)},
		"no name":                   {1, strings.Replace(good, `"name":"night"`, `"name":""`, 1)},
		"a name with a slash":       {1, strings.Replace(good, `"name":"night"`, `"name":"a/b"`, 1)},
		"a name with a line break":  {1, strings.Replace(good, `"name":"night"`, `"name":"a\nb"`, 1)},
		"no hash":                   {1, good[:strings.Index(good, `,"salt"`)] + "}"},
		"a hash without salt":       {1, strings.Replace(good, `"salt"`, `"pepper"`, 1)},
		"a short hash":              {1, strings.Replace(good, `"hmac":"`, `"hmac":"AAAA","x":"`, 1)},
		"revoked, and with hashes":  {lastVersion, strings.Replace(good, `"created"`, `"revoked":1,"created"`, 1)},
		"revoked in a version":      {3, string(revokedText(r))},
		"the last, and not revoked": {lastVersion, good},
		"an old key without an end": {2, strings.Replace(string(turned.Encode()), `"until"`, `"till"`, 1)},
		"a limit below nothing":     {1, strings.Replace(good, `"concurrent":0`, `"concurrent":-1`, 1)},
		"a route that is none":      {1, strings.Replace(good, `"routes":[]`, `"routes":["x"]`, 1)},
		"no JSON":                   {1, good[1:]},
		"nothing":                   {1, ""},
	} {
		if got, ok := DecodeRecord(tt.version, []byte(tt.text)); ok {
			t.Errorf("%s is read: %+v", name, got)
		}
	}
}

func revokedText(r Record) []byte {
	r = r.revoked("", "", start)
	return r.Encode()
}

// What others wrote into the store makes no principal that could not have been made here.
func FuzzDecodeRecord(f *testing.F) {
	r, _ := newRecord(Principal{Name: "night", Sources: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Budgets: []quota.Budget{{Nano: 1}}}, "ada", start)
	f.Add(uint64(1), r.Encode())
	f.Add(uint64(lastVersion), revokedText(r))
	f.Fuzz(func(t *testing.T, version uint64, text []byte) {
		r, ok := DecodeRecord(version, text)
		if !ok {
			return
		}
		again, ok := DecodeRecord(version, r.Encode())
		if diff := cmp.Diff(r, again, same, cmpopts.EquateEmpty()); !ok || diff != "" {
			t.Errorf("%t %s", ok, diff)
		}
		b := NewBook()
		b.Hear(r)
		if who, v := b.Find(string(text), start); v == Welcome {
			t.Errorf("%v is let in", who)
		}
	})
}

func FuzzFind(f *testing.F) {
	b, _, key := desk(f)
	f.Add("")
	f.Add(key[:keySize-1])
	f.Fuzz(func(t *testing.T, presented string) {
		var w work
		who, v := b.find(presented, start, &w)
		if (v == Welcome) != (presented == key || presented == "ci-secret" || presented == "narrow-secret") || w.hashes != 2 || w.compares != 2 {
			t.Errorf("%q: %v %v %+v", presented, who, v, w)
		}
	})
}

// What may be said of a key can be kept: a record that nobody can read again would be a key that is lost.
func TestTermsThatAreTakenAreKept(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Terms){
		"a part of a billionth of a dollar":             func(s *Terms) { s.Budgets = []BudgetTerms{{USD: 1e-10, Per: "day", Mode: modeBlock}} },
		"a part of a billionth of a dollar, and tokens": func(s *Terms) { s.Budgets = []BudgetTerms{{USD: 1e-10, Tokens: 5, Per: "day", Mode: modeBlock}} },
		"a billionth of a dollar":                       func(s *Terms) { s.Budgets = []BudgetTerms{{USD: 1e-9, Per: "day", Mode: modeBlock}} },
		"an end in the year 10000, in UTC":              func(s *Terms) { s.Expires = "9999-12-31T23:59:59-14:00" },
		"an end before the first year, in UTC":          func(s *Terms) { s.Expires = "0000-01-01T00:00:00+14:00" },
		"an end that looks like none":                   func(s *Terms) { s.Expires = "0001-01-01T00:00:00Z" },
		"the last end":                                  func(s *Terms) { s.Expires = "9999-12-31T23:59:59Z" },
	} {
		s := Terms{Name: "night"}
		change(&s)
		p, err := s.Principal()
		if err != nil {
			continue
		}
		if (s.Expires != "") == p.Expires.IsZero() {
			t.Errorf("%s: it ends %v", name, p.Expires)
		}
		for i, b := range p.Budgets {
			if (b.Nano > 0) != (s.Budgets[i].USD > 0) {
				t.Errorf("%s: a budget of %d", name, b.Nano)
			}
		}
		r, _ := newRecord(p, "ada", start)
		if _, ok := DecodeRecord(r.Version, r.Encode()); !ok {
			t.Errorf("%s: it is not read: %s", name, r.Encode())
		}
	}
}

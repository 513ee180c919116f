package mock

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every key that is read is in the package comment, and every field has a key.
func TestKeysAreDocumented(t *testing.T) {
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, matches, _ := strings.Cut(string(data), "What a rule may match on")
	matches, behaviour, _ := strings.Cut(matches, "# The behaviour")
	documented := func(section, key string) bool {
		for line := range strings.Lines(section) {
			words := strings.FieldsFunc(strings.TrimPrefix(line, "//\t"), func(r rune) bool { return r == ' ' || r == ',' })
			if strings.HasPrefix(line, "//\t") && slices.Contains(words[:min(len(words), 3)], key) {
				return true
			}
		}
		return false
	}
	for key := range (&Behaviour{}).fields() {
		if !documented(behaviour, key) {
			t.Errorf("the package comment lacks the behaviour's %s", key)
		}
	}
	for key := range (&Rule{}).fields() {
		if key != "name" && !documented(matches, key) {
			t.Errorf("the package comment lacks the rule's %s", key)
		}
	}
	// Header has the keys headers and header, a rule's Do has do.
	if got, want := len((&Behaviour{}).fields()), reflect.TypeFor[Behaviour]().NumField()-1; got != want {
		t.Errorf("%d keys for %d fields of a behaviour", got, want)
	}
	if got, want := len((&Rule{}).fields()), reflect.TypeFor[Rule]().NumField()-1; got != want {
		t.Errorf("%d keys for %d fields of a rule", got, want)
	}
}

// Each key sets a field of its own.
func TestFieldsAreDistinct(t *testing.T) {
	values := []string{"1s", "1", "299", "json", "refuse", "true", "x"}
	fields := (&Behaviour{}).fields()
	seen := map[Point]string{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		changed := map[string]bool{}
		for _, v := range values {
			b := Behaviour{}
			if b.fields()[key](v) != nil {
				continue
			}
			rv := reflect.ValueOf(b)
			for i := range rv.NumField() {
				if !rv.Field(i).IsZero() {
					changed[rv.Type().Field(i).Name] = true
				}
			}
		}
		want := strings.ToLower(strings.ReplaceAll(key, "_", ""))
		if len(changed) != 1 {
			t.Errorf("%s changes %v", key, changed)
		}
		for name := range changed {
			if strings.ToLower(name) != want {
				t.Errorf("%s changes %s", key, name)
			}
		}
	}
	for _, p := range []Point{Never, BeforeHeaders, AfterHeaders, AfterFinish, AtEnd, After(0), After(1)} {
		if other, ok := seen[p]; ok {
			t.Errorf("%s and %s are one point", other, p)
		}
		seen[p] = p.String()
		if back, err := parsePoint(p.String()); p != Never && (err != nil || back != p) {
			t.Errorf("%s reads as %v, %v", p, back, err)
		}
	}
}

// A seal is taken by its maker alone, and only as it was made.
func TestSeals(t *testing.T) {
	s := sealOf(makerAnthropic, "a thought")
	if text, ok := openSeal(makerAnthropic, s); !ok || text != "a thought" {
		t.Errorf("%q, %v", text, ok)
	}
	for name, forged := range map[string]string{
		"another maker's": sealOf(makerGoogle, "a thought"), "changed": "A" + s[1:], "cut": s[:len(s)-4], "longer": s[:len(s)-4] + "AAAA", "none": "", "no base64": "!",
	} {
		if _, ok := openSeal(makerAnthropic, forged); ok && forged != s {
			t.Errorf("%s seal is taken", name)
		}
	}
}

// Draws are spread evenly, and those of two rules are not the same.
func TestDraw(t *testing.T) {
	const n = 10_000
	for _, p := range []float64{0.01, 0.3, 0.9} {
		hits, same := 0, 0
		for i := range uint64(n) {
			a, b := draw(7, 0, i+1) < p, draw(7, 1, i+1) < p
			if a {
				hits++
			}
			if a == b {
				same++
			}
		}
		if share := float64(hits) / n; share < p-0.02 || share > p+0.02 {
			t.Errorf("probability %v held in %v", p, share)
		}
		if want := p*p + (1-p)*(1-p); float64(same)/n > want+0.03 {
			t.Errorf("two rules agree in %d of %d draws", same, n)
		}
	}
}

func FuzzFaultHeader(f *testing.F) {
	f.Add("status=503; retry-after=2")
	f.Add(";;=;gzip=;hang=1;header=a: b")
	f.Fuzz(func(t *testing.T, s string) {
		base := Behaviour{Latency: time.Second}
		b, err := parseFault(s, base)
		if err == nil && b.check() != nil {
			t.Errorf("%q reads as what cannot be", s)
		}
	})
}

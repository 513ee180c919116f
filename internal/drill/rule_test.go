package drill_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/drill"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// R74: what a rule must say, and what is said of one that does not: the member that is wrong is named.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const end, why = `"for":"10m",`, `"reason":"r"`
	cases := []struct{ name, text, param string }{
		{"no object", `[1]`, ""},
		{"not JSON", `{"shape":`, ""},
		{"two objects", `{` + end + `"shape":{"reset":true},` + why + `} {}`, ""},
		{"an unknown member", `{"shpe":{},` + end + why + `}`, ""},
		{"a wrong type", `{"provider":1,` + end + why + `}`, "provider"},
		{"no shape", `{` + end + why + `}`, "shape"},
		{"an empty shape", `{"shape":{},` + end + why + `}`, "shape"},
		{"two faults", `{"shape":{"status":503,"reset":true},` + end + why + `}`, "shape"},
		{"two faults after content", `{"shape":{"cut_after":1,"stall_after":1},` + end + why + `}`, "shape"},
		{"an unknown fault", `{"shape":{"explode":true},` + end + why + `}`, "shape"},
		{"a status that is no error", `{"shape":{"status":200},` + end + why + `}`, "shape.status"},
		{"a status of no text", `{"shape":{"status":"503"},` + end + why + `}`, "shape.status"},
		{"a body without a status", `{"shape":{"reset":true,"body":"x"},` + end + why + `}`, "shape"},
		{"a long body", `{"shape":{"status":500,"body":"` + strings.Repeat("x", drill.MaxBody+1) + `"},` + end + why + `}`, "shape.body"},
		{"a retry_after that is none", `{"shape":{"status":429,"retry_after":"-1s"},` + end + why + `}`, "shape.retry_after"},
		{"a latency beyond all", `{"shape":{"latency":"11m"},` + end + why + `}`, "shape.latency"},
		{"an answer of no kind", `{"shape":{"invalid":"xml"},` + end + why + `}`, "shape.invalid"},
		{"a negative count", `{"shape":{"cut_after":-1},` + end + why + `}`, "shape.cut_after"},
		{"no end", `{"shape":{"reset":true},` + why + `}`, "until"},
		{"two ends", `{"shape":{"reset":true},"for":"1m","until":"2026-05-04T12:01:00Z",` + why + `}`, "until"},
		{"an end that was", `{"shape":{"reset":true},"until":"2026-05-04T12:00:00Z",` + why + `}`, "until"},
		{"an end beyond a day", `{"shape":{"reset":true},"until":"2026-05-05T12:00:01Z",` + why + `}`, "until"},
		{"a length beyond a day", `{"shape":{"reset":true},"for":"24h1s",` + why + `}`, "for"},
		{"no reason", `{"shape":{"reset":true},"for":"1m","reason":" "}`, "reason"},
		{"a long reason", `{"shape":{"reset":true},"for":"1m","reason":"` + strings.Repeat("x", 501) + `"}`, "reason"},
		{"a share of nothing", `{"shape":{"reset":true},"share":0,` + end + why + `}`, "share"},
		{"a share of more than all", `{"shape":{"reset":true},"share":1.01,` + end + why + `}`, "share"},
		{"no budget", `{"shape":{"reset":true},"budget":0,` + end + why + `}`, "budget"},
		{"too large a budget", `{"shape":{"reset":true},"budget":1000001,` + end + why + `}`, "budget"},
		{"negative errors", `{"shape":{"reset":true},"max_user_errors":-1,` + end + why + `}`, "max_user_errors"},
		{"a long name", `{"shape":{"reset":true},"model":"` + strings.Repeat("x", 201) + `",` + end + why + `}`, "model"},
		{"a header without a name", `{"shape":{"reset":true},"header":{"value":"x"},` + end + why + `}`, "header"},
		{"a header that holds a secret", `{"shape":{"reset":true},"header":{"name":"authorization","value":"Bearer x"},` + end + why + `}`, "header"},
		{"a caller's own key", `{"shape":{"reset":true},"header":{"name":"X-Evergate-Key-openai"},` + end + why + `}`, "header"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := drill.Read([]byte(c.text), now)
			var wrong *drill.Mistake
			if !errors.As(err, &wrong) {
				t.Fatalf("err = %v", err)
			}
			if wrong.Param != c.param || wrong.Message == "" {
				t.Errorf("param %q, want %q: %v", wrong.Param, c.param, err)
			}
		})
	}
}

// R74: a rule as it is meant to be written, and what holds where nothing is said.
func TestRead(t *testing.T) {
	t.Parallel()
	r, err := drill.Read([]byte(`{"shape":{"cut_after":3},"for":"10m","reason":" why "}`), now)
	want := drill.Rule{Share: 1, Budget: 1000, Shape: drill.Shape{Kind: drill.Cut, After: 3}, Since: now, Until: now.Add(10 * time.Minute), Reason: "why"}
	if err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%v\n%+v\n%+v", err, r, want)
	}
	r, err = drill.Read([]byte(`{"provider":"p","model":"m","key":"k","header":{"name":"x-team","value":"a"},"share":0.25,"budget":7,"max_user_errors":3,
		"shape":{"status":429,"retry_after":"90s","body":"no","latency":"2s"},"until":"2026-05-05T12:00:00Z","reason":"r"}`), now)
	want = drill.Rule{
		Provider: "p", Model: "m", Key: "k", Header: drill.Header{Name: "x-team", Value: "a"}, Share: 0.25, Budget: 7, MaxUserErrors: 3, Since: now, Until: now.Add(24 * time.Hour), Reason: "r",
		Shape: drill.Shape{Kind: drill.Status, Status: 429, RetryAfter: 90 * time.Second, Body: "no", Latency: 2 * time.Second},
	}
	if err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%v\n%+v\n%+v", err, r, want)
	}
	if r.Sane() {
		t.Error("a rule without an id is sane")
	}
	r.ID = "drill_1"
	if !r.Sane() {
		t.Error("a good rule is not sane")
	}
	r.Share = math.NaN()
	if r.Sane() {
		t.Error("a share that is no number is sane")
	}
}

// Every shape is read as it was written.
func TestShapesAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drill.Shape{Kind: rapid.SampledFrom([]drill.Kind{
			drill.Status, drill.Slow, drill.Refused, drill.Reset, drill.Hang, drill.Invalid, drill.Cut, drill.Stall, drill.Error, drill.Garbage, drill.NoEnd,
		}).Draw(t, "kind")}
		s.Latency = time.Duration(rapid.Int64Range(0, int64(drill.MaxLatency)).Draw(t, "latency"))
		switch s.Kind {
		case drill.Status:
			s.Status = rapid.IntRange(400, 599).Draw(t, "status")
			s.Body = rapid.StringN(0, 100, 1000).Draw(t, "body")
			s.RetryAfter = time.Duration(rapid.Int64Range(0, int64(drill.MaxRetryAfter)).Draw(t, "retry"))
		case drill.Slow:
			s.Latency++
		case drill.Invalid:
			s.Answer = rapid.SampledFrom([]string{drill.HTML, drill.JSON, drill.Empty}).Draw(t, "answer")
		case drill.Cut, drill.Stall, drill.Error, drill.Garbage:
			s.After = rapid.IntRange(0, drill.MaxAfter).Draw(t, "after")
		case drill.Refused, drill.Reset, drill.Hang, drill.NoEnd:
		}
		s.Latency = min(s.Latency, drill.MaxLatency)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := drill.ReadShape(text)
		if err != nil || again != s {
			t.Fatalf("%v: %s\n%+v\n%+v", err, text, s, again)
		}
		if s.String() == "" {
			t.Error("it has no words")
		}
	})
}

// R74: a rule is for an attempt if all that it names is the attempt's; what it leaves out holds for all.
func TestRulesMeet(t *testing.T) {
	t.Parallel()
	some := rapid.SampledFrom([]string{"", "a", "b"})
	rapid.Check(t, func(t *rapid.T) {
		r := drill.Rule{Provider: some.Draw(t, "provider"), Model: some.Draw(t, "model"), Key: some.Draw(t, "key")}
		r.Header.Name, r.Header.Value = some.Draw(t, "header"), some.Draw(t, "value")
		a := drill.Asked{Provider: some.Draw(t, "of"), Model: some.Draw(t, "upstream"), Named: some.Draw(t, "named"), Key: some.Draw(t, "caller"), Header: map[string][]string{}}
		if name := some.Draw(t, "sent"); name != "" {
			a.Header[strings.ToUpper(name)] = []string{some.Draw(t, "first"), some.Draw(t, "second")}
		}
		header := r.Header.Name == ""
		if sent, ok := a.Header[strings.ToUpper(r.Header.Name)]; ok && !header {
			header = r.Header.Value == "" || sent[0] == r.Header.Value || sent[1] == r.Header.Value
		}
		want := (r.Provider == "" || r.Provider == a.Provider) && (r.Model == "" || r.Model == a.Model || r.Model == a.Named) && (r.Key == "" || r.Key == a.Key) && header
		if got := r.Is(&a); got != want {
			t.Fatalf("%v, want %v: %+v for %+v", got, want, r, a)
		}
	})
}

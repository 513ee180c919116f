package mock_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/mock"
)

// documented is the script in the package comment.
func documented(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "# The script\n")
	rest, _, _ = strings.Cut(rest, "# The behaviour\n")
	var out strings.Builder
	for line := range strings.Lines(rest) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			out.WriteString(code)
		} else if out.Len() > 0 {
			break
		}
	}
	return out.String()
}

// The package comment's script means what it says.
func TestParseTheDocumentedScript(t *testing.T) {
	got, err := mock.ParseScript([]byte(documented(t)))
	if err != nil {
		t.Fatal(err)
	}
	defaults := func(change func(*mock.Behaviour)) mock.Behaviour {
		b := mock.Behaviour{Latency: 30 * time.Millisecond, ChunkDelay: 10 * time.Millisecond}
		change(&b)
		return b
	}
	want := mock.Script{
		Name: "blue", Seed: 7, Models: []string{"gpt-4o", "embed-small"}, Keys: []string{"sk-one", "sk-two"}, Replay: "recordings",
		Defaults: defaults(func(*mock.Behaviour) {}),
		Rules: []mock.Rule{
			{
				Name: "outage", Model: "gpt-4o*", Schedule: mock.Schedule{{For: 20 * time.Second}, {Down: true, For: 10 * time.Second}},
				Do: defaults(func(b *mock.Behaviour) { b.Status = 503 }),
			},
			{Key: "sk-one", Nth: mock.Nth{From: 1, To: 3}, Do: defaults(func(b *mock.Behaviour) { b.Status, b.RetryAfter = 429, "2" })},
			{Path: "/embeddings", Probability: 0.1, Do: defaults(func(b *mock.Behaviour) { b.Reset = mock.BeforeHeaders })},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseBehaviour(t *testing.T) {
	in := `
defaults: {latency: 1s, headers: {x-a: 1, x-b: two}}
rules:
  - do:
      latency: 0s            # a rule can take a default back
      first_token: 1.5s
      keepalive: 2s
      chunks: 3
      chunk_size: 0
      text: |
        two
        lines
      status: 418
      code: c
      type: t
      message: "it says: no"
      headers:
        x-b: 3
        Retry-After: 0.5
      content_type: text/plain
      hang: finish
      malformed: 2
      no_done: true
      no_finish: true
      empty: true
      html: true
      gzip: true
      as: stream
  - do: {error: 0}
  - do: {eof: end}
  - do: {cut: 12}
  - do: {reset: headers}
    stream: true
    nth: every 2
  - stream: false
    nth: 4-
    schedule: down 1s, up
    do:
`
	got, err := mock.ParseScript([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	headers := http.Header{"X-A": {"1"}, "X-B": {"two"}}
	base := mock.Behaviour{Latency: time.Second, Header: headers}
	with := func(change func(*mock.Behaviour)) mock.Behaviour {
		b := base
		change(&b)
		return b
	}
	want := mock.Script{Defaults: base, Rules: []mock.Rule{
		{Do: mock.Behaviour{
			FirstToken: 1500 * time.Millisecond, Keepalive: 2 * time.Second, Chunks: 3, Text: "two\nlines\n", Status: 418, Code: "c",
			Type: "t", Message: "it says: no", Header: http.Header{"X-A": {"1"}, "X-B": {"3"}, "Retry-After": {"0.5"}},
			ContentType: "text/plain", Hang: mock.AfterFinish, Malformed: 2, NoDone: true, NoFinish: true, Empty: true, HTML: true,
			Gzip: true, As: mock.Stream,
		}},
		{Do: with(func(b *mock.Behaviour) { b.Error = mock.After(0) })},
		{Do: with(func(b *mock.Behaviour) { b.EOF = mock.AtEnd })},
		{Do: with(func(b *mock.Behaviour) { b.Cut = mock.After(12) })},
		{Stream: mock.Streamed, Nth: mock.Nth{Every: 2}, Do: with(func(b *mock.Behaviour) { b.Reset = mock.AfterHeaders })},
		{Stream: mock.Plain, Nth: mock.Nth{From: 4}, Schedule: mock.Schedule{{Down: true, For: time.Second}, {}}, Do: base},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseNothing(t *testing.T) {
	for _, in := range []string{"", "# only a comment\n", "---\n", "rules:\n", "rules: []"} {
		if got, err := mock.ParseScript([]byte(in)); err != nil || !cmp.Equal(got, mock.Script{}) {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
}

func TestParseProblems(t *testing.T) {
	cases := map[string]string{
		"a: [":                                  "line 1: not YAML: ",
		"3":                                     "line 1: a mapping (key: value) belongs here",
		"nam: x":                                `line 1: unknown key "nam"; did you mean "name"?`,
		"do: []":                                `line 1: unknown key "do"; known are defaults, keys, lenient, models, name, replay, rules, seed`,
		"rule: []":                              `line 1: unknown key "rule"; did you mean "rules"?`,
		"seed: many":                            `line 1: seed: "many" is not a whole number`,
		"models: gpt":                           "line 1: models: a list belongs here",
		"models: [a, [b]]":                      "line 1: models[1]: a single value belongs here",
		"defaults: 3":                           "line 1: defaults: a mapping (key: value) belongs here",
		"defaults:\n  latency: 20":              `line 2: defaults.latency: "20" is not a duration: write a number and a unit, such as 20ms or 1.5s`,
		"defaults:\n  latency: -1s":             `line 2: defaults.latency: "-1s" is negative`,
		"defaults:\n  latency:":                 "line 2: defaults.latency: the value is missing",
		"defaults:\n  Latency: 1s":              `line 2: defaults: unknown key "Latency"; did you mean "latency"?`,
		"defaults:\n  first-token: 1s":          `line 2: defaults: unknown key "first-token"; did you mean "first_token"?`,
		"defaults:\n  gzip: yes":                `line 2: defaults.gzip: "yes" is not one of false, true`,
		"defaults:\n  as: xml":                  `line 2: defaults.as: "xml" is not one of json, stream`,
		"defaults:\n  hang: soon":               `line 2: defaults.hang: "soon" is not a point: write before_headers, headers, finish, end or a number of chunks`,
		"defaults:\n  hang: -1":                 `line 2: defaults.hang: "-1" is not a point`,
		"defaults: {hang: 1, cut: 2}":           "line 1: defaults: hang and cut exclude each other",
		"defaults: {eof: before_headers}":       "line 1: defaults: eof cannot happen before_headers",
		"defaults: {status: 100}":               `line 1: defaults.status: "100" is not a whole number from 200 to 599`,
		"defaults: {status: 503, status: 504}":  "line 1: defaults: status is said twice",
		"defaults: {headers: [a]}":              "line 1: defaults.headers: a mapping (key: value) belongs here",
		"defaults: {headers: {a: [b]}}":         "line 1: defaults.headers.a: a single value belongs here",
		"defaults: {header: {a: b}}":            `line 1: defaults: unknown key "header"; did you mean "headers"?`,
		"rules: {do: {}}":                       "line 1: rules: a list belongs here",
		"rules:\n- do: {status: 1}":             "line 2: rules[0].do.status: ",
		"rules:\n- {}\n- status: 503":           `line 3: rules[1]: unknown key "status"; known are do, key, model, name, nth, path, probability, schedule, stream`,
		"rules:\n- probability: 2":              `line 2: rules[0].probability: "2" is not a probability above 0 and up to 1`,
		"rules:\n- probability: .nan":           `line 2: rules[0].probability: `,
		"rules:\n- nth: 0":                      `line 2: rules[0].nth: "0" is not a count of requests: write 1, 2-5, 4- or every 3`,
		"rules:\n- nth: 5-2":                    `line 2: rules[0].nth: "5-2" is not a count of requests`,
		"rules:\n- nth: every 0":                `line 2: rules[0].nth: "every 0" is not a count of requests`,
		"rules:\n- schedule: off 3s":            `line 2: rules[0].schedule: "off 3s" is not a schedule: write phases such as "up 20s, down 10s"`,
		"rules:\n- schedule: up, down 3s":       `line 2: rules[0].schedule: "up, down 3s" is not a schedule: only the last phase may have no duration`,
		"rules:\n- schedule: up 0s":             `line 2: rules[0].schedule: "up 0s" is not a schedule: "0s" is not a positive duration`,
		"rules:\n- schedule: up 3":              `line 2: rules[0].schedule: "up 3" is not a schedule: "3" is not a positive duration`,
		"rules:\n- stream: maybe":               `line 2: rules[0].stream: "maybe" is not one of false, true`,
		"defaults: &d {gzip: true}":             "line 1: defaults: ",
		"defaults: {text: &t x, message: *t}":   "anchors, aliases and tags are not supported here",
		"defaults:\n  <<: {gzip: true}":         "line 2: defaults: merge keys are not supported here",
		"name: a\n---\nname: b":                 "line 3: a script is one document",
		"name: a\nname: b":                      "line 2: name is said twice",
		"nme: a\nseed: x\nrules: [{dp: 1}]":     "line 2: seed: ",
		"seed: x\ndefaults: {status: 1, as: x}": "line 2: defaults.as: ",
	}
	for in, want := range cases {
		t.Run(in, func(t *testing.T) {
			got, err := mock.ParseScript([]byte(in))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if !cmp.Equal(got, mock.Script{}) {
				t.Errorf("half a script came: %+v", got)
			}
		})
	}
}

// All problems are told at once, in order.
func TestParseTellsAllProblems(t *testing.T) {
	_, err := mock.ParseScript([]byte("sed: 1\ndefaults:\n  gzip: 2\n  status: 9\nrules:\n  - nth: x\n    do: {cut: x}\n"))
	if err == nil {
		t.Fatal("no error")
	}
	var lines []string
	for line := range strings.Lines(err.Error()) {
		where, _, _ := strings.Cut(line, ":")
		lines = append(lines, where)
	}
	if d := cmp.Diff([]string{"line 1", "line 3", "line 4", "line 6", "line 7"}, lines); d != "" {
		t.Errorf("%s\n%v", d, err)
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add(documented(f))
	f.Add("rules:\n- {do: {hang: 1}}\n")
	f.Add("defaults: {headers: {a: b}}\n? x\n: y")
	f.Add("a: !!binary x\nb: [*c, &d 3]\n? [1,2] : 3")
	f.Fuzz(func(t *testing.T, in string) {
		s, err := mock.ParseScript([]byte(in))
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without words")
			}
			return
		}
		for _, r := range s.Rules {
			r.Schedule.Down(time.Duration(len(in)) * time.Second)
		}
	})
}

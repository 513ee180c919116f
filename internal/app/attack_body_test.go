package app

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
	"evergate/internal/testkit"
)

// hostileBodies change a good body, which is an object, into one that two parsers may read in two ways, or that costs whoever reads it.
func hostileBodies() map[string]func(string) string {
	more := func(member string) func(string) string {
		return func(body string) string { return strings.TrimSuffix(body, "}") + "," + member + "}" }
	}
	first := func(member string) func(string) string {
		return func(body string) string { return "{" + member + "," + body[1:] }
	}
	nest := func(open, end string, n int) string { return strings.Repeat(open, n) + "1" + strings.Repeat(end, n) }
	out := map[string]func(string) string{
		"model again":                   more(`"model":"nowhere/other"`),
		"model before":                  first(`"model":"nowhere/other"`),
		"model again, escaped":          more(`"\u006dodel":"nowhere/other"`),
		"model in capitals":             more(`"MODEL":"nowhere/other"`),
		"model in capitals, escaped":    more(`"\u004dodel":"nowhere/other"`),
		"model with a NUL":              more(`"model\u0000":"nowhere/other"`),
		"model as a list":               more(`"model":["nowhere/other"]`),
		"stream again":                  more(`"stream":true,"stream":false`),
		"deep object":                   more(`"x":` + nest(`{"a":`, "}", 100_000)),
		"deep list":                     more(`"x":` + nest("[", "]", 100_000)),
		"deep and cut":                  func(body string) string { return body[:len(body)-1] + `,"x":` + strings.Repeat("[", 500_000) },
		"nearly too deep":               more(`"metadata":` + nest(`{"a":`, "}", 990)),
		"deep schema, chat":             more(`"tools":[{"type":"function","function":{"name":"f","parameters":` + nest(`{"type":"object","properties":{"a":`, "}}", 450) + `}}]`),
		"deep schema, messages":         more(`"tools":[{"name":"f","input_schema":` + nest(`{"type":"object","properties":{"a":`, "}}", 450) + `}]`),
		"deep schema, responses":        more(`"tools":[{"type":"function","name":"f","parameters":` + nest(`{"anyOf":[`, "]}", 450) + `}]`),
		"deep schema, gemini":           more(`"tools":[{"functionDeclarations":[{"name":"f","parameters":` + nest(`{"type":"OBJECT","properties":{"a":`, "}}", 450) + `}]}]`),
		"schema that names itself":      more(`"tools":[{"type":"function","function":{"name":"f","parameters":{"$ref":"#","$defs":{"a":{"$ref":"#/$defs/a"}}}}}]`),
		"50 000 keys":                   func(body string) string { return body[:len(body)-1] + keys(50_000) + "}" },
		"a key of 1 MB":                 more(`"` + strings.Repeat("k", 1<<20) + `":1`),
		"broken UTF-8":                  func(body string) string { return strings.Replace(body, "hi", "h\xff\xc0\x80i", 1) },
		"broken UTF-8 in a key":         more("\"\xff\":1"),
		"half a surrogate":              func(body string) string { return strings.Replace(body, "hi", `h\ud800i`, 1) },
		"halves the wrong way round":    func(body string) string { return strings.Replace(body, "hi", `h\udc00\ud800i`, 1) },
		"NUL, escaped":                  func(body string) string { return strings.Replace(body, "hi", `h\u0000i`, 1) },
		"NUL":                           func(body string) string { return strings.Replace(body, "hi", "h\x00i", 1) },
		"line ends in the text":         func(body string) string { return strings.Replace(body, "hi", `h\r\n\r\ndata: [DONE]\n\ni`, 1) },
		"a mark of byte order":          func(body string) string { return "\ufeff" + body },
		"UTF-16":                        func(body string) string { return "\xff\xfe" + strings.Join(strings.Split(body, ""), "\x00") + "\x00" },
		"two values":                    func(body string) string { return body + body },
		"NUL behind":                    func(body string) string { return body + "\x00" },
		"a comment":                     func(body string) string { return "/**/" + body },
		"single quotes":                 func(body string) string { return strings.ReplaceAll(body, `"`, `'`) },
		"prototype":                     more(`"__proto__":{"model":"nowhere/other"},"constructor":{"prototype":{"model":"x"}}`),
		"names of the gateway's fields": more(`"x-evergate-provider":"anthropic","api_key":"sk-x","api_base":"http://169.254.169.254/","base_url":"http://169.254.169.254/","extra_headers":{"Authorization":"x"}`),
	}
	for name, n := range map[string]string{
		"1e999": "1e999", "-0": "-0", "1e308": "1e308", "20 digits": "99999999999999999999", "1e-400": "1e-400", "100 KB of digits": strings.Repeat("9", 100<<10),
		"an exponent of 20 digits": "1e99999999999999999999", "NaN": "NaN", "2^63": "9223372036854775808", "-2^63": "-9223372036854775808", "0.1": "0.1",
	} {
		out["numbers: "+name] = more(`"max_tokens":` + n + `,"max_completion_tokens":` + n + `,"max_output_tokens":` + n + `,"temperature":` + n +
			`,"n":` + n + `,"seed":` + n + `,"top_p":` + n + `,"top_logprobs":` + n + `,"generationConfig":{"maxOutputTokens":` + n + `,"topK":` + n + `}`)
	}
	return out
}

// keys are n members with names of their own.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"k` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("0", i/50) + `":0`)
		if b.Len() > 1<<20 {
			break
		}
	}
	return b.String()
}

// models are the values of all members of the outermost object that some parser takes for the model.
func models(body []byte) (out []string, err error) {
	d := json.NewDecoder(strings.NewReader(string(body)))
	if _, err = d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if strings.EqualFold(key.(string), "model") {
			out = append(out, strings.Trim(string(value), `"`))
		}
	}
	return out, nil
}

// Whatever a body holds, in each dialect towards each other one: it is served or refused with a 4xx in the client's words, no provider is
// asked for a model that the gateway did not choose, and what a provider gets is JSON.
func TestHostileBodies(t *testing.T) {
	if testkit.Race { // make check runs it again without: there it takes a minute
		t.Skip("hundreds of gateways, one after the other: run without the race detector")
	}
	bodies := hostileBodies()
	for _, sp := range speakers() {
		for _, vendor := range []string{"chat", "responses", "anthropic", "gemini"} {
			t.Run(sp.name+" to "+vendor, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					up := &seenBodies{next: mock.New(mock.Script{Lenient: true})}
					s := newStackWith(t, parse(t, everyVendor), nil, slog.New(slog.DiscardHandler), func(s *stack) { s.net.Serve(t, "a:80", up) })
					for name, change := range bodies {
						body := change(sp.body(vendor+"/m", false, "hi", false))
						a := s.post(t.Context(), sp.path(vendor+"/m", false), body)
						if a.broken != nil || a.status != http.StatusOK && (a.status < 400 || a.status > 499) || !json.Valid([]byte(a.body)) {
							t.Errorf("%s: %d %v %.300s", name, a.status, a.broken, a.body)
						}
						if a.status != http.StatusOK && !strings.Contains(a.body, `"error"`) {
							t.Errorf("%s: %d without an error: %.300s", name, a.status, a.body)
						}
						for _, got := range up.take() {
							asked, err := models(got)
							if err == nil && !json.Valid(got) {
								err = errors.New("more than one value")
							}
							if sp.name == "gemini" && vendor == "gemini" {
								asked = nil // the path names the model there, and what the body says of one is nothing
							}
							if err != nil {
								t.Errorf("%s: the provider got %v: %.200q", name, err, got)
							}
							for _, m := range asked {
								if m != "m" && m != "models/m" {
									t.Errorf("%s: the provider was asked for %q: %.300q", name, m, got)
								}
							}
						}
					}
					if a := s.post(t.Context(), sp.path(vendor+"/m", false), sp.body(vendor+"/m", false, "hi", false)); a.status != http.StatusOK {
						t.Errorf("afterwards: %s", a.story())
					}
				})
			})
		}
	}
}

// seenBodies keeps the bodies that a provider is sent.
type seenBodies struct {
	next http.Handler
	mu   sync.Mutex
	got  [][]byte
}

func (u *seenBodies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.got = append(u.got, body)
		u.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
	}
	u.next.ServeHTTP(w, r)
}

func (u *seenBodies) take() [][]byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	got := u.got
	u.got = nil
	return got
}

// Package wiretest is the contract of wire's dialects: what each of them keeps, whichever it is. Its own tests run it for
// all of them, and hold each pair of a client's and an upstream's dialect together: conversations written by hand in
// every dialect, with what is sent, lost and answered in files that people can read.
//
// It must know no dialect by name outside of its tests.
package wiretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/wire"
)

// Samples are what a dialect's true traffic looks like.
type Samples struct {
	// Requests are good ones.
	Requests [][]byte
	// Bad are requests with one mistake, by the field at fault.
	Bad map[string][]byte
	// Replies are whole answers that are good, and Streams the same of streams.
	Replies, Streams [][]byte
	// Bare: the model stands in the path, not in the body.
	Bare bool
}

// Run checks all that a dialect promises (wire.Dialect, and Client and Upstream where it is one).
func Run(t *testing.T, d wire.Dialect, s *Samples) {
	t.Helper()
	t.Run("names", func(t *testing.T) { names(t, d) })
	t.Run("requests", func(t *testing.T) { requests(t, d, s) })
	t.Run("replies", func(t *testing.T) { replies(t, d, s) })
	t.Run("odd events", func(t *testing.T) { oddEvents(t, d, s) })
	t.Run("errors", func(t *testing.T) { failures(t, d) })
	t.Run("streams of replies", func(t *testing.T) { unfolds(t, d, s) })
	t.Run("replies of streams", func(t *testing.T) { folds(t, d, s) })
	t.Run("splits", func(t *testing.T) { splits(t, s) })
	t.Run("stateless", func(t *testing.T) { stateless(t, d, s) })
	if c, ok := d.(wire.Client); ok {
		t.Run("bad requests", func(t *testing.T) { badRequests(t, c, s) })
		t.Run("client", func(t *testing.T) { clientSide(t, c, s) })
	}
}

func names(t *testing.T, d wire.Dialect) {
	t.Helper()
	name, path, side := d.Name(), d.Path(), d.Side()
	if name == "" || name != d.Name() || path != d.Path() || side != d.Side() {
		t.Errorf("name %q, path %q, side %v", name, path, side)
	}
	if p := d.Path(); p != "" && (p[0] != '/' || strings.HasPrefix(p, "/v1")) {
		t.Errorf("the path is %q", p)
	}
}

func requests(t *testing.T, d wire.Dialect, s *Samples) {
	t.Helper()
	for _, body := range s.Requests {
		was := bytes.Clone(body)
		r, err := d.ReadRequest(body)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if !s.Bare && r.Model == "" {
			t.Errorf("no model: %s", body)
		}
		prefix := []byte("before ")
		dst := append(make([]byte, 0, 2*len(body)+200), prefix...)
		if out := d.AppendRequest(dst, &r, wire.Rewrite{Model: r.Model}); len(out) == 0 || &out[0] != &r.Body[0] {
			t.Errorf("nothing changes, but it is written anew: %s", out)
		}
		out := d.AppendRequest(dst, &r, wire.Rewrite{Model: "another-model", Params: []wire.Param{{Name: "temperature", Value: []byte("0.125")}}})
		if len(out) == 0 || !bytes.HasPrefix(out, prefix) {
			t.Fatalf("what was before is gone: %s", out)
		}
		again, err := d.ReadRequest(bytes.Clone(out[len(prefix):]))
		switch {
		case err != nil:
			t.Errorf("what was written cannot be read: %v: %s", err, out)
		case !s.Bare && again.Model != "another-model":
			t.Errorf("the model is %q: %s", again.Model, out)
		case again.Stream != r.Stream || again.Choices != r.Choices:
			t.Errorf("it became another request: %s", out)
		}
		if !bytes.Equal(body, was) {
			t.Errorf("the body was changed:\n%s\n%s", was, body)
		}
	}
}

func badRequests(t *testing.T, c wire.Client, s *Samples) {
	t.Helper()
	check := func(body []byte) *wire.RequestError {
		r, err := c.ReadRequest(body)
		if err == nil {
			_, err = c.DecodeRequest(&r)
		}
		var re *wire.RequestError
		if err != nil && (!errors.As(err, &re) || re.Message == "") {
			t.Errorf("%T %v: %.100s", err, err, body)
		}
		return re
	}
	for _, text := range []string{"", " ", "{", "[]", "null", "7", `"text"`, `{"a":}`, "{}{}", "\xff", `{"a":"` + "\xff" + `"}`} {
		if check([]byte(text)) == nil {
			t.Errorf("no error: %q", text)
		}
	}
	for field, body := range s.Bad {
		if re := check(body); re == nil || !strings.HasPrefix(re.Param, field) {
			t.Errorf("%s: got %+v, want that field named", field, re)
		}
	}
	var variants oddities
	for _, body := range s.Requests {
		for i := range len(body) - 1 { // each cut
			if strings.TrimSpace(string(body[i:])) != "" && check(body[:i:i]) == nil {
				t.Fatalf("no error: %s", body[:i])
			}
		}
		for _, odd := range variants.of(body) {
			_ = check(odd) // it says itself what is wrong
		}
	}
}

func replies(t *testing.T, d wire.Dialect, s *Samples) {
	t.Helper()
	for _, text := range []string{"", " ", "{}", "[]", "null", "7", `"text"`, "<html>bad gateway</html>", "{", `{"error":{"message":"m","code":500}}`} {
		if _, f := d.Judge([]byte(text)); f == nil {
			t.Errorf("a good reply: %q", text)
		}
	}
	var variants oddities
	for _, body := range s.Replies {
		was := bytes.Clone(body)
		if _, f := d.Judge(body); f != nil {
			t.Errorf("%v: %s", f, body)
		}
		if !bytes.Equal(body, was) {
			t.Error("the reply was changed")
		}
		for _, odd := range variants.of(body) {
			if _, f := d.Judge(odd); f != nil {
				continue
			}
			if u, ok := d.(wire.Upstream); ok {
				_, _ = u.DecodeReply(odd) // an error is as good as a reply; a panic is not
			}
		}
	}
}

func failures(t *testing.T, d wire.Dialect) {
	t.Helper()
	f := wire.Failure{
		Status: 502, Code: "provider_error", Message: "All \"providers\"\nfailed é.", Param: "model", RequestID: "req_1",
		Attempts: []wire.Attempt{{Target: "a/b", Status: 503, Reason: "upstream", Millis: 12}, {Target: "c/d", Reason: "circuit_open", Skipped: true}},
	}
	body := d.AppendError([]byte("before"), f)
	rest, ok := bytes.CutPrefix(body, []byte("before"))
	if !ok || !json.Valid(rest) {
		t.Fatalf("%s", body)
	}
	if code, message := d.ReadError(rest); message != f.Message && d.Path() != "" {
		t.Errorf("read as %q, %q: %s", code, message, rest)
	}
	if _, f := d.Judge(rest); f == nil {
		t.Errorf("an error body is a good reply: %s", rest)
	}
}

// stateless asks for the same from many goroutines; the race detector, and the answers, tell.
func stateless(t *testing.T, d wire.Dialect, s *Samples) {
	t.Helper()
	all := func() string {
		var out []any
		for _, body := range s.Requests {
			r, err := d.ReadRequest(body)
			out = append(out, r, err, string(d.AppendRequest(nil, &r, wire.Rewrite{Model: "x", AskUsage: true})))
		}
		for _, body := range s.Replies {
			reply, f := d.Judge(body)
			out = append(out, reply, f)
		}
		for _, stream := range s.Streams {
			out = append(out, judgements(d, stream))
		}
		return fmt.Sprintf("%+v", append(out, string(d.AppendError(nil, wire.Failure{Status: 400, Message: "m"}))))
	}
	want := all()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if diff := cmp.Diff(want, all()); diff != "" {
				t.Errorf("not the same again:\n%s", diff)
			}
		})
	}
	wg.Wait()
}

// oddities makes variants of JSON in each of which one value is of another kind, or one member is missing. Each place,
// as the types around it tell places apart, is tried once.
type oddities struct{ seen map[string]bool }

// of gives the variants of data, none if it is no JSON.
func (o *oddities) of(data []byte) [][]byte {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return nil
	}
	if o.seen == nil {
		o.seen = map[string]bool{}
	}
	var out [][]byte
	emit := func() {
		if b, err := json.Marshal(v); err == nil {
			out = append(out, b)
		}
	}
	try := func(set func(any), was any) {
		for _, odd := range [...]string{`null`, `true`, `-7`, `1e300`, `"text"`, `""`, `[]`, `["text",null,{}]`, `{}`, `{"type":"text"}`} {
			set(json.RawMessage(odd))
			emit()
		}
		set(was)
	}
	var walk func(v any, path string)
	walk = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			kind, _ := v["type"].(string)
			for _, k := range slices.Sorted(maps.Keys(v)) {
				was, place := v[k], path+kind+"."+k
				if fresh := place + fmt.Sprintf("%T", was); !o.seen[fresh] {
					o.seen[fresh] = true
					try(func(odd any) { v[k] = odd }, was)
					delete(v, k)
					emit()
					v[k] = was
				}
				walk(was, place)
			}
		case []any:
			for i, was := range v {
				if fresh := path + fmt.Sprintf("[]%T", was); !o.seen[fresh] {
					o.seen[fresh] = true
					try(func(odd any) { v[i] = odd }, was)
				}
				walk(was, path)
			}
		}
	}
	walk(v, "")
	return out
}

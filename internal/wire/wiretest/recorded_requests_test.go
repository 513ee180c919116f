package wiretest_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// recordedRequest is what a client of a dialect sent.
type recordedRequest struct {
	file    string
	dialect wire.Client
	answer  recording
}

// recordedRequests are those in a dialect that clients speak and requests are translated from.
func recordedRequests(t testing.TB) []recordedRequest {
	t.Helper()
	var out []recordedRequest
	for _, r := range recordings() {
		name := strings.TrimSuffix(r.file, filepath.Ext(r.file)) + ".request.json"
		d, ok := r.dialect.(wire.Client)
		if _, err := os.Stat(filepath.Join("testdata", "recorded", name)); ok && err == nil {
			out = append(out, recordedRequest{name, d, r})
		}
	}
	return out
}

// unaskable are requests that their provider refused, and that are refused here, by what the refusal names.
func unaskable() map[string]string {
	return map[string]string{
		"anthropic-messages/error-400-invalid-request.request.json":           "messages",
		"openai-chat/error-400-unsupported-parameter.request.json":            "messages",
		"openai-responses/error-400-previous-response-not-found.request.json": "previous_response_id",
	}
}

// canonical decodes the request as the gateway does.
func (q *recordedRequest) canonical(t testing.TB) (*wire.Canonical, error) {
	t.Helper()
	r, err := q.dialect.ReadRequest(q.body(t))
	if err != nil {
		return nil, err
	}
	if r.Model == "" {
		r.Model = "m" // in the path
	}
	r.Stream = q.answer.streamed()
	return wire.Decode(q.dialect, &r)
}

func (q *recordedRequest) body(t testing.TB) []byte {
	t.Helper()
	body := read(t, filepath.Join("testdata", "recorded", q.file))
	if v, err := parse(body); err == nil && v["model"] == nil && q.dialect.Name() != "gemini" {
		return slices.Concat([]byte(`{"model":"m",`), body[1:]) // Azure, Bedrock and Vertex have it in the path
	}
	return body
}

// Each recorded request can be put to every upstream: its texts, tools, calls and results are in what is sent, and what is
// sent is understood in turn.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	for _, q := range recordedRequests(t) {
		t.Run(q.file, func(t *testing.T) {
			t.Parallel()
			canonical, err := q.canonical(t)
			if param := unaskable()[q.file]; param != "" {
				if refused := (*wire.RequestError)(nil); !errors.As(err, &refused) || !strings.HasPrefix(refused.Param, param) {
					t.Fatalf("%v, want a refusal of %s", err, param)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			body, err := parse(q.body(t))
			if err != nil {
				t.Fatal(err)
			}
			want := askedIn(q.dialect.Name(), body)
			if len(want.texts)+len(want.results) == 0 {
				t.Fatal("the reader saw nothing in it")
			}
			for _, u := range upstreams() {
				target := u.target(u.model)
				target.Model = u.model
				translation := wire.NewTranslation(q.dialect, u.dialect, canonical, target)
				sent, err := translation.AppendRequest(nil, wire.Rewrite{Model: u.model})
				if err != nil {
					t.Fatal(err)
				}
				want.mustBeIn(t, u.name, sent, translation.Dropped())
				back, ok := u.dialect.(wire.Client)
				if !ok {
					continue
				}
				r, err := back.ReadRequest(sent)
				if err != nil {
					t.Fatalf("%s: %v: %s", u.name, err, sent)
				}
				if r.Model == "" {
					r.Model = u.model
				}
				if _, err := back.DecodeRequest(&r); err != nil {
					t.Fatalf("%s: %v: %s", u.name, err, sent)
				}
			}
		})
	}
}

// mustBeIn looks for all that was asked in a request as it is sent.
func (a *asked) mustBeIn(t *testing.T, upstream string, sent []byte, dropped []string) {
	t.Helper()
	var v any
	if err := json.Unmarshal(sent, &v); err != nil {
		t.Fatalf("%s: %v: %s", upstream, err, sent)
	}
	var all leaves
	all.collect(v)
	for _, text := range a.texts {
		if !all.say(text) {
			t.Errorf("%s: %.200q is lost; dropped %v\n%.3000s", upstream, text, dropped, sent)
		}
	}
	for _, r := range a.results {
		if !all.have(r) {
			t.Errorf("%s: the result %.300v is lost; dropped %v\n%.3000s", upstream, r, dropped, sent)
		}
	}
	for _, c := range a.calls {
		if !all.say(c.Name) || !all.have(c.Arguments) {
			t.Errorf("%s: the call %.300v is lost; dropped %v\n%.3000s", upstream, c, dropped, sent)
		}
	}
	for _, m := range a.media {
		if !all.say(m) && !slices.ContainsFunc(dropped, func(d string) bool { return slices.Contains(mediaWords(), d) }) {
			t.Errorf("%s: the file %.100s is lost; dropped %v\n%.3000s", upstream, m, dropped, sent)
		}
	}
	for _, name := range a.tools {
		if !slices.Contains(all.texts, name) {
			t.Errorf("%s: the tool %q is lost; dropped %v", upstream, name, dropped)
		}
	}
}

// mediaWords name files that could not be sent.
func mediaWords() []string {
	return []string{llm.DropImages, llm.DropDocuments, llm.DropAudio, llm.DropVideo, llm.DropFileIDs}
}

// leaves are all the values in some JSON, JSON within texts too.
type leaves struct {
	texts  []string
	values []any
}

func (l *leaves) collect(v any) {
	switch v := v.(type) {
	case string:
		l.texts = append(l.texts, v)
		var inner any
		if strings.ContainsAny(v, "{[") && json.Unmarshal([]byte(v), &inner) == nil {
			l.collect(inner)
		}
	case object:
		l.values = append(l.values, v)
		for _, e := range v {
			l.collect(e)
		}
	case array:
		l.values = append(l.values, v)
		for _, e := range v {
			l.collect(e)
		}
	}
}

func (l *leaves) say(text string) bool {
	return slices.ContainsFunc(l.texts, func(s string) bool { return strings.Contains(s, text) })
}

// have looks for a value, which may have become text, or been text.
func (l *leaves) have(v any) bool {
	if text, ok := v.(string); ok {
		if l.say(text) {
			return true
		}
		var inner any
		if json.Unmarshal([]byte(text), &inner) != nil {
			return false
		}
		v = inner
	}
	return slices.ContainsFunc(l.values, func(w any) bool { return reflect.DeepEqual(v, w) })
}

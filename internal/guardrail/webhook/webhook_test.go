package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/alert"
	"evergate/internal/guardrail"
)

// service plays one.
type service func(r *http.Request) (*http.Response, error)

func (s service) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func says(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

func passage(texts ...string) *guardrail.Passage {
	p := &guardrail.Passage{Phase: guardrail.Request, About: guardrail.About{RequestID: "req_1", Model: "demo", Key: "ci", Team: "red"}}
	for _, t := range texts {
		p.Texts = append(p.Texts, guardrail.Text{Kind: guardrail.Words, Value: []byte(t)})
	}
	return p
}

// The question is signed as an alert is, has whose it is and all words, and nothing of the form.
func TestQuestion(t *testing.T) {
	t.Parallel()
	var body []byte
	var header http.Header
	h := New(Options{URL: "http://judge/x", Secret: "s3cret", Concurrent: 1, Client: service(func(r *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(r.Body)
		header = r.Header
		return says(200, `{"action":"allow"}`), nil
	})})
	p := passage("hello")
	p.Texts = append(p.Texts, guardrail.Text{Kind: guardrail.Label, Value: []byte("user")}, guardrail.Text{Kind: guardrail.Arguments, Value: []byte(`{"a":1}`)})
	if v, err := h.Check(t.Context(), p); err != nil || v.Action != guardrail.Allow {
		t.Fatalf("%v %v", v, err)
	}
	want := `{"phase":"request","model":"demo","key":"ci","team":"red","request_id":"req_1","parts":[{"kind":"text","text":"hello"},{"kind":"arguments","text":"{\"a\":1}"}]}`
	if string(body) != want {
		t.Errorf("%s", body)
	}
	at, _, _ := strings.Cut(strings.TrimPrefix(header.Get(alert.SignatureHeader), "t="), ",")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || header.Get(alert.SignatureHeader) != alert.Sign("s3cret", time.Unix(seconds, 0), body) {
		t.Errorf("the signature %q", header.Get(alert.SignatureHeader))
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		status     int
		want       guardrail.Action
		text, why  string
	}{
		{"allow", `{"action":"allow"}`, 200, guardrail.Allow, "hello", ""},
		{"block", `{"action":"block","reason":"no"}`, 200, guardrail.Block, "hello", ""},
		{"replace", `{"action":"replace","parts":[{"text":"bye"}]}`, 200, guardrail.Replace, "bye", ""},
		{"too few parts", `{"action":"replace","parts":[]}`, 200, 0, "hello", "0 parts for the 1"},
		{"a part without a text", `{"action":"replace","parts":[{"kind":"text"}]}`, 200, 0, "hello", "part 1 of its answer has no text"},
		{"an empty text", `{"action":"replace","parts":[{"text":""}]}`, 200, guardrail.Replace, "", ""},
		{"no action", `{}`, 200, 0, "hello", "none of allow"},
		{"no JSON", `<html>`, 200, 0, "hello", "not JSON"},
		{"an error", `secret words`, 500, 0, "hello", "it answered 500"},
		{"elsewhere", ``, 302, 0, "hello", "it answered 302"},
		{"too long", strings.Repeat(" ", maxReply+100), 200, 0, "hello", "too long"},
	} {
		h := New(Options{URL: "http://judge/" + c.name, Client: service(func(*http.Request) (*http.Response, error) { return says(c.status, c.says), nil })})
		p := passage("hello")
		v, err := h.Check(t.Context(), p)
		if v.Action != c.want || string(p.Texts[0].Value) != c.text || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v %q %v", c.name, v, p.Texts[0].Value, err)
		}
	}
}

// What is said of a failure has neither the URL nor what the network says in it.
func TestFailureSaysNoSecret(t *testing.T) {
	t.Parallel()
	h := New(Options{URL: "http://user:hunter22@judge/token-of-mine", Client: service(func(r *http.Request) (*http.Response, error) {
		return nil, errors.New("dial " + r.URL.String() + ": refused")
	})})
	_, err := h.Check(t.Context(), passage("a prompt"))
	for _, word := range []string{"hunter22", "token-of-mine", "judge", "a prompt"} {
		if err == nil || strings.Contains(err.Error(), word) {
			t.Errorf("%v", err)
		}
	}
}

// A user and a password in the URL are sent as such.
func TestCredentialInTheURL(t *testing.T) {
	t.Parallel()
	h := New(Options{URL: "http://user:hunter22@judge/", Client: service(func(r *http.Request) (*http.Response, error) {
		if user, password, ok := r.BasicAuth(); !ok || user != "user" || password != "hunter22" {
			return says(401, ""), nil
		}
		return says(200, `{"action":"allow"}`), nil
	})})
	if _, err := h.Check(t.Context(), passage("x")); err != nil {
		t.Error(err)
	}
}

// No more calls are under way than may be; one more waits, and fails when its time is up.
func TestBoundedConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		h := New(Options{URL: "http://judge/", Concurrent: 2, Client: service(func(r *http.Request) (*http.Response, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return says(200, `{"action":"allow"}`), nil
		})})
		var failed atomic.Int64
		for range 6 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
				defer cancel()
				if _, err := h.Check(ctx, passage("x")); err != nil {
					failed.Add(1)
				}
			}()
		}
		time.Sleep(5 * time.Second)
		if most.Load() != 2 || failed.Load() != 2 {
			t.Errorf("%d at once, %d failed", most.Load(), failed.Load())
		}
	})
}

func FuzzVerdict(f *testing.F) {
	f.Add([]byte(`{"action":"replace","reason":"x","parts":[{"text":"y"}]}`))
	f.Fuzz(func(t *testing.T, said []byte) {
		a, err := read(said)
		if err == nil && !json.Valid(said) {
			t.Fatalf("%q is %v", said, fmt.Sprint(a))
		}
	})
}

// A service may write each character as an escape, as many libraries do beyond ASCII.
func TestEscapedVerdict(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("д", 700_000)
	h := New(Options{URL: "http://judge/", Client: service(func(*http.Request) (*http.Response, error) {
		return says(200, `{"action":"replace","parts":[{"text":"`+strings.Repeat(`\u0434`, 700_000)+`"}]}`), nil
	})})
	p := passage(text)
	if v, err := h.Check(t.Context(), p); err != nil || v.Action != guardrail.Replace || string(p.Texts[0].Value) != text {
		t.Errorf("%v %v", v, err)
	}
}

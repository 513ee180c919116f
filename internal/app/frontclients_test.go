package app

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

const withKeys = `
server: {listen: "gateway:80"%s}
auth: {failed_limit: 6, keys: [{name: ci, value: the-right-key}]}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}
`

// Who tries keys is held off, with the right one too, for as long as the answer says, in the words of its dialect; others are not.
func TestGuessedKeys(t *testing.T) {
	const chat = `{"model":"a/m","messages":[{"role":"user","content":"hi"}]}`
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, fmt.Sprintf(withKeys, ", trusted_proxies: [10.0.0.1]"), map[string]mock.Script{"a": answers()})
		ask := func(key, client, path string) answer {
			return s.post(t.Context(), path, chat, "Authorization", "Bearer "+key, "X-Forwarded-For", "127.0.0.1, "+client)
		}
		const path = "/v1/chat/completions"
		for range 10 { // who shows none guesses nothing
			if got := s.post(t.Context(), path, chat, "X-Forwarded-For", "198.51.100.1"); got.status != 401 {
				t.Fatal(got.story())
			}
		}
		begun := time.Now()
		for range 6 {
			if got := ask("a-wrong-key", "198.51.100.1", path); got.status != 401 {
				t.Fatal(got.story())
			}
		}
		for _, c := range []struct{ path, says string }{
			{path, `"code":"too_many_invalid_keys"`},
			{"/v1/messages", `"type":"rate_limit_error"`},
			{"/v1beta/models/m:generateContent", `"status":"RESOURCE_EXHAUSTED"`},
			{"/v1/models", "too_many_invalid_keys"},
			{"/passthrough/a/files", "too_many_invalid_keys"},
		} {
			got := ask("the-right-key", "198.51.100.1", c.path)
			if c.path == "/v1/models" {
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway"+c.path, nil)
				req.Header.Set("X-Forwarded-For", "198.51.100.1")
				resp, err := s.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				b, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				got = answer{status: resp.StatusCode, header: resp.Header, body: string(b)}
			}
			if got.status != 429 || !strings.Contains(got.body, c.says) || got.header.Get("Retry-After") != "10" {
				t.Errorf("%s: %d %s, wait %s", c.path, got.status, got.body, got.header.Get("Retry-After"))
			}
		}
		if got := ask("the-right-key", "198.51.100.2", path); got.status != 200 {
			t.Errorf("another address: %s", got.story())
		}
		time.Sleep(time.Until(begun) + 10*time.Second - time.Millisecond)
		if got := ask("the-right-key", "198.51.100.1", path); got.status != 429 || got.header.Get("Retry-After-Ms") != "1" {
			t.Errorf("just before: %s, wait %s ms", got.story(), got.header.Get("Retry-After-Ms"))
		}
		time.Sleep(time.Millisecond)
		if got := ask("the-right-key", "198.51.100.1", path); got.status != 200 {
			t.Errorf("just after: %s", got.story())
		}
	})
}

// Admin tokens are guessed no faster than keys, and count with them.
func TestGuessedTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, fmt.Sprintf(withKeys, ""), map[string]mock.Script{"a": answers()})
		ask := func(token string) (status int, wait string) {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway/admin/v1/health", nil)
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			resp, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode, resp.Header.Get("Retry-After")
		}
		for range 10 {
			if status, _ := ask(""); status != http.StatusUnauthorized {
				t.Fatalf("without one: %d", status)
			}
		}
		for range 6 {
			if status, _ := ask("wrong"); status != http.StatusUnauthorized {
				t.Fatalf("a wrong one: %d", status)
			}
		}
		if status, wait := ask("admin-token"); status != http.StatusTooManyRequests || wait != "10" {
			t.Errorf("the right one: %d, wait %s", status, wait)
		}
		if got := s.post(t.Context(), "/v1/chat/completions", "{}", "Authorization", "Bearer the-right-key"); got.status != http.StatusTooManyRequests {
			t.Errorf("a key: %s", got.story())
		}
		time.Sleep(10 * time.Second)
		if status, _ := ask("admin-token"); status != http.StatusOK {
			t.Errorf("after the wait: %d", status)
		}
	})
}

// A client names itself as it likes: nothing comes of it but through a proxy that is listed.
func TestSpoofedAddresses(t *testing.T) {
	const chat = `{"model":"a/m","messages":[{"role":"user","content":"hi"}]}`
	for _, trusted := range []string{"", ", trusted_proxies: [10.0.0.2]"} {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(t, fmt.Sprintf(withKeys, trusted), map[string]mock.Script{"a": answers()})
			for i := range 6 { // another address each time, in every header there is
				from := fmt.Sprintf("198.51.100.%d", i)
				if got := s.post(t.Context(), "/v1/chat/completions", chat, "Authorization", "Bearer wrong", "X-Forwarded-For", from, "Forwarded", "for="+from, "X-Real-Ip", from); got.status != 401 {
					t.Fatal(got.story())
				}
			}
			if got := s.post(t.Context(), "/v1/chat/completions", chat, "Authorization", "Bearer wrong", "X-Forwarded-For", "198.51.100.99", "Forwarded", "for=127.0.0.1"); got.status != 429 {
				t.Errorf("%q: %s", trusted, got.story())
			}
		})
	}
	// Nor does this machine's address open what is open to this machine alone.
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(fmt.Sprintf(withKeys, ", trusted_proxies: [10.0.0.1]"), "admin: {token: admin-token}", "admin: {listen: \"127.0.0.1:81\"}", 1)
		s := newStack(t, text, map[string]mock.Script{"a": answers()})
		for _, said := range []string{"127.0.0.1", "::1", "10.0.0.1"} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:81/admin/v1/health", nil)
			req.Header.Set("X-Forwarded-For", said)
			resp, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("as %s: %s", said, resp.Status)
			}
		}
	})
}

// Pages of other origins may ask for answers where the configuration names them, and never the admin API.
func TestCORS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(twoProviders, `{listen: "gateway:80"}`, `{listen: "gateway:80", cors: {origins: ["https://app.example"]}}`, 1)
		s := newStack(t, strings.Replace(text, "auth: {allow_anonymous: true}", "auth: {keys: [{name: ci, value: the-right-key}]}", 1), map[string]mock.Script{"a": answers(), "b": answers()})
		question := func(path, origin string) (int, string) {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodOptions, "http://gateway"+path, nil)
			req.Header.Set("Origin", origin)
			req.Header.Set("Access-Control-Request-Method", "POST")
			req.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
			resp, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode, resp.Header.Get("Access-Control-Allow-Origin")
		}
		if status, origin := question("/v1/chat/completions", "https://app.example"); status != http.StatusNoContent || origin != "https://app.example" {
			t.Errorf("%d %q", status, origin)
		}
		for path, origin := range map[string]string{"/v1/chat/completions": "https://evil.example", "/admin/v1/config": "https://app.example", "/metrics": "https://app.example", "/ui/": "https://app.example"} {
			if status, allowed := question(path, origin); status < 400 || allowed != "" {
				t.Errorf("%s for %s: %d %q", path, origin, status, allowed)
			}
		}
		const chat = `{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]}`
		got := s.post(t.Context(), "/v1/chat/completions", chat, "Origin", "https://app.example", "Authorization", "Bearer the-right-key")
		if got.status != 200 || !got.done || got.header.Get("Access-Control-Allow-Origin") != "https://app.example" {
			t.Errorf("%s %v", got.story(), got.header)
		}
		if got := s.post(t.Context(), "/v1/chat/completions", chat, "Origin", "https://app.example"); got.status != 401 || got.header.Get("Access-Control-Allow-Origin") == "" {
			t.Errorf("a page must see that its key is missing: %s %v", got.story(), got.header)
		}
		s.next = parse(t, twoProviders)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if status, origin := question("/v1/chat/completions", "https://app.example"); status < 400 || origin != "" {
			t.Errorf("after it was taken away: %d %q", status, origin)
		}
	})
}

// A body that comes drop by drop ends; one that is slow but does come, and one whose upstream is slow, do not.
func TestDrippingBody(t *testing.T) {
	for name, c := range map[string]struct {
		size   int
		pause  time.Duration
		reads  time.Duration // between reads of the upstream
		status int
	}{
		"drop by drop":    {1, 10 * time.Second, 0, http.StatusRequestTimeout},
		"slow":            {4 << 10, 10 * time.Second, 0, 200},
		"a slow upstream": {64 << 10, 0, 3 * time.Second, 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := passStack(t, ", timeouts: {attempt: 1h}", func(_ http.ResponseWriter, r *http.Request) {
					buf := make([]byte, 4<<10)
					for {
						if _, err := r.Body.Read(buf); err != nil {
							return
						}
						time.Sleep(c.reads)
					}
				})
				start := time.Now()
				res, text := s.do("POST", "/passthrough/up/files", &drip{pieces: 100, size: c.size, pause: c.pause, hash: io.Discard})
				if res.StatusCode != c.status {
					t.Errorf("%d after %s: %s", res.StatusCode, time.Since(start), text)
				}
				if took := time.Since(start); c.status != 200 && took > 2*time.Minute {
					t.Errorf("it took %s", took)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// However many headers a request has, who asks for nothing good is refused in a moment; connections that are too many leave operators theirs.
func TestLimitsOfTheFront(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(twoProviders, `{listen: "gateway:80"}`, `{listen: "gateway:80", max_connections: 2, header_timeout: 2s, idle_timeout: 5s, max_header: 4KiB, read_timeout: 3s}`, 1)
		s := newStack(t, strings.Replace(text, "admin: {", "admin: {listen: \"office:81\", ", 1), map[string]mock.Script{"a": answers(), "b": answers()})
		c := s.wire(t)
		_, _ = io.WriteString(c, "GET /v1/models HTTP/1.1\r\nHost: gateway\r\n")
		for i := range 201 {
			_, _ = fmt.Fprintf(c, "X-%d: 1\r\n", i)
		}
		_, _ = io.WriteString(c, "\r\n")
		if res, body := reply(t, c); res.StatusCode != 431 || !strings.Contains(body, "more than 200 headers") || !res.Close {
			t.Errorf("%s %s", res.Status, body)
		}
		time.Sleep(time.Second)
		for name, f := range map[string]struct {
			send string
			want string
			took time.Duration
		}{
			"a head without end":    {"GET /v1/models HTTP/1.1\r\nHost: ", "", 2 * time.Second},
			"a head too large":      {"GET /v1/models HTTP/1.1\r\nHost: gateway\r\nX: " + strings.Repeat("x", 16<<10) + "\r\n\r\n", "HTTP/1.1 431", time.Second},
			"a body without end":    {head("POST", "/v1/chat/completions", 100), "HTTP/1.1 408", 4 * time.Second},
			"nothing after a reply": {"GET /v1/models HTTP/1.1\r\nHost: gateway\r\n\r\n", "HTTP/1.1 200", 5 * time.Second},
		} {
			c, start := s.wire(t), time.Now()
			go func() { _, _ = io.WriteString(c, f.send) }()
			got, _ := io.ReadAll(c)
			if took := time.Since(start); !strings.HasPrefix(string(got), f.want) || took > f.took+time.Second || f.want == "" && len(got) > 0 {
				t.Errorf("%s: %.20q after %s", name, got, took)
			}
			_ = c.Close()
			time.Sleep(time.Second) // the server is not in a hurry to close
		}
		one, two := s.persistent(t), s.persistent(t)
		if got := one.ask(false) + " " + two.ask(false) + " " + s.persistent(t).ask(false); got != "200 200 cut" {
			t.Errorf("three connections: %s", got)
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://office:81/metrics", nil)
		req.Header.Set("Authorization", "Bearer admin-token")
		resp, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); !strings.Contains(string(text), `evergate_connections_refused_total{reason="max_connections"} 1`) {
			t.Errorf("metrics: %s", text)
		}
	})
}

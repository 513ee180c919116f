package app

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// A file goes to Gemini as its SDKs send it: begun at the place for uploads beside the API, sent to the address that the answer names,
// which leads through the gateway, with the gateway's credential and none of the client's.
func TestUploadToGemini(t *testing.T) {
	const text = `
server: {listen: "gateway:80"}
auth: {mode: keys, keys: [{name: ci, value: client-key-1}]}
admin: {token: admin-token}
providers:
  g: {type: gemini, base_url: "http://up/v1beta", api_key: g-key-of-the-gateway, models: [m]}
`
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		s := newStackWith(t, parse(t, text), map[string]mock.Script{}, slog.New(slog.DiscardHandler), func(s *stack) {
			s.net.Serve(t, "up:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet { // the list of models
					return
				}
				body, _ := io.ReadAll(r.Body)
				asked = append(asked, fmt.Sprintf("%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("X-Goog-Upload-Command"), body))
				if key := r.Header.Get("X-Goog-Api-Key"); key != "g-key-of-the-gateway" || r.Header.Get("Authorization") != "" {
					t.Errorf("the key is %q beside %q", key, r.Header.Get("Authorization"))
				}
				if r.Header.Get("X-Goog-Upload-Command") == "start" {
					w.Header().Set("X-Goog-Upload-Url", "http://up/upload/v1beta/files?upload_id=u1&upload_protocol=resumable")
					w.Header().Set("X-Goog-Upload-Control-Url", "http://elsewhere/upload/v1beta/files?upload_id=u1")
					w.Header().Set("X-Goog-Upload-Status", "active")
				}
				_, _ = io.WriteString(w, `{}`)
			}))
		})
		res, _ := s.do("POST", "/passthrough/g/upload/v1beta/files", strings.NewReader(`{"file":{}}`), "X-Goog-Upload-Protocol", "resumable", "X-Goog-Upload-Command", "start")
		to := res.Header.Get("X-Goog-Upload-Url")
		address, ticket, _ := strings.Cut(to, "&evergate_ticket=")
		if want := "http://gateway/passthrough/g/upload/v1beta/files?upload_id=u1&upload_protocol=resumable"; res.StatusCode != 200 || address != want || len(ticket) != 32 || res.Header.Get("X-Goog-Upload-Control-Url") != "" {
			t.Fatalf("%d: the address is %q, want %q; %v", res.StatusCode, to, want, res.Header)
		}
		if res, _ = s.do("POST", "/passthrough/g/upload/v1beta/files", nil, "X-Goog-Upload-Command", "start", "X-Forwarded-Proto", "https"); !strings.HasPrefix(res.Header.Get("X-Goog-Upload-Url"), "https://gateway/passthrough/g/upload/") {
			t.Errorf("behind TLS it is %q", res.Header.Get("X-Goog-Upload-Url"))
		}
		for _, proto := range []string{"http", "http, https", "HTTPS, http"} {
			res, _ = s.do("POST", "/passthrough/g/upload/v1beta/files", nil, "X-Goog-Upload-Command", "start", "X-Forwarded-Proto", proto)
			if first, _, _ := strings.Cut(strings.ToLower(proto), ","); !strings.HasPrefix(res.Header.Get("X-Goog-Upload-Url"), first+"://gateway/") {
				t.Errorf("behind %q it is %q", proto, res.Header.Get("X-Goog-Upload-Url"))
			}
			asked = asked[:2]
		}
		// Google's SDK for Python sends no key there.
		keyless := func(method, to, key string, headers ...string) int {
			req, _ := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader("bytes"))
			if key != "" {
				req.Header.Set("Authorization", "Bearer "+key)
			}
			for i := 0; i+1 < len(headers); i += 2 {
				req.Header.Set(headers[i], headers[i+1])
			}
			res, err := s.client.Transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body)
			return res.StatusCode
		}
		if got := keyless("POST", to, "", "X-Goog-Upload-Command", "upload, finalize"); got != 200 {
			t.Errorf("the bytes: %d", got)
		}
		for what, got := range map[string]int{
			"no ticket":                      keyless("POST", address, ""),
			"another ticket":                 keyless("POST", address+"&evergate_ticket=AAAAAAAAAAAAAAAAAAAAAA", ""),
			"an empty ticket":                keyless("POST", address+"&evergate_ticket=", ""),
			"another upload":                 keyless("POST", strings.Replace(to, "u1", "u2", 1), ""),
			"another path":                   keyless("POST", strings.Replace(to, "upload/v1beta/files", "v1beta/models/m:generateContent", 1), ""),
			"something more in the query":    keyless("POST", to+"&a=b", ""),
			"a wrong key beside it":          keyless("POST", to, "wrong"),
			"a wrong key beside it, in ?key": keyless("POST", to+"&key=wrong", ""),
			"a new upload":                   keyless("POST", to, "", "X-Goog-Upload-Command", "Start"),
			"reading":                        keyless("GET", to, ""),
		} {
			if got != 401 {
				t.Errorf("%s: %d", what, got)
			}
		}
		if res, body := s.do("GET", "/passthrough/g/upload/v1beta/../admin", nil); res.StatusCode != 400 {
			t.Errorf("%d %s", res.StatusCode, body)
		}
		want := []string{
			`POST /upload/v1beta/files start {"file":{}}`, "POST /upload/v1beta/files start ",
			"POST /upload/v1beta/files?upload_id=u1&upload_protocol=resumable upload, finalize bytes",
		}
		if strings.Join(asked, "\n") != strings.Join(want, "\n") {
			t.Errorf("asked:\n%s", strings.Join(asked, "\n"))
		}
	})
}

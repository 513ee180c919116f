package app

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wideOpen is a gateway whose one upstream, at the end of a long path, hears whatever it is asked.
const wideOpen = `
server: {listen: "gateway:80"}
auth: {mode: keys, keys: [{name: ci, value: client-key-1}, {name: narrow, value: client-key-2, models: [m]}]}
admin: {token: admin-token}
providers:
  up:  {type: openai, api: responses, base_url: "http://up/tenant/7/v1", api_key: sk-up-key-1, models: [m]}
  gem: {type: gemini, base_url: "http://up/tenant/7/v1beta", api_key: sk-gem-key-1, models: [m]}
`

// heardAt keeps what an upstream was asked, as it stood on the wire.
type heardAt struct {
	mu   sync.Mutex
	uris []string
	head []http.Header
}

func (h *heardAt) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.uris, h.head = append(h.uris, r.RequestURI), append(h.head, r.Header.Clone())
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, ":generateContent") {
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"yes"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`)
		return
	}
	_, _ = io.WriteString(w, `{"id":"x","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"yes","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`)
}

func (h *heardAt) take() (uris []string, head []http.Header) {
	h.mu.Lock()
	defer h.mu.Unlock()
	uris, head = h.uris, h.head
	h.uris, h.head = nil, nil
	return uris, head
}

// openStack starts it.
func openStack(t *testing.T) (*stack, *heardAt) {
	up := &heardAt{}
	return newStackWith(t, parse(t, wideOpen), nil, slog.New(slog.DiscardHandler), func(s *stack) { s.net.Serve(t, "up:80", up) }), up
}

// leaves says of a request's target whether any server on the way may take it for a place outside of a root: whatever is decoded how often, and
// whether a backslash is a slash or what follows a semicolon is left out.
func leaves(target, root string) bool {
	p, _, _ := strings.Cut(target, "?")
	for range 6 {
		for _, reading := range []string{p, strings.ReplaceAll(p, `\`, "/"), unsemicolon(p), unsemicolon(strings.ReplaceAll(p, `\`, "/"))} {
			if clean := path.Clean(reading); !strings.HasPrefix(clean+"/", root+"/") || strings.ContainsAny(reading, "\x00\r\n") {
				return true
			}
		}
		next, err := url.PathUnescape(p)
		if err != nil || next == p {
			return false
		}
		p = next
	}
	return false
}

func unsemicolon(p string) string {
	segments := strings.Split(p, "/")
	for i := range segments {
		segments[i], _, _ = strings.Cut(segments[i], ";")
	}
	return strings.Join(segments, "/")
}

// No path that a client writes leads a request with the gateway's credential out of the place that the provider's base URL names, nor to the
// gateway's own admin API.
func TestHostilePaths(t *testing.T) {
	var ways []string
	for _, up := range []string{
		"..", "%2e%2e", "%2E.", "%252e%252e", "%25252e%25252e", "..;", "..;x=1", "..%3b", "..%00", "..%5c", `..\`, "..%c0%af", "..%e0%80%af", ".%2e", "...", "%2e%2e%2f%2e%2e",
		"..%2f", "..%252f", "..%09", "..%0d%0a", "..%20", "..%23", "..%3f", "%ff%2e%2e", "．．", "..%u2215",
	} {
		for _, times := range []int{1, 3, 8} {
			ways = append(ways, strings.Repeat(up+"/", times)+"admin", strings.Repeat(up+"%2f", times)+"admin", "x/"+strings.Repeat(up+"/", times)+"admin")
		}
	}
	ways = append(ways, "/evil.example/x", "//evil.example/x", "%2f%2fevil.example/x", "@evil.example/x", ":80/x", "http://evil.example/x", "http:%2f%2fevil.example",
		"?x=../../..", "#../..", "%", "%zz", "%2", strings.Repeat("a/", 5000), strings.Repeat("%2e%2e%2f", 2000))
	places := map[string]string{
		"GET /passthrough/up/": "/tenant/7", "GET /passthrough/gem/": "/tenant/7", "POST /passthrough/up/v1/": "/tenant/7/v1",
		"GET /v1/responses/": "/tenant/7/v1", "POST /v1/responses/": "/tenant/7/v1", "DELETE /v1/responses/resp_1/": "/tenant/7/v1",
		"GET /v1/files/": "/tenant/7/v1", "GET /v1/batches/": "/tenant/7/v1", "GET /v1/models/": "/tenant/7",
		"POST /v1beta/models/gem/": "/tenant/7/v1beta", "GET /passthrough/": "/tenant/7",
	}
	synctest.Test(t, func(t *testing.T) {
		s, up := openStack(t)
		asked := 0
		for place, root := range places {
			method, begin, _ := strings.Cut(place, " ")
			for _, way := range ways {
				target := begin + way
				if strings.HasPrefix(begin, "/v1beta/") {
					target += ":generateContent"
				}
				target = strings.NewReplacer(" ", "%20", "\r", "%0d").Replace(target)
				c := s.wire(t)
				body := `{"contents":[{"parts":[{"text":"hi"}]}]}`
				_, _ = io.WriteString(c, head(method, target, len(body), "Connection: close\r\nX-Evergate-Provider: up\r\nAuthorization: Bearer client-key-1\r\n")+body)
				got, err := io.ReadAll(c)
				if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 ") || strings.HasPrefix(string(got), "HTTP/1.1 5") && !strings.Contains(string(got), "=model_missing") {
					t.Errorf("%s %.100s: %v %.200q", method, target, err, got)
				}
				if strings.Contains(string(got), "uptime") || strings.Contains(string(got), `"instance`) {
					t.Errorf("%s %.100s: the admin API answered: %.300q", method, target, got)
				}
				uris, _ := up.take()
				uris = slices.DeleteFunc(uris, func(uri string) bool { return strings.Contains(uri, "models?pageSize") || uri == "/tenant/7/v1/models" }) // discovery
				for _, uri := range uris {
					asked++
					if leaves(uri, root) {
						t.Errorf("%s %.100s led to %.200s", method, target, uri)
					}
				}
				_ = c.Close()
			}
		}
		if asked < 20 {
			t.Errorf("only %d of these came to the upstream: the test sees nothing", asked)
		}
	})
}

// What a client puts into headers and names stays in its place: no line of it becomes another header, at the provider or in the answer.
func TestHostileHeaders(t *testing.T) {
	long := strings.Repeat("k", 40<<10)
	for name, tc := range map[string]struct {
		headers string
		model   string
		status  int
	}{
		"a model with line ends":             {model: `m\r\nX-Injected: 1\r\n\r\n`, status: 404},
		"a model of the provider, line ends": {model: `up/m\r\nX-Injected: 1`, status: 200},
		"a model with a NUL":                 {model: `up/m\u0000`, status: 200},
		"a model of Unicode":                 {model: `up/м😀`, status: 200},
		"a long model":                       {model: "up/" + strings.Repeat("m", 5000), status: 400},
		"odd preferences":                    {model: "up/m", headers: "X-Evergate-Prefer: order=up\x80\xff,\"; ;;==\r\n", status: 400},
		"long preferences":                   {model: "up/m", headers: "X-Evergate-Prefer: " + strings.Repeat("order=up;", 4000) + "\r\n", status: 200},
		"an id with bytes":                   {model: "up/m", headers: "X-Request-Id: a\x80\xff b\r\n", status: 200},
		"a long id":                          {model: "up/m", headers: "X-Request-Id: " + long + "\r\n", status: 200},
		"a broken trace":                     {model: "up/m", headers: "Traceparent: 00-ffffffffffffffffffffffffffffffff-0000000000000000-ff\r\nTracestate: " + long + "\r\nBaggage: " + long[:8000] + "\r\n", status: 200},
		"two traces":                         {model: "up/m", headers: "Traceparent: 00-1-2-3\r\nTraceparent: x\r\nTracestate: ,,,=,\r\n", status: 200},
		"the gateway's own":                  {model: "up/m", headers: "X-Evergate-Provider: gem\r\nX-Evergate-Trail: x\r\nX-Evergate-Anything: x\r\n", status: 200},
		"credentials everywhere":             {model: "up/m", headers: "X-Api-Key: a\r\nApi-Key: b\r\nX-Goog-Api-Key: c\r\nCookie: d=e\r\nProxy-Authorization: Basic f\r\nOpenai-Organization: org\r\nX-Amz-Security-Token: g\r\n", status: 401},
		"where the client is":                {model: "up/m", headers: "X-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nX-Real-Ip: 1.2.3.4\r\nVia: a\r\nOrigin: http://evil\r\nReferer: http://evil\r\nX-Forwarded-Host: evil\r\n", status: 200},
		"hop by hop":                         {model: "up/m", headers: "Connection: X-Injected, Authorization, Content-Type\r\nX-Injected: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: X\r\nProxy-Connection: x\r\n", status: 200},
		"names of digits and marks":          {model: "up/m", headers: "1!#$%&'*+-.^_`|~: x\r\n", status: 200},
		"another content type":               {model: "up/m", headers: "Content-Type: text/plain\r\n", status: 200},
		"a coded body":                       {model: "up/m", headers: "Content-Encoding: gzip\r\n", status: 415},
		"a body coded twice":                 {model: "up/m", headers: "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n", status: 200},
		"3 000 headers":                      {model: "up/m", headers: strings.Repeat("X-A: b\r\n", 3000), status: 200},
		"another method on top":              {model: "up/m", headers: "X-Http-Method-Override: DELETE\r\nX-Method-Override: PUT\r\n", status: 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, up := openStack(t)
				body := fmt.Sprintf(`{"model":"%s","input":"hi"}`, tc.model)
				c := s.wire(t)
				_, _ = io.WriteString(c, head("POST", "/v1/responses", len(body), "Connection: close\r\nAuthorization: Bearer client-key-1\r\n"+tc.headers)+body)
				res, got := reply(t, c)
				if res.StatusCode != tc.status {
					t.Errorf("%d, want %d: %.300s", res.StatusCode, tc.status, got)
				}
				if len(res.Header["X-Injected"]) > 0 || res.StatusCode != 200 && !strings.Contains(got, `"error"`) {
					t.Errorf("%v %.300s", res.Header, got)
				}
				for name, values := range res.Header {
					for _, v := range values {
						if len(v) > 4<<10 || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
							t.Errorf("header %s: %.100q", name, v)
						}
					}
				}
				_, heads := up.take()
				for _, h := range heads {
					if h.Get("Authorization") != "Bearer sk-up-key-1" && h.Get("X-Goog-Api-Key") != "sk-gem-key-1" {
						t.Errorf("the provider's credential is %q", h.Get("Authorization"))
					}
					for _, name := range []string{
						"X-Injected", "X-Api-Key", "Api-Key", "Cookie", "Proxy-Authorization", "Openai-Organization", "X-Amz-Security-Token", "X-Forwarded-For",
						"Forwarded", "X-Real-Ip", "Via", "Origin", "Referer", "X-Forwarded-Host", "Keep-Alive", "Te", "Trailer", "Proxy-Connection", "X-Evergate-Provider", "X-Evergate-Trail", "Content-Encoding",
					} {
						if v := h.Get(name); v != "" {
							t.Errorf("the provider got %s: %s", name, v)
						}
					}
				}
			})
		})
	}
}

// A query of any size costs no more than its bytes, and a form that is none, or one in another, is refused.
func TestHostileQueriesAndForms(t *testing.T) {
	form := func(boundary, body string) []string {
		return []string{"multipart/form-data; boundary=" + boundary, body}
	}
	part := func(head, body string) string { return "--b\r\n" + head + "\r\n\r\n" + body + "\r\n" }
	const model = `Content-Disposition: form-data; name="model"`
	file := part("Content-Disposition: form-data; name=\"file\"; filename=\"../../etc/passwd\"\r\nContent-Type: audio/wav", "RIFF")
	for name, tc := range map[string]struct {
		form  []string
		query string
		want  int
	}{
		"good":                    {form: form("b", part(model, "a/m")+file+"--b--\r\n"), want: 200},
		"many fields of a query":  {form: form("b", part(model, "a/m")+file+"--b--\r\n"), query: "?" + strings.Repeat("a=b&", 12_000), want: 200},
		"a broken query":          {form: form("b", part(model, "a/m")+file+"--b--\r\n"), query: "?%zz&;;&=&model=b/m2&key=x", want: 200},
		"no boundary":             {form: []string{"multipart/form-data", part(model, "a/m")}, want: 400},
		"an empty boundary":       {form: form(`""`, part(model, "a/m")), want: 400},
		"a long boundary":         {form: form(strings.Repeat("b", 30_000), part(model, "a/m")), want: 400},
		"another boundary":        {form: form("c", part(model, "a/m")+"--b--\r\n"), want: 400},
		"no end":                  {form: form("b", part(model, "a/m")+file), want: 400},
		"cut within a head":       {form: form("b", "--b\r\nContent-Disposition: form-data; na"), want: 400},
		"no model":                {form: form("b", file+"--b--\r\n"), want: 400},
		"the model as a file":     {form: form("b", part(model+`; filename="x"`, "a/m")+file+"--b--\r\n"), want: 400},
		"the model of another":    {form: form("b", part(model, "a/m")+part(model, "nowhere/m")+file+"--b--\r\n"), want: 404},
		"the model in RFC 5987":   {form: form("b", part(`Content-Disposition: form-data; name="x"; name*=utf-8''model`, "a/m")+file+"--b--\r\n"), want: 400},
		"the model's name twice":  {form: form("b", part(`Content-Disposition: form-data; name="model"; name="x"`, "a/m")+file+"--b--\r\n"), want: 400},
		"the model in capitals":   {form: form("b", part(model, "a/m")+part(`Content-Disposition: form-data; name="MODEL"`, "b/m2")+file+"--b--\r\n"), want: 400},
		"10 000 parts":            {form: form("b", part(model, "a/m")+strings.Repeat(part(`Content-Disposition: form-data; name="a"`, "x"), 10_000)+file+"--b--\r\n"), want: 0},
		"5 000 headers of a part": {form: form("b", part(strings.Repeat("X-A: b\r\n", 5000)+model, "a/m")+file+"--b--\r\n"), want: 0},
		"a form in a form":        {form: form("b", part(model, "a/m")+part("Content-Disposition: form-data; name=\"x\"\r\nContent-Type: multipart/mixed; boundary=b", "--b\r\n"+model+"\r\n\r\nb/m2\r\n--b--")+file+"--b--\r\n"), want: 0},
		"quoted and coded":        {form: form("b", part("Content-Transfer-Encoding: base64\r\n"+model, "YS9t")+file+"--b--\r\n"), want: 400},
		"what follows the end":    {form: form("b", part(model, "a/m")+file+"--b--\r\n"+part(model, "b/m2")+"--b--\r\n"), want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSide(t, map[string]http.HandlerFunc{"a": hears, "b": hears})
				a := s.post(t.Context(), "/v1/audio/transcriptions"+tc.query, tc.form[1], "Content-Type", tc.form[0])
				if tc.want != 0 && a.status != tc.want || a.status == 0 || a.status > 499 || a.status != 200 && !strings.Contains(a.body, `"error"`) {
					t.Errorf("%d, want %d: %.300s %v", a.status, tc.want, a.body, a.broken)
				}
				if s.asked["b"] > 0 {
					t.Error("b was asked")
				}
				s.client.CloseIdleConnections()
				time.Sleep(time.Second) // net/http waits so long with a connection that it closes
			})
		})
	}
}

package ingress

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPassHeader(t *testing.T) {
	from := http.Header{
		"X-Ratelimit-Remaining-Requests": {"9"}, "Retry-After": {"3"}, "Openai-Processing-Ms": {"12"}, "Openai-Version": {"2020-10-01"},
		"Connection": {"close, X-Hop"}, "X-Hop": {"1"}, "Keep-Alive": {"timeout=5"}, "Transfer-Encoding": {"chunked"},
		"Set-Cookie": {"session=1"}, "Www-Authenticate": {"Bearer"}, "Authorization": {"Bearer sk-upstream"},
		"Openai-Organization": {"org-secret"}, "Server": {"cloudflare"}, "Alt-Svc": {"h3"}, "Access-Control-Allow-Origin": {"*"},
		"Content-Length": {"10"}, "Content-Encoding": {"gzip"}, "Date": {"today"}, "X-Request-Id": {"theirs"}, "X-Evergate-Provider": {"forged"},
	}
	to := http.Header{}
	passHeader(to, from)
	for _, name := range []string{"X-Ratelimit-Remaining-Requests", "Retry-After", "Openai-Processing-Ms", "Openai-Version"} {
		if to.Get(name) != from.Get(name) {
			t.Errorf("%s does not pass", name)
		}
		delete(to, name)
	}
	if len(to) != 0 {
		t.Errorf("these pass and must not: %v", to)
	}
}

// An upstream's large head does not cost the client its answer: what clients act on passes, the rest stays.
func TestPassHeaderOfALargeHead(t *testing.T) {
	from := http.Header{
		"X-Ratelimit-Remaining-Requests": {"9"}, "Anthropic-Ratelimit-Tokens-Reset": {"2026-01-01T00:00:00Z"}, "Retry-After": {"3"},
		"Retry-After-Ms": {"2500"}, "X-Should-Retry": {"false"}, "X-Ratelimit-Forged": {strings.Repeat("x", 9000)},
		"X-Debug": {strings.Repeat("x", 9000)}, "X-Small": {"1"}, "Openai-Version": {"2020-10-01"},
	}
	to := http.Header{"X-Small": {"ours"}}
	passHeader(to, from)
	want := http.Header{
		"X-Ratelimit-Remaining-Requests": {"9"}, "Anthropic-Ratelimit-Tokens-Reset": {"2026-01-01T00:00:00Z"}, "Retry-After": {"3"},
		"Retry-After-Ms": {"2500"}, "X-Should-Retry": {"false"}, "X-Small": {"ours"},
	}
	if diff := cmp.Diff(want, to); diff != "" {
		t.Error(diff)
	}
}

func TestHeaderText(t *testing.T) {
	for in, want := range map[string]string{
		"a/gpt-4o": "a/gpt-4o", "a/org/m:free,x=1": "a/org/m:free,x=1", "a/x\r\ny": "a/x%0D%0Ay", "a/100%": "a/100%25", "a/é": "a/%C3%A9",
		strings.Repeat("m", 512): strings.Repeat("m", 512), strings.Repeat("m", 513): strings.Repeat("m", 512) + "...",
	} {
		if got := headerText(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := headerText(strings.Repeat("é", 1<<20)); len(got) > 520 {
		t.Errorf("%d bytes of a huge name", len(got))
	}
}

func TestRequestID(t *testing.T) {
	h := http.Header{}
	h.Set("X-Request-Id", "abc-1")
	if got := requestID(h); got != "abc-1" {
		t.Errorf("a client's id is not kept: %q", got)
	}
	for _, bad := range []string{"", "a b", "a\nb", "ü", string(make([]byte, 200))} {
		h["X-Request-Id"] = []string{bad}
		if got := requestID(h); got == bad || !plainToken(got) {
			t.Errorf("%q became %q", bad, got)
		}
	}
	if one, two := requestID(http.Header{}), requestID(http.Header{}); one == two {
		t.Error("ids repeat")
	}
}

package ingress

import (
	"net/http"
	"strings"
)

// passHeader copies the upstream's reply headers that a client may see. What describes the connection, the bytes as
// they came, or the upstream's own site stays behind; so do its cookies and anything that speaks of credentials.
func passHeader(to, from http.Header) {
	var named []string // by Connection
	for _, v := range from["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			named = append(named, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	passed := 0 // bytes
next:
	for name, values := range from {
		if stays(name) {
			continue
		}
		for _, n := range named {
			if n == name {
				continue next
			}
		}
		if _, ours := to[name]; !ours {
			to[name] = values
			for _, v := range values {
				passed += len(name) + len(v) + len(": \r\n")
			}
		}
	}
	if passed > maxPassed {
		leaveOut(to, from)
	}
}

// maxPassed is how many bytes of an upstream's headers pass. Clients refuse a reply whose head is larger than they
// allow (Node.js: 16 KiB in all), so an answer must not be lost to its decoration.
const maxPassed = 8 << 10

// leaveOut takes back what came from the upstream, but for the headers that clients act on.
func leaveOut(to, from http.Header) {
	for name, values := range from {
		got := to[name]
		if len(got) == 0 || len(values) == 0 || &got[0] != &values[0] {
			continue // ours, or not passed
		}
		if acted := strings.Contains(name, "Ratelimit") || strings.HasPrefix(name, "Retry-After") || name == "X-Should-Retry"; !acted || len(values[0]) > 256 {
			delete(to, name)
		}
	}
}

// stays says which reply headers are not passed; names are in canonical form.
func stays(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", // hop by hop
		"Content-Length", "Content-Encoding", "Content-Type", "Date", "Accept-Ranges", "Etag", "Content-Md5", "Digest", // of the bytes as they came
		"Set-Cookie", "Set-Cookie2", "Www-Authenticate", "Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", // credentials
		"Server", "Via", "Alt-Svc", "Strict-Transport-Security", "Nel", "Report-To", "Expect-Ct", "Content-Security-Policy",
		"Openai-Organization", "Openai-Project", "Location", // of the upstream's site and account
		"X-Request-Id": // ours stands there; the upstream's is in the log
		return true
	}
	return strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "X-Evergate-")
}

// headerText makes a model's name, which a client may have chosen, fit for a header: printable ASCII, everything else
// percent-encoded, and never longer than proxies and clients bear.
func headerText(s string) string {
	const longest = 512
	plain := len(s) <= longest
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] > ' ' && s[i] < 0x7f && s[i] != '%'
	}
	if plain {
		return s
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, min(3*len(s), longest+3))
	for i := range len(s) {
		if len(out) >= longest {
			return string(append(out, "..."...))
		}
		if c := s[i]; c > ' ' && c < 0x7f && c != '%' {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}

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

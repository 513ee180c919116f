package config

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evergate/internal/reach"
)

// versionSegment is a path segment such as v1 or v1beta.
var versionSegment = regexp.MustCompile(`^v[0-9]+[a-z0-9]*$`)

// endpoints are paths that people paste along with the base URL.
var endpoints = []string{
	"/chat/completions", "/completions", "/embeddings", "/responses", "/models", "/images/generations", "/images/edits", "/audio/speech",
	"/audio/transcriptions", "/audio/translations", "/moderations", "/rerank",
}

// nativeEndpoints are those of types with an API of their own.
var nativeEndpoints = []string{"/messages/count_tokens", "/messages", "/chat", "/embed", "/converse"}

// baseURL completes what the user wrote: without a slash at its end and, unless its path has a version segment
// anywhere, with the preset's usual one. At the preset's own host its whole usual path is meant. The strings are what
// is wrong and what may have been meant.
func baseURL(raw string, p preset) (u *url.URL, wrong, suggestion string) {
	u, wrong = absoluteURL(raw, "http", "https")
	if wrong != "" {
		if !strings.Contains(raw, "://") && !strings.Contains(raw, "@") {
			if _, again := absoluteURL("http://"+raw, "http"); again == "" {
				suggestion = "http://" + raw
			}
		}
		return nil, wrong, suggestion
	}
	if u.User != nil {
		return nil, "must not hold a user or password; put the credential into keys", ""
	}
	if i := strings.Index(u.Path, "/openai/deployments/"); i >= 0 && p.name == azure { // what Azure shows as the target URI
		u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path[:i]}
		return nil, "must not hold a deployment, which is added by request; deployments are models here, and the query is api_version", u.String()
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, "must not have a query or fragment; end it with the path, such as /v1", ""
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	all := endpoints
	if p.native {
		all = slices.Concat(endpoints, nativeEndpoints)
	}
	for _, e := range all {
		if strings.HasSuffix(u.Path, e) {
			u.Path, u.RawPath = strings.TrimSuffix(u.Path, e), ""
			return nil, "must not hold the endpoint " + e + ", which is added by request", u.String()
		}
	}
	if p.native {
		return nativeBase(u, p)
	}
	if knownBase(u.String()) {
		return u, "", ""
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if versionSegment.MatchString(segment) {
			return u, "", ""
		}
	}
	more := usualPath(u, p)
	u.Path += more
	if u.RawPath != "" {
		u.RawPath += more
	}
	return u, "", ""
}

// nativeBase completes the base URL of a type with an API of its own. Its vendor's SDKs append a path that begins with the
// type's segment, so that a version further up in the path is somebody else's.
func nativeBase(u *url.URL, p preset) (done *url.URL, wrong, suggestion string) {
	last := u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	switch {
	case p.segment == "", last == p.segment:
		return u, "", ""
	case p.name == azure:
		if short, ok := strings.CutSuffix(u.Path, "/openai/v1"); ok { // as Azure shows it
			u.Path, u.RawPath = short+"/openai", ""
			return u, "", ""
		}
	case p.name == "cohere" && last == "v1":
		u.Path, u.RawPath = strings.TrimSuffix(u.Path, "v1")+p.segment, ""
		return nil, "ends with v1, but it is version 2 of the API that is spoken", u.String()
	case versionSegment.MatchString(last):
		return u, "", ""
	}
	u.Path += "/" + p.segment
	if u.RawPath != "" {
		u.RawPath += "/" + p.segment
	}
	return u, "", ""
}

// usualPath is what is missing at the end of a base URL without a version segment.
func usualPath(u *url.URL, p preset) string {
	if p.baseURL == "" {
		return "/v1"
	}
	own, err := url.Parse(p.baseURL)
	if err != nil {
		return "/v1"
	}
	if u.Path == "" && strings.EqualFold(own.Host, u.Host) {
		return own.Path
	}
	for segment := range strings.SplitSeq(own.Path, "/") {
		if versionSegment.MatchString(segment) {
			return "/" + segment
		}
	}
	return "" // the preset's own API has no version segment
}

// absoluteURL parses a URL with a host. What is wrong with it never repeats the URL, which may hold a password.
func absoluteURL(raw string, schemes ...string) (*url.URL, string) {
	begin := strings.Join(schemes, ":// or ") + "://"
	u, err := url.Parse(raw)
	if err != nil {
		reason := err
		var ue *url.Error
		if errors.As(err, &ue) {
			reason = ue.Err
		}
		if strings.Contains(reason.Error(), "first path segment") { // 127.0.0.1:8080
			return nil, "must begin with " + begin
		}
		if strings.Contains(raw, "@") {
			return nil, "is not a URL" // the reason may quote a part of the password
		}
		return nil, "is not a URL (" + reason.Error() + ")"
	}
	for _, s := range schemes {
		if u.Scheme == s {
			if u.Hostname() == "" {
				return nil, "has no host"
			}
			return u, ""
		}
	}
	return nil, "must begin with " + begin
}

// near says whether a host is this machine or in a private network, going by its name alone.
func near(host string) bool { return reach.Near(host) }

// loopback says whether a host is this machine alone.
func loopback(host string) bool { return reach.Loopback(host) }

// hostPort splits the address of a listener.
func hostPort(addr string) (host, port string, wrong string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", "", "must be host:port, such as 127.0.0.1:8080"
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", "", "has no port from 0 to 65535; it must be host:port, such as 127.0.0.1:8080"
	}
	return host, port, ""
}

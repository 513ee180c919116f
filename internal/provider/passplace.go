package provider

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Reach says whether a path that a client chose stays below the base URL (attempt.RawUpstream).
func (c *Client) Reach(path string) error {
	_, err := rawPlace(c.options.BaseURL, path, "")
	return err
}

// rawPlace is below for a path that a client chose freely, escaped, with a slash at its begin. Which of the servers on the
// way decodes it how often, takes a backslash for a slash, or leaves out what follows a semicolon, is anybody's guess; so a
// path that leaves the base in any of these readings is none. Neither is one with an empty first segment, which some
// read as a host, nor one with control characters or broken UTF-8, which may hide dots.
//
// A path that begins with the base's own version segment, as SDKs add it, means the base's.
func rawPlace(base *url.URL, path, query string) (*url.URL, error) {
	if strings.HasPrefix(path, "//") || !clean(path) {
		return nil, errOutside
	}
	u, err := below(base, versionOnce(base, path), query)
	if err == nil && u.EscapedPath() != u.RawPath { // it would be written in another way than it was looked at
		return nil, errOutside
	}
	return u, err
}

// clean says whether an escaped path means one thing to all servers: each of its readings, decoded once more than the one
// before, holds no dot segment, no backslash and nothing that cannot be seen, and the last of maxReadings is plain.
func clean(path string) bool {
	for range maxReadings {
		for i := range len(path) {
			if c := path[i]; c < ' ' || c == 0x7f || c == '\\' {
				return false
			}
		}
		if !utf8.ValidString(path) || strings.HasPrefix(path, "//") {
			return false
		}
		for segment := range strings.SplitSeq(path, "/") {
			segment, _, _ = strings.Cut(segment, ";")
			if segment == "." || segment == ".." {
				return false
			}
		}
		plain := unescaped(path)
		if plain == path {
			return true
		}
		path = plain
	}
	return false
}

// unescaped decodes a path once, as lenient servers do: what is no escape stays.
func unescaped(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, path[i])
	}
	return string(out)
}

// versionOnce leaves out of a path the version segment that the base ends in.
func versionOnce(base *url.URL, path string) string {
	root := strings.TrimSuffix(base.EscapedPath(), "/")
	last := root[strings.LastIndexByte(root, '/')+1:]
	if len(last) < 2 || last[0] != 'v' || last[1] < '0' || last[1] > '9' {
		return path
	}
	if rest, ok := strings.CutPrefix(path, "/"+last); ok && (rest == "" || rest[0] == '/') {
		if rest == "" {
			return "/"
		}
		return rest
	}
	return path
}

// addresses are the reply headers that name a place at the provider.
var addresses = [...]string{"Location", "Content-Location", "Operation-Location", "Azure-Asyncoperation"}

// localize makes the addresses in a reply's head paths below the base URL. What is anywhere else is left out: a client
// that followed it would send the gateway's key to a stranger.
func (c *Client) localize(h http.Header, asked *url.URL) {
	for _, name := range addresses {
		values := h[name]
		if len(values) == 0 {
			continue
		}
		if path, ok := c.belowBase(values[0], asked); ok {
			h[name] = []string{path}
		} else {
			delete(h, name)
		}
	}
}

// belowBase is the path and query of an address below the base URL.
func (c *Client) belowBase(address string, asked *url.URL) (string, bool) {
	u, err := asked.Parse(address)
	if err != nil || !strings.EqualFold(u.Host, c.options.BaseURL.Host) || u.Scheme != c.options.BaseURL.Scheme || u.User != nil {
		return "", false
	}
	path, ok := strings.CutPrefix(u.EscapedPath(), strings.TrimSuffix(c.options.BaseURL.EscapedPath(), "/"))
	if !ok || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || !clean(path) {
		return "", false
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path, true
}

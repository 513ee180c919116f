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
	_, err := rawPlace(c.options.BaseURL, c.vendor.Sides, path, "")
	return err
}

// rawPlace is below for a path that a client chose freely, escaped, with a slash at its begin. Which of the servers on the
// way decodes it how often, takes a backslash for a slash, or leaves out what follows a semicolon, is anybody's guess; so a
// path that leaves the base in any of these readings is none. Neither is one with an empty first segment, which some
// read as a host, nor one with control characters or broken UTF-8, which may hide dots.
//
// A path that begins with the base's own version segment, as SDKs add it, means the base's. One that begins with one of the vendor's
// sides and that segment is below the side's own root in place of the base, by the same rules.
func rawPlace(base *url.URL, sides []string, path, query string) (*url.URL, error) {
	if strings.HasPrefix(path, "//") || !clean(path) {
		return nil, errOutside
	}
	if root, rest := beside(base, sides, path); root != nil {
		base, path = root, rest
		if strings.HasPrefix(path, "//") {
			return nil, errOutside
		}
	} else {
		path = versionOnce(base, path)
	}
	u, err := below(base, path, query)
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

// beside finds the side that a path is at, and gives its root and the path below that; nil: at none.
func beside(base *url.URL, sides []string, path string) (root *url.URL, rest string) {
	for _, side := range sides {
		here, there, ok := sideOf(base, side)
		if !ok {
			break
		}
		if rest, ok = strings.CutPrefix(path, here); ok && strings.HasPrefix(rest, "/") {
			u := *base
			u.RawPath = there
			var err error
			if u.Path, err = url.PathUnescape(there); err == nil {
				return &u, rest
			}
		}
	}
	return nil, ""
}

// sideOf is how paths at a side begin, here and at the vendor; false: the base does not end in a version, and has no sides.
func sideOf(base *url.URL, side string) (here, there string, ok bool) {
	version := lastSegment(base)
	if !isVersion(version) {
		return "", "", false
	}
	here = "/" + side + "/" + version
	return here, strings.TrimSuffix(strings.TrimSuffix(base.EscapedPath(), "/"), "/"+version) + here, true
}

// lastSegment is that of the base's path, escaped.
func lastSegment(base *url.URL) string {
	root := strings.TrimSuffix(base.EscapedPath(), "/")
	return root[strings.LastIndexByte(root, '/')+1:]
}

// isVersion says whether a segment is an API's version, such as v1 or v1beta.
func isVersion(segment string) bool {
	return len(segment) > 1 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9'
}

// versionOnce leaves out of a path the version segment that the base ends in.
func versionOnce(base *url.URL, path string) string {
	last := lastSegment(base)
	if !isVersion(last) {
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
var addresses = [...]string{
	"Location", "Content-Location", "Operation-Location", "Azure-Asyncoperation", "X-Goog-Upload-Url", "X-Goog-Upload-Control-Url",
}

// localize makes the addresses in a reply's head paths below the base URL, or at a side. What is anywhere else is left out: a client
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

// under is what of a path is below a root.
func under(path, root string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, root)
	return rest, ok && strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "//")
}

// belowBase is the path and query of an address below the base URL or at a side, as clients write it here.
func (c *Client) belowBase(address string, asked *url.URL) (string, bool) {
	u, err := asked.Parse(address)
	if err != nil || !strings.EqualFold(u.Host, c.options.BaseURL.Host) || u.Scheme != c.options.BaseURL.Scheme || u.User != nil {
		return "", false
	}
	base := c.options.BaseURL
	path, ok := under(u.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/"))
	for _, side := range c.vendor.Sides {
		if here, there, has := sideOf(base, side); has && !ok {
			path, ok = under(u.EscapedPath(), there)
			path = here + path
		}
	}
	if !ok || !clean(path) {
		return "", false
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path, true
}

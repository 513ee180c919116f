package provider

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"evergate/internal/attempt"
)

// errOutside is a path that would leave the base URL's.
var errOutside = errors.New("the path leaves the base URL")

// up begins a path that leaves out the base's last segment; only vendors write it (ModelList.Path).
const up = "../"

// template is the unchanging part of a POST to a place. Parsing a URL for every request would cost more than all of
// the header work. The error is errOutside.
func (c *Client) template(path, query string) (*http.Request, error) {
	key := path
	if query != "" {
		key += "?" + query
	}
	if t, ok := c.templates.Load(key); ok {
		return t.(*http.Request), nil
	}
	u, err := below(c.options.BaseURL, path, query)
	if err != nil {
		return nil, err
	}
	t := &http.Request{Method: http.MethodPost, URL: u, Host: c.host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if t.Host == "" {
		t.Host = t.URL.Host
	}
	if c.templateCount.Load() < maxTemplates {
		if _, loaded := c.templates.LoadOrStore(key, t); !loaded {
			c.templateCount.Add(1)
		}
	}
	return t, nil
}

// placed is the template of a request, or one made for it alone where it goes to something below its dialect's route.
func (c *Client) placed(r *attempt.Outgoing, path, query string) (*http.Request, error) {
	if r.Method == "" && r.Below == "" && r.Query == "" {
		return c.template(path, query)
	}
	if query != "" && r.Query != "" {
		query += "&"
	}
	u, err := below(c.options.BaseURL, path+r.Below, query+r.Query)
	if err != nil {
		return nil, err
	}
	t := &http.Request{Method: r.Method, URL: u, Host: c.host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if t.Host == "" {
		t.Host = u.Host
	}
	return t, nil
}

// maxReadings is how often a path is decoded to see what it could mean. Nobody honest escapes one more often, and each
// reading costs as much as the path is long.
const maxReadings = 8

// climbs says whether an escaped path has a segment "." or "..", for servers that decode it once, and for those that decode it
// again or decode what they can; or holds a control character, at which some of them end, or broken UTF-8, in which some see a slash; or
// cannot be decoded.
func climbs(path string) bool {
	if _, err := url.PathUnescape(path); err != nil {
		return true
	}
	for range maxReadings {
		if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }) {
			return true
		}
		for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			if segment, _, _ = strings.Cut(segment, ";"); segment == "." || segment == ".." {
				return true
			}
		}
		plain := unescaped(path)
		if plain == path {
			return false
		}
		path = plain
	}
	return true
}

// below appends an escaped path, which begins with a slash or once with "../", to the base's path, and the query to
// the base's query. Model names are a part of some paths and come from callers: no path with a segment "." or ".." is
// made, however it is escaped, because it is anyone's guess which of the servers on the way resolves it.
func below(base *url.URL, path, query string) (*url.URL, error) {
	u := *base
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	root := strings.TrimSuffix(base.EscapedPath(), "/")
	if rest, ok := strings.CutPrefix(path, up); ok {
		root, path = root[:max(strings.LastIndexByte(root, '/'), 0)], "/"+rest
	}
	if !strings.HasPrefix(path, "/") || climbs(path) {
		return nil, errOutside
	}
	whole := root + path
	var err error
	if u.Path, err = url.PathUnescape(whole); err != nil {
		return nil, errOutside
	}
	u.RawPath = whole
	switch {
	case query == "":
	case u.RawQuery == "":
		u.RawQuery = query
	default:
		u.RawQuery += "&" + query
	}
	return &u, nil
}

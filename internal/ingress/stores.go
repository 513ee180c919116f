package ingress

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"evergate/internal/identity"
	"evergate/internal/nearest"
	"evergate/internal/wire"
)

// providerHeader, or the query's parameter providerParam, says which provider's files and batches are meant.
const (
	providerHeader = "X-Evergate-Provider"
	providerParam  = "provider"
)

// storedKind is the kind of things that a path is about which one provider keeps (files, batches, uploads), and the
// escaped rest of the path below it; empty: it is about none.
func storedKind(escaped string) (kind, rest string) {
	path := strings.TrimPrefix(strings.TrimPrefix(escaped, "/v1"), "/")
	kind, rest = path, ""
	if i := strings.IndexByte(path, '/'); i >= 0 {
		kind, rest = path[:i], path[i:]
	}
	switch kind {
	case "files", "batches", "uploads":
		return kind, rest
	}
	return "", ""
}

// serveStored passes a request on to the provider that keeps what it is about. No other can answer it, so that it is a
// passthrough to that one, under its guards.
func (x *exchange) serveStored(kind, rest string) {
	x.dialect, x.taken = x.h.dialectOf(x.r), identity.Files
	if kind == "batches" {
		x.taken = identity.Batches
	}
	query := x.r.URL.Query()
	name := x.r.Header.Get(providerHeader)
	if name == "" {
		name = query.Get(providerParam)
	}
	if f := x.authenticate(); f != nil { // before anything is told of the providers
		x.refuse(f)
		return
	}
	switch x.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete:
	default:
		x.w.Header().Set("Allow", "GET, POST, DELETE")
		f := failure(http.StatusMethodNotAllowed, codeInvalid, "this route takes GET, POST and DELETE, not "+x.r.Method)
		x.refuse(&f)
		return
	}
	p, f := x.keeper(kind, &name)
	if f != nil {
		x.refuse(f)
		return
	}
	path, fixed := p.Stores(kind)
	x.aim(fixed)
	x.servePassthrough(url.PathEscape(name) + path + rest)
}

// keeper finds the provider that is meant: the one named, or the only one that there is.
func (x *exchange) keeper(kind string, name *string) (*Provider, *wire.Failure) {
	var names []string
	for n, p := range x.cfg.Providers {
		if p.Stores != nil && p.Raw != nil {
			if path, _ := p.Stores(kind); path != "" {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	var f wire.Failure
	switch {
	case *name == "" && len(names) == 1:
		*name = names[0]
		return x.cfg.Providers[*name], nil
	case slices.Contains(names, *name):
		return x.cfg.Providers[*name], nil
	case len(names) == 0:
		f = failure(http.StatusNotFound, codeNotFound, "no provider here has "+kind)
	case *name == "":
		f = failure(http.StatusBadRequest, codeInvalid, "say whose "+kind+" are meant: "+strings.ToLower(providerHeader)+
			": NAME as a header, or ?"+providerParam+"=NAME, with one of "+strings.Join(names, ", "))
		f.Param = providerParam
	default:
		message := "there is no provider " + strconv.Quote(clip(*name)) + " here that has " + kind
		if near := nearest.Names(*name, names, 3); len(near) > 0 {
			message += "; did you mean " + strings.Join(near, ", ") + "?"
		}
		f = failure(http.StatusNotFound, codeNotFound, message)
		f.Param = providerParam
	}
	return nil, &f
}

// aim takes the gateway's own parameter out of the query and puts in what the provider's place demands.
func (x *exchange) aim(fixed string) {
	kept := make([]string, 0, 4)
	for pair := range strings.SplitSeq(x.r.URL.RawQuery, "&") {
		if name, _, _ := strings.Cut(pair, "="); name != providerParam && pair != "" {
			kept = append(kept, pair)
		}
	}
	if fixed != "" {
		kept = append(kept, fixed)
	}
	u := *x.r.URL
	u.RawQuery = strings.Join(kept, "&")
	r := *x.r
	r.URL = &u
	x.r = &r
}

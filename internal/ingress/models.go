package ingress

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"evergate/internal/jsonscan"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// serveOther serves what is no dialect's operation: the model list, and a clear 404 for the rest.
func (h *Handler) serveOther(cfg *Config, w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		h: h, cfg: cfg, w: w, r: r, control: http.NewResponseController(w), dialect: h.anyDialect(), start: time.Now(), id: requestID(r.Header),
	}
	if f := x.serveModels(); f != nil {
		x.reject(*f)
		x.drainBody()
	}
}

// serveModels serves the model list and its entries, or says why not.
func (x *exchange) serveModels() *wire.Failure {
	r := x.r
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	id, one := strings.CutPrefix(path, "/models/")
	switch {
	case path != "/models" && !one:
		f := failure(http.StatusNotFound, codeNotFound, x.noRoute())
		return &f
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		x.w.Header().Set("Allow", "GET, HEAD")
		f := failure(http.StatusMethodNotAllowed, codeInvalid, "this route takes GET, not "+clip(r.Method))
		return &f
	}
	if f := x.authenticate(); f != nil {
		return f
	}
	if one {
		return x.model(id)
	}
	x.models()
	return nil
}

// noRoute says that a path is none of ours, and which one may have been meant: a base URL with a segment or a slash
// too many is the usual reason.
func (x *exchange) noRoute() string {
	path := x.r.URL.Path
	message := "there is no route " + strconv.Quote(clip(path)) + " here; see docs/api.md"
	meant := ""
	for route := range x.h.routes {
		if len(route) > len(meant) && strings.HasSuffix(strings.TrimRight(path, "/"), route) {
			meant = route
		}
	}
	if meant != "" {
		message += "; did you mean " + meant + "?"
	}
	return message
}

// models lists what a client may ask for: virtual models, then every known upstream id, each in order.
func (x *exchange) models() {
	inv := x.h.discovery.Snapshot()
	var virtual, bare []string
	for name := range x.cfg.Table.Virtual {
		virtual = append(virtual, name)
	}
	for id := range inv.ByModel {
		if _, taken := x.cfg.Table.Virtual[id]; !taken {
			bare = append(bare, id)
		}
	}
	slices.Sort(virtual)
	slices.Sort(bare)
	body := []byte(`{"object":"list","data":[`)
	n := 0
	for _, name := range append(virtual, bare...) {
		if !x.cfg.Keys.MayUse(x.key, name) {
			continue
		}
		if n++; n > 1 {
			body = append(body, ',')
		}
		body = x.appendModel(body, name, inv)
	}
	x.writeJSON(append(body, `]}`...))
}

// model says whether one name would be served; ids may hold slashes.
func (x *exchange) model(name string) *wire.Failure {
	inv := x.h.discovery.Snapshot()
	_, outcome := x.cfg.Table.Resolve(inv, name, func() float64 { return 0 })
	if outcome != route.Found || !x.cfg.Keys.MayUse(x.key, name) {
		return x.modelNotFound(name)
	}
	x.writeJSON(x.appendModel(nil, name, inv))
	return nil
}

func (x *exchange) appendModel(dst []byte, name string, inv *route.Inventory) []byte {
	owner := "evergate"
	if _, virtual := x.cfg.Table.Virtual[name]; !virtual {
		if p := inv.ByModel[name]; len(p) > 0 {
			owner = p[0]
		} else if p, _, ok := strings.Cut(name, "/"); ok {
			owner = p
		}
	}
	dst = append(dst, `{"id":`...)
	dst = jsonscan.AppendString(dst, name)
	dst = append(dst, `,"object":"model","created":0,"owned_by":`...)
	dst = jsonscan.AppendString(dst, owner)
	return append(dst, '}')
}

func (x *exchange) writeJSON(body []byte) {
	x.limitUnread()
	x.limitWrite()
	h := x.w.Header()
	h["Content-Type"] = applicationJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	h["X-Request-Id"] = []string{x.id}
	_, _ = x.w.Write(body) // the client may be gone
}

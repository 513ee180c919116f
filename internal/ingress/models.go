package ingress

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"evergate/internal/identity"
	"evergate/internal/jsonscan"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// serveOther serves what is no dialect's operation: the model list, and a clear 404 for the rest.
func (x *exchange) serveOther() {
	if f := x.serveModels(); f != nil {
		x.reject(*f)
		x.drainBody()
	}
}

// serveModels serves the model list and its entries, or says why not.
func (x *exchange) serveModels() *wire.Failure {
	r := x.r
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1beta"), "/v1")
	id, one := strings.CutPrefix(path, "/models/")
	switch {
	case path != "/models" && !one, one && r.Method == http.MethodPost && strings.Contains(id, ":"): // a verb that is none
		f := failure(http.StatusNotFound, codeNotFound, x.noRoute())
		return &f
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		x.w.Header().Set("Allow", "GET, HEAD")
		f := failure(http.StatusMethodNotAllowed, codeInvalid, "this route takes GET, not "+clip(r.Method))
		return &f
	}
	x.taken = identity.Models
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
	form := x.modelForm()
	body := []byte(form.open)
	var first, last string
	for _, name := range append(virtual, bare...) {
		if !x.who.MayUse(name) {
			continue
		}
		if first == "" {
			first = name
		} else {
			body = append(body, ',')
		}
		last = name
		body = form.append(body, name, x.owner(name, inv))
	}
	x.writeJSON(form.close(body, first, last))
}

// model says whether one name would be served; ids may hold slashes.
func (x *exchange) model(name string) *wire.Failure {
	inv := x.h.discovery.Snapshot()
	_, outcome := x.cfg.Table.Resolve(inv, name)
	if outcome != route.Found || !x.who.MayUse(name) {
		return x.modelNotFound(name, route.NotFound)
	}
	x.writeJSON(x.modelForm().append(nil, name, x.owner(name, inv)))
	return nil
}

// owner is what a model list says of who has a model.
func (x *exchange) owner(name string, inv *route.Inventory) string {
	if _, virtual := x.cfg.Table.Virtual[name]; virtual {
		return "evergate"
	}
	if p := inv.ByModel[name]; len(p) > 0 {
		return p[0]
	}
	if p, _, ok := strings.Cut(name, "/"); ok {
		return p
	}
	return "evergate"
}

// modelForm is how a dialect lists models: its SDK reads nothing else.
type modelForm struct {
	open   string
	append func(dst []byte, name, owner string) []byte
	close  func(dst []byte, first, last string) []byte
}

func (x *exchange) modelForm() modelForm {
	switch x.dialect.Name() {
	case "messages":
		return modelForm{`{"data":[`, appendAnthropicModel, closeAnthropicList}
	case "gemini":
		return modelForm{`{"models":[`, appendGeminiModel, func(dst []byte, _, _ string) []byte { return append(dst, `]}`...) }}
	}
	return modelForm{`{"object":"list","data":[`, appendModel, func(dst []byte, _, _ string) []byte { return append(dst, `]}`...) }}
}

func appendModel(dst []byte, name, owner string) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonscan.AppendString(dst, name)
	dst = append(dst, `,"object":"model","created":0,"owned_by":`...)
	dst = jsonscan.AppendString(dst, owner)
	return append(dst, '}')
}

// appendAnthropicModel gives the epoch where the API wants a release date, as it says of one that is not known.
func appendAnthropicModel(dst []byte, name, _ string) []byte {
	dst = append(dst, `{"type":"model","id":`...)
	dst = jsonscan.AppendString(dst, name)
	dst = append(dst, `,"display_name":`...)
	dst = jsonscan.AppendString(dst, name)
	return append(dst, `,"created_at":"1970-01-01T00:00:00Z"}`...)
}

func closeAnthropicList(dst []byte, first, last string) []byte {
	dst = append(dst, `],"has_more":false,"first_id":`...)
	dst = appendOrNull(dst, first)
	dst = append(dst, `,"last_id":`...)
	dst = appendOrNull(dst, last)
	return append(dst, '}')
}

func appendOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return jsonscan.AppendString(dst, s)
}

func appendGeminiModel(dst []byte, name, _ string) []byte {
	dst = append(dst, `{"name":`...)
	dst = jsonscan.AppendString(dst, "models/"+name)
	dst = append(dst, `,"displayName":`...)
	dst = jsonscan.AppendString(dst, name)
	return append(dst, `,"supportedGenerationMethods":["generateContent","countTokens"]}`...)
}

func (x *exchange) writeJSON(body []byte) {
	x.limitUnread()
	x.limitWrite()
	h := x.w.Header()
	h["Content-Type"] = applicationJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	nameRequest(h, x.dialect, []string{x.id})
	_, _ = x.w.Write(body) // the client may be gone
}

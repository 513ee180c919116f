package ingress

import (
	"strings"

	"evergate/internal/wire"
)

// form is the content type of a request that comes as a form, to an operation that takes forms; empty: it is to be JSON.
func (x *exchange) form() string {
	if _, ok := x.dialect.(wire.Former); !ok {
		return ""
	}
	kind := x.r.Header.Get("Content-Type")
	if media, _, _ := strings.Cut(kind, ";"); strings.EqualFold(strings.TrimSpace(media), "multipart/form-data") {
		return kind
	}
	return ""
}

// parse has the dialect read the body, whichever form it comes in.
func (x *exchange) parse() (wire.Request, error) {
	if kind := x.form(); kind != "" {
		return x.dialect.(wire.Former).ReadForm(x.call.Body.B, kind)
	}
	return x.dialect.ReadRequest(x.call.Body.B)
}

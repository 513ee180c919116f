package provider

import (
	"context"
	"io"
	"net/http"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// Vendor is what one type of provider does differently from the rest: where its routes are, how it is paid, what its
// errors mean, how its streams are framed. It is data and small functions; everything else of an exchange is Client's. Each type
// is a package below this one; the table of types is in app. Functions that are nil have the meaning said beside them. All
// of them are called by several goroutines at once.
type Vendor struct {
	// Name is the vendor's, for whose headers it decides: only its own vendor headers pass (anthropic-…, openai-…).
	Name string
	// AuthHeader and AuthPrefix are how a credential is sent where the options do not say; empty: as a bearer token.
	AuthHeader, AuthPrefix string
	// Speaks lists the dialects (wire.Dialect names) in which a model can be asked, the favourite of each kind first.
	Speaks func(model string) []string
	// Maker is who made a model; nil: nobody whose seals are known.
	Maker func(model string) llm.Vendor
	// Quirks are what requests for a model must keep to; nil: none.
	Quirks func(model string) wire.Quirks
	// Place says where a request goes: the path below the base URL, escaped, and the query without its question mark.
	Place func(dialect, model string, stream bool) (path, query string)
	// Header completes the headers of a request, after the caller's were filtered; nil: nothing to add. out is the request's own.
	Header func(out http.Header, dialect string)
	// Body changes a request's body where the place demands it (Claude on Vertex); nil: as it is. It must not change body in place.
	Body func(body []byte, dialect, model string) []byte
	// OmitModel says that a request's body does not name the model, as its place does (wire.Rewrite.OmitModel); nil: it always does.
	OmitModel func(dialect, model string) bool
	// Authorize writes the credential into a request, for vendors whose credentials are no constant header: tokens that
	// are fetched and expire, signatures over the body. The error is a *fault.Fault where its class is known; else it is
	// the credential's. r's URL is shared and must not be changed; c is never nil. nil: Options.AuthHeader.
	Authorize func(ctx context.Context, r *http.Request, body []byte, c *Credential) error
	// Sides are names of places beside the API that passthrough reaches: what is at /NAME and the base URL's last segment, where the base
	// would have that segment alone (Google's /upload/v1beta). nil: none.
	Sides []string
	// SignsBody: Authorize needs the body that it is given. Requests whose body is sent while it comes are then not possible.
	SignsBody bool
	// Frame turns a 2xx body of the vendor's own framing into server-sent events (Bedrock); nil: it is JSON or they are already.
	Frame func(header http.Header, body io.ReadCloser, stream bool) io.ReadCloser
	// Code reads an error's code where it is not in the usual places of its body (x-amzn-errortype); empty or nil: it is there.
	Code func(header http.Header, body []byte) string
	// Faults stand before the common table, for words that mean something else here.
	Faults []Entry
	// Stores says where things of a kind are kept that only this provider has (files, batches, uploads), by OpenAI's API:
	// path and query as of Place; nil: it has none.
	Stores func(kind string) (path, query string)
	// Models is how the model list is asked for and read; nil: GET models in OpenAI's form.
	Models *ModelList
}

// ModelList is how a vendor lists its models.
type ModelList struct {
	// Path is below the base URL, its query included; "../" at its begin leaves out the base's last segment. Empty: the
	// vendor has no list, only configured models are known.
	Path string
	// Read gives the ids of one page and the path of the next, empty if it was the last.
	Read func(body []byte) (ids []string, next string, err error)
}

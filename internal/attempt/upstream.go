package attempt

import (
	"context"
	"net/http"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// Outgoing is one request to an upstream.
type Outgoing struct {
	// Dialect is the name of the dialect that Body is in; with Model and Stream it says where the provider has its route.
	Dialect string
	Model   string // the upstream's id
	// Method is the HTTP method, empty for POST. Below is added to the path of the dialect's route, escaped; Query to its query.
	Method, Below, Query string
	// Translated: the client speaks another dialect, so that headers of its vendor mean nothing here.
	Translated bool
	Header     http.Header // the caller's headers that may pass; read only, shared by all attempts of a request
	Body       []byte      // read only
	// ContentType is the body's, empty for JSON.
	ContentType string
	Credential  string // by name: a reload may have changed the list since it was chosen
	Key         string // the caller's own, in the place of Credential; empty: none
	Stream      bool
	// Trace and Span name the attempt's span, which the upstream is told of; a nil Trace: what the caller's headers say passes.
	Trace *journal.Trace
	Span  [8]byte
	// Release is called exactly once, when nothing reads Body any more; it may come after Send returned and from another goroutine.
	Release func()
}

// Upstream is one provider, as attempt needs it. Implementations are safe for concurrent use.
type Upstream interface {
	// Send performs one HTTP exchange up to the response head; any status is a response. The body is decoded (gzip,
	// deflate) and must be closed. When ctx is done, the fault is its cause if that is a *fault.Fault. Without a response the
	// class is Connect, Reset or Timeout (R1, R2), after the user's classify rules.
	Send(ctx context.Context, r *Outgoing) (*http.Response, *fault.Fault)
	// Classify turns a response that is not 2xx into a fault (R3-R12 and R14's 3xx): status, headers, body, and the error
	// code and message that the dialect found in the body. The user's classify rules come first. The body kept in the
	// fault is a masked copy.
	Classify(status int, header http.Header, body []byte, code, message string) *fault.Fault
	// Refine gives a fault found elsewhere (an error object in a 200, an error event, an invalid answer, a timeout) its
	// class by the same table and the user's rules, and masks its words. The fault given is not changed.
	Refine(f *fault.Fault) *fault.Fault
	// ReadFault classifies an error met while the body was read, by ctx's cause first, as Send does.
	ReadFault(ctx context.Context, err error) *fault.Fault
	// CanStreamUsage says whether the provider knows stream_options.include_usage.
	CanStreamUsage() bool
	// Speaks lists, by name, the dialects in which a model can be asked, the favourite of each kind of operation first.
	Speaks(model string) []string
	// Maker is who made a model: whose seals it can read.
	Maker(model string) llm.Vendor
	// OmitsModel says whether the upstream refuses the model in the body of a dialect that has it there.
	OmitsModel(dialect, model string) bool
	// Quirks are what requests for a model must keep to where they are translated.
	Quirks(model string) wire.Quirks
}

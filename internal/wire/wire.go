// Package wire says what a client dialect is: how a request is read, how it is written for a target that speaks the
// same dialect, how a reply or a stream event is judged, and how an error is said. It works on bytes and knows no
// HTTP, no provider, no clock and no guard. Each dialect is a package below it; the table of dialects is in app.
//
// This is the same-dialect fast path (ARCHITECTURE decision 2): bytes go through as they came but for the spans that
// must change, and are scanned, never decoded and encoded again.
package wire

import (
	"evergate/internal/fault"
	"evergate/internal/llm"
)

// Request is what the gateway knows of a client's request. Body is never changed; it may be read by several attempts
// at once.
type Request struct {
	Body  []byte
	Model string
	// Stream is the client's "stream".
	Stream bool
	// Choices is how many answers the client asked for ("n"); 0 counts as 1.
	Choices int
	// AskedUsage is true when the client itself asked for usage in a stream.
	AskedUsage bool
	// Previous names the earlier answer that this request continues (Responses' previous_response_id).
	Previous string
	// Background: the client wants an id now and fetches the answer later. Stateless: the answer is not to be kept.
	Background, Stateless bool
	// Prefers: the body has members that are the gateway's own, "provider" or "models" (CONTRACT §3 "Request control").
	Prefers bool
	// Carry lets DecodeRequest leave texts in Body (see Texts); the request then holds for as long as Body does.
	Carry bool
	// Raw: what is asked for is no JSON but sound or plain text (Opaque).
	Raw bool
	// ContentType is the body's where it is a form (Former), its boundary included; empty: it is JSON.
	ContentType string
	// Spans belongs to the dialect that read the request: places in Body that Rewrite changes.
	Spans Spans
}

// Span is a half-open range of bytes in a body; the zero Span is absent.
type Span struct{ From, To int }

// Absent says that the thing was not there.
func (s Span) Absent() bool { return s.To == 0 }

// Spans are the places in a request body that may be rewritten.
type Spans struct {
	// Model is the value of "model", quotes included.
	Model Span
	// StreamOptions is the value of "stream_options" (an object, or null), IncludeUsage the value of its
	// "include_usage".
	StreamOptions, IncludeUsage Span
	// Turns is the value of the member that has the conversation, for a Conversing dialect; its inside was looked at once, and
	// need not be again.
	Turns Span
	// Texts: the turns are too flat to hold anything but text, whatever words stand in it.
	Texts bool
	// Insert is the offset just after the opening brace of the body.
	Insert int
	// Empty is true when the body is an object without members.
	Empty bool
	// Again is true when one of the members above came more than once; the last one counts, but all are rewritten.
	Again bool
}

// Rewrite is what changes between the client's request and the one for a target.
type Rewrite struct {
	// Model is the upstream's model id.
	Model string
	// AskUsage asks for usage in a stream although the client did not; the extra chunk is withheld from the client.
	AskUsage bool
	// Params are top-level members that the target overrides: name to raw JSON value, applied in order of Name.
	Params []Param
	// OmitModel leaves the model out of the body: the target has it in its path (Claude on Vertex).
	OmitModel bool
}

// Param is one overridden member; Value is raw JSON.
type Param struct {
	Name  string
	Value []byte
}

// RequestError is a request that cannot be served; Param names the field at fault and may be empty.
type RequestError struct {
	Param   string
	Message string
	// Code is the dialect's own word for the reason, where its clients act on it: they send the request in another form.
	Code string
}

func (e *RequestError) Error() string { return e.Message }

// Usage is the upstream's own count of tokens; Known is false if it said none.
type Usage = llm.Usage

// Reply is what was learned from a plain reply or a stream so far.
type Reply struct {
	// ID is the upstream's own id of the answer, where later requests can name it.
	ID string
	// Model is the upstream's own word for the model that answered.
	Model string
	Usage Usage
	// Finish is the first choice's finish reason, empty if none came.
	Finish string
}

// Event is what one stream event is.
type Event struct {
	// Content: it carries a content event (RESILIENCE §1), which commits.
	Content bool
	// Finish: it carries a finish reason.
	Finish bool
	// UsageOnly: it carries usage and nothing a client did not ask for; withheld when AskUsage was the gateway's.
	UsageOnly bool
	// End is the dialect's end marker ([DONE]).
	End bool
	// Malformed: it is not valid JSON (R17).
	Malformed bool
	// Fault is set when the event is an error event; classified by its own code (R14).
	Fault *fault.Fault
	// Name is the event name that SDKs of the dialect look for, in dialects that name their events; else nil.
	Name []byte
}

// Progress is the state of one upstream stream. Not safe for concurrent use.
type Progress struct {
	Reply Reply
	// SawContent and SawFinish are true once such an event came.
	SawContent, SawFinish bool
	// OpenTool is true while a tool call's arguments may still be incomplete: a malformed event then is a cut (R17).
	OpenTool bool
	// SawTool is true once a tool call came.
	SawTool bool
	// ID and Created are the stream's own, for the events that AppendEnd adds.
	ID      string
	Created int64
	// Pattern is the dialect's: what stood around the text of the last event that was nothing but text.
	Pattern Pattern
	// Choices is how many choices must finish before the stream has; 0 counts as 1.
	Choices int
	// Sequence is the number after that of the last event, in dialects that count them.
	Sequence int64
	// Begun and Ended have a bit for each choice that has begun, or has its finish reason. SawFinish is true while they
	// are the same: one choice's finish is not the end of the others.
	Begun, Ended uint64
}

// Pattern is an event without its text. Most events of a stream differ in their text alone; one that has the same bytes
// before and after it says the same, and need not be read again.
type Pattern struct{ Before, After []byte }

// Failure is what an error says to a client, in any dialect. Each dialect has its own word for the type of a status.
type Failure struct {
	Status    int
	Code      string
	Message   string
	Param     string
	RequestID string
	Attempts  []Attempt
	// Said is what the client of a committed stream was told before.
	Said Said
}

// Attempt is one line of a failure's list of attempts.
type Attempt struct {
	Target  string // provider/model
	Status  int    // upstream's status, 0 if none
	Reason  string // a fault class's word, or a guard's reason for a skip
	Millis  int64
	Skipped bool // no attempt was made
}

// Dialect is one operation of a client protocol. Implementations are stateless and safe for concurrent use.
type Dialect interface {
	// Name is a short constant for logs and metrics, such as "chat".
	Name() string
	// Path is where clients find it below the version segment, such as "/chat/completions"; empty for a dialect that only
	// providers speak, or whose paths hold more (Gemini).
	Path() string
	// Side says that providers commonly lack this route: a 404, 405 or 501 of it says nothing of the model (R9).
	Side() bool
	// ReadRequest reads what the gateway must know. The error is a *RequestError. Where the path holds the model and the
	// kind of answer (Gemini), the caller sets Model and Stream after it.
	ReadRequest(body []byte) (Request, error)
	// AppendRequest appends the request for a target to dst and returns it. If nothing changes it returns
	// r.Body itself (and dst is untouched).
	AppendRequest(dst []byte, r *Request, w Rewrite) []byte
	// Judge reads a whole 2xx body of a plain reply. The fault is Invalid (R14) or the class of an error object in it.
	Judge(body []byte) (Reply, *fault.Fault)
	// JudgeEvent reads one stream event's data (never empty) and advances the progress.
	JudgeEvent(data []byte, p *Progress) Event
	// AppendEnd appends what the client must still get for a proper end: the missing finish (R17, after an explicit
	// end marker without a finish reason) if p has none, and the end marker.
	AppendEnd(dst []byte, p *Progress) []byte
	// AppendError appends the body of an error reply.
	AppendError(dst []byte, f Failure) []byte
	// AppendStreamError appends the event that ends a committed stream with an error; no end marker follows.
	AppendStreamError(dst []byte, f Failure) []byte
	// ReadError reads an upstream's error body: code (or type) and message, empty if it is none of this dialect's.
	ReadError(body []byte) (code, message string)
	// StreamFromReply turns a whole plain reply into the events of a stream (R17: JSON where a stream was asked for),
	// end marker included.
	StreamFromReply(body []byte, withUsage bool) ([]byte, error)
	// ReplyFromStream folds a whole stream (its raw bytes) into a plain reply (R17).
	ReplyFromStream(stream []byte) ([]byte, error)
}

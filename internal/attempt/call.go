package attempt

import (
	"net/http"
	"time"

	"evergate/internal/failover"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/quota/meters"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// Leg is one target made ready to be tried: where, under which guards, with which settings.
type Leg struct {
	Target   route.Target
	Guards   *health.Provider
	Upstream Upstream
	Settings *resilience.Settings
	// Dialect is what the upstream is asked in; where it is not the client's, requests and answers are translated for
	// Terms, which is nil else.
	Dialect wire.Dialect
	Terms   *wire.Target
	// OmitModel: the upstream has the model in its path, and must not have it in the body.
	OmitModel bool
	// Near is the credential that is preferred (R47), as its index from 1; 0: none is.
	Near uint8
	// Key is the one that the caller brought for this provider, empty: none; the gateway's own are not used then.
	Key string
	// Limit is what its provider may be used at a time, by the config; nil: there is no limit.
	Limit *meters.Gate
	// Label is the model for metrics: a known id, or route.OtherLabel.
	Label string
}

// Call is one client request, read and routed. Run changes Canonical, and lets go of the body once a stream has begun.
type Call struct {
	ID      string // the request's
	Caller  string // the client's key by name; empty without auth
	Dialect wire.Dialect
	Request wire.Request
	// Body owns Request.Body. The caller holds a reference of its own, which Release lets go of.
	Body   *Buffer
	Header http.Header // the client's, read only
	Legs   []Leg       // in order; at least one
	Start  time.Time
	// Strict: a candidate that would lose something of the request is unable to serve it (CONTRACT §3).
	Strict bool
	// Timeout is how long the caller waits, for a stream to its commit; 0: it did not say.
	Timeout time.Duration
	// Hedge says when a second candidate is started (R71).
	Hedge route.Hedge
	// Resume: a stream that breaks is to be gone on with (R70).
	Resume bool
	// Censor judges the answer; nil: it goes out as it comes.
	Censor Censor
	// Keep: the caller wants the answer, or what ended its stream, in Result.Answer.
	Keep bool
	// Whole, if set, hears of an answer that is whole, with its Leg, Reply and Answer, before the client has the end of it, and may name it.
	Whole func(*Result)
	// Trace is the request's place in a trace; nil: it is not traced.
	Trace *journal.Trace
	// Foreseen is how many tokens one attempt may use, for legs with a Limit of them.
	Foreseen int64
	// Canonical is the request in no vendor's words, decoded when the first translation needs it.
	Canonical *wire.Canonical
	// What its bytes hint at, once they were looked at (R46).
	hints  wire.Hints
	looked bool
}

// Release lets go of the body, if that was not done before.
func (c *Call) Release() {
	if c.Body != nil {
		c.Body.Release()
		c.Body, c.Request.Body = nil, nil
	}
}

// Head is what a sink may tell its client about the answer before its first byte.
type Head struct {
	Leg    *Leg
	Header http.Header // the upstream's; read only
	// Length is the length of a plain body, -1 if unknown or a stream.
	Length int
	Stream bool
	// ContentType is that of a body which is neither JSON nor a stream; empty: it is one of them.
	ContentType string
	Steps       []journal.Step // the trail so far, this attempt included
	// Attempts is the number of attempts made, this one included.
	Attempts int
	// Lost are names of what the translation could not carry over (x-evergate-dropped).
	Lost []string
}

// Sink takes the answer of one request. Begin commits: after it nothing is tried elsewhere. Its methods are called from
// one goroutine. An error means that the client is gone (or takes nothing).
type Sink interface {
	// Answering says that an upstream answered 200 to a stream: from here on the sink may open the response with
	// keep-alive comments (the weaker step of RESILIENCE §1); failover is still possible.
	Answering()
	Begin(h *Head) error
	Write(p []byte) error
	Flush() error
}

// Result is how a request ended.
type Result struct {
	// OK: a whole answer reached the sink.
	OK bool
	// Final says how it ended where OK is false.
	Final failover.Final
	// Leg is who answered, or began to, with the credential of this index; nil if nobody did.
	Leg        *Leg
	Credential int
	// Header is the upstream's of the answer, or of the last failed reply; may be nil.
	Header    http.Header
	Committed bool
	Steps     []journal.Step
	Attempts  int
	Reply     wire.Reply
	// Answer is a copy of a translated answer's body, or of the data of the event that ended its stream; only with Keep.
	Answer []byte
	// Resumed: the answer was completed by another attempt than began it: nobody but the gateway has it whole.
	Resumed bool
	// Said is what the client of a stream was told of it.
	Said wire.Said
	// Lost is as in Head, at the end.
	Lost []string
	// Dropped counts malformed events that were left out (R17).
	Dropped      int
	FirstContent time.Time
	// Upstream is time spent waiting for upstreams, Waits time spent between attempts.
	Upstream, Waits time.Duration
}

package attempt

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"evergate/internal/drill"
	"evergate/internal/fault"
	"evergate/internal/wire"
)

// strike asks whether a drill has a fault for an attempt (R74): once, before it is known to others, who put it into the trail. Copies for
// mirrors meet none: nobody is served by them.
func (e *exchange) strike() {
	r := e.x.r
	if !r.Drills.Running() || e.move.Why == mirrored {
		return
	}
	c := e.x.c
	e.drill = r.Drills.Strike(&drill.Asked{
		Provider: e.leg.Target.Provider, Model: e.leg.Target.Model, Named: c.Request.Model, Key: c.Caller, Header: c.Header,
	}, c.ID, e.start)
}

// strike is the same for a passthrough request.
func (x *passing) strike() *drill.Rule {
	if !x.r.Drills.Running() {
		return nil
	}
	return x.r.Drills.Strike(&drill.Asked{Provider: x.p.Provider, Key: x.p.Caller, Header: x.p.Request.Header}, x.p.ID, x.start)
}

// drillOf is a rule's id, empty for none; shapeOf what its fault looks like.
func drillOf(r *drill.Rule) string {
	if r == nil {
		return ""
	}
	return r.ID
}

func shapeOf(r *drill.Rule) string {
	if r == nil {
		return ""
	}
	return string(r.Shape.Kind)
}

// struck is one exchange that meets a fault.
type struck struct {
	shape *drill.Shape
	// judge classifies errors of the network, as the provider's adapter does: nothing after it can tell a drill from what it rehearses.
	judge   func(context.Context, error) *fault.Fault
	dialect wire.Dialect
	// ask sends the request; release lets go of its body where it is not sent.
	ask     func() (*http.Response, *fault.Fault)
	release func()
	stream  bool // it was asked for one
}

// struck sends the request of an exchange that meets a fault, or does not.
func (e *exchange) struck(out *Outgoing) (*http.Response, *fault.Fault) {
	s := struck{
		shape: &e.drill.Shape, judge: e.leg.Upstream.ReadFault, dialect: e.leg.Dialect, release: out.Release, stream: out.Stream,
		ask: func() (*http.Response, *fault.Fault) { return e.dispatch(out) },
	}
	return s.do(e.ctx)
}

// send sends a passthrough request, unless a drill has a fault for it.
func (x *passing) send(out *Raw) (*http.Response, *fault.Fault) {
	if x.drill = x.strike(); x.drill != nil {
		return x.struck(x.drill, out)
	}
	return x.p.Upstream.Pass(x.ctx, out)
}

// struck is the same for a passthrough request.
func (x *passing) struck(rule *drill.Rule, out *Raw) (*http.Response, *fault.Fault) {
	s := struck{
		shape: &rule.Shape, judge: x.p.Upstream.ReadFault, dialect: x.p.Dialect, release: out.Release,
		ask: func() (*http.Response, *fault.Fault) { return x.p.Upstream.Pass(x.ctx, out) },
	}
	if s.release == nil {
		s.release = func() {}
	}
	return s.do(x.ctx)
}

// do performs the exchange up to the response head, as Upstream.Send does.
func (s *struck) do(ctx context.Context) (*http.Response, *fault.Fault) {
	if s.shape.Latency > 0 {
		late := time.NewTimer(s.shape.Latency)
		defer late.Stop()
		select {
		case <-late.C:
		case <-ctx.Done():
			return s.lost(ctx, ctx.Err())
		}
	}
	switch s.shape.Kind {
	case drill.Status, drill.Invalid:
		s.release()
		return s.reply(), nil
	case drill.Refused:
		return s.lost(ctx, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	case drill.Reset:
		return s.lost(ctx, syscall.ECONNRESET)
	case drill.Hang:
		<-ctx.Done()
		return s.lost(ctx, ctx.Err())
	case drill.Slow, drill.Cut, drill.Stall, drill.Error, drill.Garbage, drill.NoEnd:
	}
	resp, f := s.ask()
	if f == nil && s.shape.Maims() && resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		s.maim(ctx, resp)
	}
	return resp, f
}

// lost is an exchange without an answer.
func (s *struck) lost(ctx context.Context, err error) (*http.Response, *fault.Fault) {
	s.release()
	f := s.judge(ctx, err)
	if f.Class == fault.Reset {
		said := *f
		said.Message = "connection reset before an answer"
		f = &said
	}
	return nil, f
}

// reply is an answer that the provider was not asked for.
func (s *struck) reply() *http.Response {
	r := s.shape.Reply(s.dialect)
	resp := &http.Response{
		Status: http.StatusText(r.Status), StatusCode: r.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(r.Body)), ContentLength: int64(len(r.Body)),
	}
	for name, value := range r.Header {
		resp.Header.Set(name, value)
	}
	return resp
}

// maim changes the answer's body. One that is compressed is no stream of events to anybody here.
func (s *struck) maim(ctx context.Context, resp *http.Response) {
	kind := resp.Header.Get("Content-Type")
	stream := strings.HasPrefix(kind, "text/event-stream") || s.stream && !strings.HasPrefix(kind, "application/json")
	stream = stream && resp.Header.Get("Content-Encoding") == ""
	stall := func() error {
		<-ctx.Done()
		return ctx.Err()
	}
	resp.Body = s.shape.Maim(s.dialect, resp.Body, stream, stall)
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
}

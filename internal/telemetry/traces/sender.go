package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"evergate/internal/journal"
)

// How a batch is tried again.
const (
	maxTries  = 5
	firstWait = time.Second
	maxWait   = 30 * time.Second
	maxAnswer = 64 << 10
)

// maxBody is how large a batch may be before it is sent in two: collectors take 4 MiB at most over gRPC.
const maxBody = 2 << 20

// form writes a batch of spans.
type form interface {
	batch(dst []byte, o *origin, spans func(each func(*span))) []byte
}

// sender posts batches to a collector. Its methods are called from one goroutine.
type sender struct {
	settings *Settings
	form     form
	client   *http.Client
	log      *slog.Logger
	kept     []byte // the last batch's bytes, for their room
	failing  bool   // that was said in the log
}

func newSender(s *Settings, o Options) *sender {
	transport := o.Transport
	if transport == nil {
		own := &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.TLS, MaxIdleConnsPerHost: 1, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, Protocols: new(http.Protocols),
		}
		own.Protocols.SetHTTP2(true)
		if s.Protocol == GRPC {
			own.Protocols.SetUnencryptedHTTP2(true)
		} else {
			own.Protocols.SetHTTP1(true)
		}
		transport = own
	}
	out := &sender{settings: s, form: protobuf{}, log: o.Log, client: &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // its headers may hold credentials
	}}
	if s.Protocol == HTTPJSON {
		out.form = jsonForm{}
	}
	return out
}

func (s *sender) close() { s.client.CloseIdleConnections() }

// verdict is what came of one try.
type verdict struct {
	err   error         // nil: the collector has the batch
	again bool          // it is worth another try
	wait  time.Duration // that the collector asked for; 0: it did not
	lost  int64         // spans that it refused of a batch it took
}

// send hands a batch to the collector, trying again for a while; lost is how many of its traces did not get there.
func (s *sender) send(ctx context.Context, o *origin, batch []*journal.Request) (lost int) {
	var one span
	body := s.form.batch(s.kept[:0], o, func(each func(*span)) {
		for _, r := range batch {
			o.spans(&one, r, each)
		}
	})
	s.kept = body
	if cap(s.kept) > 4<<20 {
		s.kept = nil
	}
	if half := len(batch) / 2; len(body) > maxBody && half > 0 {
		return s.send(ctx, o, batch[:half]) + s.send(ctx, o, batch[half:])
	}
	wire := s.packed(body)
	for try := 1; ; try++ {
		v := s.try(ctx, wire)
		if v.err == nil {
			s.worked(v.lost)
			return int(min(v.lost, int64(len(batch))))
		}
		if !v.again || try == maxTries || !pause(ctx, v.wait, try) {
			s.failed(v.err, len(batch))
			return len(batch)
		}
	}
}

// pause waits before another try; false: ctx ended.
func pause(ctx context.Context, asked time.Duration, try int) bool {
	d := firstWait << (try - 1)
	d = d/2 + rand.N(d) //nolint:gosec // so that many gateways do not come at once
	if asked > 0 {
		d = asked
	}
	timer := time.NewTimer(min(d, maxWait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// packed is a batch as it goes out: compressed, and in a frame for gRPC.
func (s *sender) packed(body []byte) []byte {
	if s.settings.Gzip {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(body) // a buffer takes all
		_ = w.Close()
		body = out.Bytes()
	}
	if s.settings.Protocol == GRPC {
		return framed(body, s.settings.Gzip)
	}
	return body
}

// try posts a batch once.
func (s *sender) try(ctx context.Context, body []byte) verdict {
	ctx, cancel := context.WithTimeout(ctx, s.settings.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.settings.Endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return verdict{err: errors.New("the endpoint is no URL")}
	}
	for name, values := range s.settings.Header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", "evergate")
	switch s.settings.Protocol {
	case HTTPJSON:
		r.Header.Set("Content-Type", "application/json")
	case HTTPProtobuf:
		r.Header.Set("Content-Type", "application/x-protobuf")
	case GRPC:
		setGRPC(r.Header, s.settings)
	}
	if s.settings.Gzip && s.settings.Protocol != GRPC {
		r.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.client.CloseIdleConnections() // one that died silently would be used for every try
		for own := (*url.Error)(nil); errors.As(err, &own); {
			err = own.Err // what it says besides is the URL, which may hold a password
		}
		return verdict{err: err, again: true}
	}
	defer resp.Body.Close()              //nolint:errcheck // nothing is left to be lost
	if resp.StatusCode < http.StatusOK { // its body is the connection, which ends with nothing
		return s.judge(resp, nil)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return verdict{err: err, again: true}
	}
	if s.settings.Protocol == GRPC {
		return judgeGRPC(resp, answer)
	}
	return s.judge(resp, answer)
}

// judge says what an answer over HTTP means.
func (s *sender) judge(resp *http.Response, answer []byte) verdict {
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		lost, _ := rejected(answer)
		if s.settings.Protocol == HTTPJSON {
			lost = rejectedJSON(answer)
		}
		return verdict{lost: max(lost, 0)}
	}
	v := verdict{err: fmt.Errorf("the collector answered %d", resp.StatusCode)}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		v.again = true
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
			v.wait = time.Duration(min(n, 3600)) * time.Second
		}
	}
	return v
}

// failed says in the log that batches do not get there, once until they do again.
func (s *sender) failed(err error, n int) {
	if s.failing {
		return
	}
	s.failing = true
	s.log.Warn("traces do not reach the collector", "error", clean(err.Error()), "dropped", n)
}

// worked says that they do again, or that some spans were refused.
func (s *sender) worked(lost int64) {
	if s.failing {
		s.failing = false
		s.log.Info("traces reach the collector again")
	}
	if lost > 0 {
		s.log.Warn("the collector refused spans", "spans", lost)
	}
}

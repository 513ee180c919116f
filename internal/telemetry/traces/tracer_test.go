package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"evergate/internal/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is a collector in place of the network: what it answers, try by try, and what it got.
type backend struct {
	mu      sync.Mutex
	answers []func() (*http.Response, error) // the last one stays
	bodies  [][]byte
	heads   []http.Header
	at      []time.Time
}

func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	answer := b.answers[min(len(b.bodies), len(b.answers)-1)]
	b.bodies, b.heads, b.at = append(b.bodies, body), append(b.heads, r.Header), append(b.at, time.Now())
	if answer == nil { // hangs
		b.mu.Unlock()
		<-r.Context().Done()
		b.mu.Lock()
		return nil, r.Context().Err()
	}
	return answer()
}

func status(code int, header ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(""))}, nil
	}
}

func broken() (*http.Response, error) {
	return nil, &url.Error{Op: "Post", URL: "http://user:s3cret@c/", Err: errors.New("connection refused")}
}

// tracer makes one before a backend, and the log that it writes.
func tracer(t *testing.T, b *backend, vars ...string) (*Tracer, *bytes.Buffer) {
	t.Helper()
	s, err := FromEnvironment(environ(vars...))
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	tr := New(s, Options{Version: "1", Instance: "i", Place: places, Log: slog.New(slog.NewTextHandler(log, nil)), Transport: b})
	tr.Start()
	return tr, log
}

// end states n traced requests.
func end(tr *Tracer, n int) {
	for range n {
		r := story()
		r.Trace = *tr.Begin(http.Header{})
		tr.RequestEnded(r)
	}
}

// wait lets time pass, and what it sets off come to rest.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// untraced is a request that no trace has.
func untraced() *journal.Request {
	r := story()
	r.Trace = journal.Trace{}
	return r
}

func TestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backend{answers: []func() (*http.Response, error){status(200)}}
		tr, _ := tracer(t, b, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=10", "OTEL_EXPORTER_OTLP_HEADERS=api-key=k")
		begin := time.Now()
		end(tr, 3)
		wait(time.Minute)
		if len(b.bodies) != 1 || b.at[0].Sub(begin) != 5*time.Second {
			t.Fatalf("%d batches, the first after %v", len(b.bodies), b.at[0].Sub(begin))
		}
		if n := strict(t, b.bodies[0]); n != 15 {
			t.Errorf("%d spans, want five a request", n)
		}
		if h := b.heads[0]; h.Get("Content-Type") != "application/x-protobuf" || h.Get("Api-Key") != "k" {
			t.Errorf("sent with %v", h)
		}
		end(tr, 25) // more than two full batches
		synctest.Wait()
		if len(b.bodies) != 3 {
			t.Errorf("%d batches before the delay is over", len(b.bodies))
		}
		tr.Stop(t.Context())
		if len(b.bodies) != 4 || tr.Sent() != 28 || tr.Dropped() != 0 {
			t.Errorf("%d batches, %d sent, %d dropped", len(b.bodies), tr.Sent(), tr.Dropped())
		}
	})
}

// A request that is not traced costs nothing; one that finds no room is dropped, and nobody waits.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backend{answers: []func() (*http.Response, error){nil}}
		tr, log := tracer(t, b, "OTEL_BSP_MAX_QUEUE_SIZE=20", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=5")
		tr.RequestEnded(untraced())
		end(tr, 5)
		synctest.Wait() // this batch hangs
		end(tr, 30)
		if tr.Dropped() != 10 {
			t.Errorf("%d are dropped, want those beyond the queue of 20", tr.Dropped())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		tr.Stop(ctx)
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("the stop took %v", took)
		}
		if tr.Sent() != 0 || tr.Dropped() != 35 {
			t.Errorf("%d sent, %d dropped, want all 35 lost and counted", tr.Sent(), tr.Dropped())
		}
		if n := strings.Count(log.String(), "do not reach"); n != 1 {
			t.Errorf("it is said %d times:\n%s", n, log)
		}
	})
}

func TestTries(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name          string
		answers       []func() (*http.Response, error)
		tries         int
		sent, dropped uint64
	}{
		{"taken", []func() (*http.Response, error){status(202)}, 1, 2, 0},
		{"taken at the third try", []func() (*http.Response, error){status(503), broken, status(200)}, 3, 2, 0},
		{"never", []func() (*http.Response, error){broken}, 5, 0, 2},
		{"refused", []func() (*http.Response, error){status(400)}, 1, 0, 2},
		{"not let in", []func() (*http.Response, error){status(401)}, 1, 0, 2},
		{"elsewhere", []func() (*http.Response, error){status(302, "Location", "http://other/")}, 1, 0, 2},
		{"a timeout", []func() (*http.Response, error){nil, status(200)}, 2, 2, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &backend{answers: c.answers}
				tr, log := tracer(t, b)
				end(tr, 2)
				wait(5 * time.Minute)
				if len(b.bodies) != c.tries || tr.Sent() != c.sent || tr.Dropped() != c.dropped {
					t.Errorf("%d tries, %d sent, %d dropped", len(b.bodies), tr.Sent(), tr.Dropped())
				}
				if strings.Contains(log.String(), "s3cret") {
					t.Errorf("the log shows the password of the endpoint:\n%s", log)
				}
				tr.Stop(t.Context())
			})
		})
	}
}

// A batch that a collector would find too large goes out in parts.
func TestLargeBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backend{answers: []func() (*http.Response, error){status(200)}}
		tr, _ := tracer(t, b)
		const requests = 150
		for range requests {
			r := story()
			r.Trace = *tr.Begin(http.Header{})
			for range 200 { // candidates that were passed over
				r.Trail = append(r.Trail, r.Trail[0])
			}
			tr.RequestEnded(r)
		}
		wait(time.Minute)
		spans := 0
		for _, body := range b.bodies {
			if len(body) > maxBody {
				t.Errorf("a body of %d bytes", len(body))
			}
			spans += strict(t, body)
		}
		if spans != 5*requests || len(b.bodies) < 2 || tr.Sent() != requests {
			t.Errorf("%d spans in %d parts, %d sent", spans, len(b.bodies), tr.Sent())
		}
		tr.Stop(t.Context())
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backend{answers: []func() (*http.Response, error){status(429, "Retry-After", "7"), status(200)}}
		tr, _ := tracer(t, b)
		end(tr, 1)
		wait(time.Minute)
		if len(b.at) != 2 || b.at[1].Sub(b.at[0]) != 7*time.Second {
			t.Errorf("tries at %v", b.at)
		}
		tr.Stop(t.Context())
	})
}

// Trouble is said once, and its end, too.
func TestLogOfTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backend{answers: []func() (*http.Response, error){status(400), status(400), status(200)}}
		tr, log := tracer(t, b)
		for range 4 {
			end(tr, 1)
			wait(time.Minute)
		}
		tr.Stop(t.Context())
		if strings.Count(log.String(), "do not reach") != 1 || strings.Count(log.String(), "again") != 1 {
			t.Errorf("the log:\n%s", log)
		}
	})
}

func TestPacked(t *testing.T) {
	t.Parallel()
	for _, protocol := range []Protocol{HTTPProtobuf, GRPC} {
		s, err := FromEnvironment(environ("OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_EXPORTER_OTLP_PROTOCOL="+string(protocol)))
		if err != nil {
			t.Fatal(err)
		}
		got := newSender(s, Options{}).packed([]byte("spans"))
		if protocol == GRPC {
			if got[0] != 1 || int(got[4]) != len(got)-5 {
				t.Errorf("the frame is %v", got[:5])
			}
			got = got[5:]
		}
		r, err := gzip.NewReader(bytes.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(r); err != nil || string(plain) != "spans" {
			t.Errorf("%q, %v", plain, err)
		}
	}
}

func TestGRPCAnswers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name      string
		status    int
		trailer   string
		header    string
		ok, again bool
	}{
		{"taken", 200, "0", "", true, false},
		{"unavailable", 200, "14", "", false, true},
		{"unavailable, at once", 200, "", "14", false, true},
		{"invalid", 200, "3", "", false, false},
		{"no status", 200, "", "", false, true},
		{"a proxy's page", 404, "", "", false, false},
		{"a proxy that is full", 503, "", "", false, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			resp := &http.Response{StatusCode: c.status, Header: http.Header{"Grpc-Status": {c.header}}, Trailer: http.Header{"Grpc-Status": {c.trailer}}}
			v := judgeGRPC(resp, nil)
			if (v.err == nil) != c.ok || v.again != c.again {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// What a request costs that is not traced, on its way.
func TestUntracedCostsNothing(t *testing.T) {
	s, err := FromEnvironment(environ("OTEL_TRACES_SAMPLER=always_off"))
	if err != nil {
		t.Fatal(err)
	}
	tr := New(s, Options{Place: places})
	h, r := http.Header{}, untraced()
	if n := testing.AllocsPerRun(100, func() {
		if tr.Begin(h) != nil {
			t.Error("it is traced")
		}
		tr.RequestEnded(r)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequestEnded(b *testing.B) {
	s, err := FromEnvironment(environ())
	if err != nil {
		b.Fatal(err)
	}
	tr := New(s, Options{Place: places})
	r := story()
	b.ReportAllocs()
	for b.Loop() {
		tr.RequestEnded(r)
		tr.free(<-tr.queue)
	}
}

func BenchmarkBatch(b *testing.B) {
	o, r := testOrigin(), story()
	var s span
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = protobuf{}.batch(dst[:0], o, func(each func(*span)) { o.spans(&s, r, each) })
	}
	b.SetBytes(int64(len(dst)))
}

// What waits for a collector holds no words of upstreams, which no span has and which may be long.
func TestWaitingTracesAreSmall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backend{answers: []func() (*http.Response, error){nil}}
		s, err := FromEnvironment(environ("OTEL_EXPORTER_OTLP_ENDPOINT=http://c"))
		if err != nil {
			t.Fatal(err)
		}
		tr := New(s, Options{Place: places, Log: slog.New(slog.DiscardHandler), Transport: b})
		r := story()
		r.Trace = *tr.Begin(http.Header{})
		r.Trail[len(r.Trail)-1].Message = "words"
		tr.RequestEnded(r)
		waits := <-tr.queue
		for i := range waits.Trail {
			if waits.Trail[i].Message != "" {
				t.Errorf("%+v", waits.Trail[i])
			}
		}
		if r.Trail[len(r.Trail)-1].Message != "words" {
			t.Error("the others' copy was changed")
		}
	})
}

// A collector that switches protocols, which nobody asked for, holds up neither the next batch nor a stop: its answer has no end.
func TestCollectorThatSwitchesProtocols(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 64<<10))
				_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	s, err := FromEnvironment(environ("OTEL_EXPORTER_OTLP_ENDPOINT=http://"+l.Addr().String(), "OTEL_BSP_SCHEDULE_DELAY=1"))
	if err != nil {
		t.Fatal(err)
	}
	tr := New(s, Options{Place: places, Log: slog.New(slog.DiscardHandler)})
	tr.Start()
	end(tr, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		tr.Stop(ctx)
	}()
	select {
	case <-ended:
		if tr.Sent() != 0 || tr.Dropped() != 1 {
			t.Errorf("%d sent, %d dropped", tr.Sent(), tr.Dropped())
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for ever")
	}
}

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evergate/bench/internal/llmreq"
)

func TestHistogramQuantiles(t *testing.T) {
	var h, odd hist
	for i := 1; i <= 100_000; i++ {
		if i%2 == 0 {
			h.add(time.Duration(i) * time.Microsecond)
		} else {
			odd.add(time.Duration(i) * time.Microsecond)
		}
	}
	h.merge(&odd)
	for _, q := range []float64{.5, .9, .99, .999} {
		got, want := float64(h.quantile(q)), q*100_000*1000
		if got < want*.99 || got > want*1.01 {
			t.Errorf("q%v = %v, want about %v", q, got, want)
		}
	}
	for _, v := range []int64{0, 1, 127, 128, 129, 255, 256, 1 << 40} {
		b := bucket(v)
		if lower(b) > v || lower(b+1) <= v {
			t.Errorf("%d in bucket %d [%d,%d)", v, b, lower(b), lower(b+1))
		}
	}
}

func TestPayloadSizes(t *testing.T) {
	for _, d := range []string{"chat", "messages", "responses"} {
		for _, size := range []int{300, 5000, 50_000} {
			b, err := llmreq.Body(d, "m", true, size, "")
			if err != nil || len(b) < size-40 || len(b) > size+40 {
				t.Errorf("%s %d: %d bytes, %v", d, size, len(b), err)
			}
		}
	}
}

func server(t *testing.T, f http.HandlerFunc) *runner {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	tg := target{Name: "t", URL: srv.URL, Dialect: "chat", PID: os.Getpid()}
	body, err := llmreq.Body("chat", "m", false, 300, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRunner(tg, body, options{conc: 2, count: 50, status: 200, timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCountRun(t *testing.T) {
	r := server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ok":true}`) })
	res, err := r.run(context.Background(), 0)
	if err != nil || res.Requests != 50 || res.Errors != 0 || res.CPUMicros <= 0 || res.HWMMB <= 0 || res.BytesPerReq != 11 {
		t.Errorf("%+v %v", res, err)
	}
}

func TestErrorsAreCounted(t *testing.T) {
	r := server(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) })
	res, err := r.run(context.Background(), 0)
	if err != nil || res.Errors != 50 || res.ErrorEg != "status 503" {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := r.probe(context.Background()); err == nil {
		t.Error("probe accepted a 503")
	}
}

func TestStreamEvents(t *testing.T) {
	cut := false
	r := server(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 40 {
			// Uneven writes put event marks across reads.
			for part := range strings.SplitSeq("da|ta: {\"n\":|1}\n\n", "|") {
				fmt.Fprint(w, part)
				if i%3 == 0 {
					w.(http.Flusher).Flush()
				}
			}
		}
		if cut {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
	r.end = []byte("[DONE]")
	a, err := r.probe(context.Background())
	if err != nil || a.events != 41 {
		t.Errorf("%d events, %v", a.events, err)
	}
	cut = true
	if _, err := r.probe(context.Background()); err == nil {
		t.Error("a cut stream passed")
	}
}

func TestOnlyLoopback(t *testing.T) {
	for _, u := range []string{"http://192.0.2.1:80", "https://127.0.0.1:1", "http://example.invalid"} {
		if _, _, err := renderRequest(&target{URL: u, Dialect: "chat"}, nil, false); err == nil {
			t.Errorf("%s was accepted", u)
		}
	}
}

func TestRatios(t *testing.T) {
	rs := []result{{Target: "a", CPUMicros: 10}, {Target: "b", CPUMicros: 20}, {Target: "a", Round: 1, CPUMicros: 20}, {Target: "b", Round: 1, CPUMicros: 60}}
	rep := newReport("", "a", []target{{Name: "a"}, {Name: "b"}}, options{}, common{}, rs)
	if got := rep.Summary[1].Ratio["cpu"]; got != (three{2, 2.5, 3}) {
		t.Errorf("%+v", got)
	}
}

func TestHoldCountsOpenStreams(t *testing.T) {
	r := server(t, func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, "data: {}\n\n")
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	})
	r.end = []byte("[DONE]")
	ctx, stop := context.WithCancel(t.Context())
	var open atomic.Int64
	done := make(chan error, 1)
	go func() { done <- r.hold(ctx, &open) }()
	for deadline := time.Now().Add(5 * time.Second); open.Load() != 1; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the stream was not counted as open")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}

	r = server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "data: {}\n\n") })
	open.Store(0)
	if err := r.hold(t.Context(), &open); err == nil || open.Load() != 0 {
		t.Errorf("a stream that ended: %v, %d open", err, open.Load())
	}
}

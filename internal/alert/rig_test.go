package alert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"evergate/internal/journal"
)

// receivers is a network of fake receivers, by host. A handler gives a status, or an error of the network; nil: 200.
type receivers struct {
	mu   sync.Mutex
	do   map[string]func(n int) (status int, header http.Header, err error)
	seen map[string][]delivery
}

type delivery struct {
	at     time.Time
	header http.Header
	body   []byte
	alert  Alert
}

var errNet = errors.New(`posting to https://hooks.example/T0/secret: connection reset`)

func (r *receivers) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	d := delivery{at: time.Now(), header: req.Header.Clone(), body: body}
	_ = json.Unmarshal(body, &d.alert)
	r.mu.Lock()
	host := req.URL.Hostname()
	r.seen[host] = append(r.seen[host], d)
	do, n := r.do[host], len(r.seen[host])
	r.mu.Unlock()
	status, header, err := http.StatusOK, http.Header{}, error(nil)
	if do != nil {
		status, header, err = do(n)
	}
	if ctx := req.Context(); status == 0 && err == nil { // it never answers
		<-ctx.Done()
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader([]byte("<reply>")))}, nil
}

// got is what a receiver got.
func (r *receivers) got(host string) []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen[host])
}

// story is what a receiver got: when, since the start, which event and status.
func (r *receivers) story(host string, start time.Time) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.seen[host] {
		out = append(out, fmt.Sprintf("%s %s %s", d.at.Sub(start).Round(100*time.Millisecond), d.alert.Event, d.alert.Status))
	}
	return out
}

// rig is a Watcher in a bubble.
type rig struct {
	t     *testing.T
	w     *Watcher
	net   *receivers
	log   bytes.Buffer
	start time.Time
}

func newRig(t *testing.T, leases Leases, rs ...Receiver) *rig {
	t.Helper()
	r := &rig{t: t, net: newReceivers(), start: time.Now()}
	r.join(t, "i1", leases, rs...)
	return r
}

func newReceivers() *receivers {
	return &receivers{do: map[string]func(int) (int, http.Header, error){}, seen: map[string][]delivery{}}
}

func (r *rig) join(t *testing.T, instance string, leases Leases, rs ...Receiver) {
	t.Helper()
	r.w = New(Options{
		Instance: instance, Client: r.net, Log: slog.New(slog.NewTextHandler(&r.log, nil)), Leases: leases,
		Random: func() float64 { return 1 },
	})
	r.w.Apply(rs, []string{"a", "b"})
	r.w.Start()
	t.Cleanup(func() { r.w.Stop(t.Context()) })
}

func to(host string, on ...Event) Receiver {
	return Receiver{Name: host, URL: "https://" + host + "/T0/secret", Secret: "s3cret", On: on}
}

func (r *rig) breaker(provider, state string) {
	r.w.GuardChanged(&journal.Guard{At: time.Now(), Provider: provider, Guard: "circuit_breaker", To: state, Trip: "failures", Until: time.Now().Add(30 * time.Second), RequestID: "req_1"})
}

func (r *rig) heard(provider, state string) {
	r.w.GuardChanged(&journal.Guard{At: time.Now(), Provider: provider, Guard: "circuit_breaker", To: state, Heard: true})
}

func (r *rig) request(route, code string) {
	status := 200
	if code != "" {
		status = 502
	}
	r.w.RequestEnded(&journal.Request{ID: "req_2", Start: time.Now(), Route: route, Code: code, Status: status})
}

package alert

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func replies(status int, header ...string) func(int) (int, http.Header, error) {
	h := http.Header{}
	if len(header) == 2 {
		h.Set(header[0], header[1])
	}
	return func(int) (int, http.Header, error) { return status, h, nil }
}

// When a delivery is tried again, and when it is given up.
func TestRetries(t *testing.T) {
	cases := []struct {
		name  string
		do    func(n int) (int, http.Header, error)
		tries []time.Duration // from the alert
		want  Counts
	}{
		{"taken", replies(204), []time.Duration{0}, Counts{Delivered: 1}},
		{"5xx, then taken", func(n int) (int, http.Header, error) {
			if n < 4 {
				return 503, nil, nil
			}
			return 200, nil, nil
		}, []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second}, Counts{Delivered: 1}},
		{"network errors, then taken", func(n int) (int, http.Header, error) {
			if n < 3 {
				return 0, nil, errNet
			}
			return 200, nil, nil
		}, []time.Duration{0, 1 * time.Second, 3 * time.Second}, Counts{Delivered: 1}},
		{"silence, then taken", func(n int) (int, http.Header, error) {
			if n < 2 {
				return 0, nil, nil
			}
			return 200, nil, nil
		}, []time.Duration{0, 11 * time.Second}, Counts{Delivered: 1}},
		{"a limit with its end", func(n int) (int, http.Header, error) {
			if n < 2 {
				return 429, http.Header{"Retry-After": {"30"}}, nil
			}
			return 200, nil, nil
		}, []time.Duration{0, 30 * time.Second}, Counts{Delivered: 1}},
		{"a limit with a date", func(n int) (int, http.Header, error) {
			if n < 2 {
				return 429, http.Header{"Retry-After": {time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat)}}, nil
			}
			return 200, nil, nil
		}, []time.Duration{0, 20 * time.Second}, Counts{Delivered: 1}},
		{"refused", replies(404), []time.Duration{0}, Counts{Failed: 1, LastError: "it answers with status 404"}},
		{"a redirect is not followed", replies(307, "Location", "https://elsewhere/"), []time.Duration{0}, Counts{Failed: 1, LastError: "it answers with status 307, and redirects are not followed"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, to("x"))
				r.net.do["x"] = c.do
				r.breaker("a", "open")
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				var tries []time.Duration
				for _, d := range r.net.got("x") {
					tries = append(tries, d.at.Sub(r.start))
				}
				if !slices.Equal(tries, c.tries) {
					t.Errorf("tried at %v, want %v", tries, c.tries)
				}
				got := r.w.Receivers()[0].Counts
				got.LastDelivered = time.Time{}
				if got != c.want {
					t.Errorf("%+v, want %+v", got, c.want)
				}
				if c.want.Failed > 0 != strings.Contains(r.log.String(), "alert not delivered") || strings.Contains(r.log.String(), "secret") {
					t.Errorf("log %q", r.log.String())
				}
			})
		})
	}
}

// A receiver that is down for hours gets what it can take; each alert is given up after an hour, and pauses grow to a minute.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, to("x"))
		r.net.do["x"] = replies(500)
		r.breaker("a", "open")
		time.Sleep(3 * time.Hour)
		seen := r.net.got("x")
		last := seen[len(seen)-1].at.Sub(r.start)
		if last > time.Hour || last < 58*time.Minute || len(seen) > 70 {
			t.Errorf("%d tries, the last after %s", len(seen), last)
		}
		if c := r.w.Receivers()[0].Counts; c.Failed != 1 || c.Waiting != 0 {
			t.Errorf("%+v", c)
		}
	})
}

// Every try has a time and a signature of its own, which a receiver can check with what the documentation says.
func TestSignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, to("x"), Receiver{Name: "y", URL: "https://user:pa%20ss@y/"})
		r.net.do["x"] = func(n int) (int, http.Header, error) { return map[bool]int{true: 500, false: 200}[n == 1], nil, nil }
		r.breaker("a", "open")
		time.Sleep(time.Minute)
		seen := r.net.got("x")
		if len(seen) != 2 || seen[0].header.Get(SignatureHeader) == seen[1].header.Get(SignatureHeader) {
			t.Fatalf("%d tries", len(seen))
		}
		for _, d := range seen {
			at, sum, _ := strings.Cut(strings.TrimPrefix(d.header.Get(SignatureHeader), "t="), ",v1=")
			mac := hmac.New(sha256.New, []byte("s3cret"))
			mac.Write([]byte(at + "." + string(d.body)))
			if sum != hex.EncodeToString(mac.Sum(nil)) || d.header.Get("Evergate-Event") != "breaker_opened" {
				t.Errorf("%v", d.header)
			}
		}
		y := r.net.got("y")[0].header
		if y.Get(SignatureHeader) != "" || y.Get("Authorization") != "Basic dXNlcjpwYSBzcw==" {
			t.Errorf("%v", y)
		}
	})
}

// One that never answers holds up no other; it has a bounded queue, whose oldest go; a stop waits for it no longer than it may.
func TestASlowReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, to("slow"), to("quick"))
		r.net.do["slow"] = func(int) (int, http.Header, error) { return 0, nil, nil }
		for range 200 {
			r.breaker("a", "open")
			r.breaker("a", "closed")
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if n := len(r.net.got("quick")); n != 400 {
			t.Errorf("the quick one got %d", n)
		}
		states := r.w.Receivers()
		if states[0].Name != "quick" || states[0].Delivered != 400 || states[1].Dropped != 400-maxQueue-1 || states[1].Waiting != maxQueue+1 {
			t.Errorf("%+v", states)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		r.w.Stop(ctx)
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("stopped after %s", took)
		}
	})
}

// A stop brings what was heard just before it, and does not wait between tries.
func TestStopFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, to("x"), to("broken"))
		r.net.do["broken"] = replies(500)
		r.breaker("a", "open")
		r.breaker("b", "open")
		synctest.Wait()
		r.breaker("a", "closed")
		start := time.Now()
		r.w.Stop(t.Context())
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %s", took)
		}
		if got := r.net.story("x", r.start); len(got) != 3 || got[2] != "0s breaker_closed resolved" {
			t.Errorf("%q", got)
		}
		if n := len(r.net.got("broken")); n != 3 {
			t.Errorf("%d tries", n)
		}
		r.breaker("a", "open") // nobody listens any more, and nothing breaks
		r.w.Stop(t.Context())
	})
}

// A reload keeps the queue of a receiver whose URL it changes, and drops that of one that is gone.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, to("x"), to("y"))
		r.net.do["x"], r.net.do["y"] = replies(500), replies(500)
		r.breaker("a", "open")
		time.Sleep(time.Minute)
		moved := to("x")
		moved.URL = "https://new/T1"
		r.w.Apply([]Receiver{moved}, []string{"a", "b"})
		before := len(r.net.got("y"))
		time.Sleep(2 * time.Minute)
		if got := r.net.got("new"); len(got) != 1 || got[0].alert.Event != BreakerOpened {
			t.Errorf("%+v", got)
		}
		if n := len(r.net.got("y")); n != before {
			t.Errorf("%d more tries at one that is gone", n-before)
		}
	})
}

// A test goes past the queue, and says what came of it without the URL.
func TestTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, to("x", Drill))
		r.net.do["x"] = func(n int) (int, http.Header, error) { return []int{200, 403}[n-1], nil, nil }
		got, ok := r.w.Test(t.Context(), "x", "me")
		if !ok || !got.Delivered || got.Status != 200 || r.net.got("x")[0].alert.Event != Test {
			t.Errorf("%+v", got)
		}
		got, _ = r.w.Test(t.Context(), "x", "me")
		if got.Delivered || got.Status != 403 || got.Message != "it answers with status 403" {
			t.Errorf("%+v", got)
		}
		if _, ok := r.w.Test(t.Context(), "z", "me"); ok {
			t.Error("there is no z")
		}
	})
}

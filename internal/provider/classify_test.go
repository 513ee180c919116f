package provider

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"evergate/internal/fault"
)

func rules(r ...Rule) func(*Options) {
	return func(o *Options) { o.Classify = r }
}

// CONTRACT §2: classify rules come before the table, the first that matches wins.
func TestClassifyRules(t *testing.T) {
	body := []byte(`{"error":{"message":"Upstream says Busy now","type":"weird","code":"odd_code"}}`)
	for _, tc := range []struct {
		name   string
		rules  []Rule
		status int
		want   fault.Class
	}{
		{"none", nil, 503, fault.Upstream},
		{"status", []Rule{{Status: 503, As: "rate_limit"}}, 503, fault.RateLimited},
		{"other status", []Rule{{Status: 500, As: "rate_limit"}}, 503, fault.Upstream},
		{"code", []Rule{{Code: "odd_code", As: "quota"}}, 400, fault.Quota},
		{"type as code", []Rule{{Code: "weird", As: "auth"}}, 400, fault.Auth},
		{"message", []Rule{{Message: `(?i)busy\s+now$`, As: "model"}}, 400, fault.ModelMissing},
		{"other message", []Rule{{Message: `^busy`, As: "model"}}, 400, fault.Rejected},
		{"provider", []Rule{{Provider: "up", As: "next"}}, 400, fault.Next},
		{"other provider", []Rule{{Provider: "down", As: "next"}}, 400, fault.Rejected},
		{"client", []Rule{{As: "client"}}, 500, fault.Rejected},
		{"failure", []Rule{{As: "failure"}}, 429, fault.Upstream},
		{"failure keeps what is known better", []Rule{{As: "failure"}}, 302, fault.Invalid},
		{"kind invalid", []Rule{{Kind: "invalid", As: "client"}}, 302, fault.Rejected},
		{"kind does not match", []Rule{{Kind: "timeout", As: "client"}}, 302, fault.Invalid},
		{"first wins", []Rule{{Status: 500, As: "client"}, {Status: 503, As: "next"}, {As: "auth"}}, 503, fault.Next},
		{"all conditions", []Rule{{Status: 503, Code: "other", As: "next"}}, 503, fault.Upstream},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClient(t, "http://up.test/v1", rules(tc.rules...), nil)
			f := c.Classify(tc.status, http.Header{}, body, "odd_code", "Upstream says Busy now")
			if f.Class != tc.want {
				t.Errorf("%v, want %v", f.Class, tc.want)
			}
		})
	}
}

// A rule that cannot be used is a mistake of the configuration, found before anything is sent.
func TestBadRules(t *testing.T) {
	for _, r := range []Rule{{Message: "(", As: "next"}, {As: "elsewhere"}, {Kind: "slow", As: "next"}} {
		o := newClient(t, "http://up.test/v1", nil, nil).options
		o.Classify = []Rule{r}
		if _, err := New(o, nil); err == nil || !strings.Contains(err.Error(), "rule 1") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// Rules see what has no response, too: a timeout can go back to the caller.
func TestRulesOnTimeout(t *testing.T) {
	c := newClient(t, "http://up.test/v1", rules(Rule{Kind: "timeout", As: "client"}), nil)
	limit := &fault.Fault{Class: fault.Timeout, Message: "no first chunk in 60s"}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(limit)
	if f := c.ReadFault(ctx, context.Canceled); f.Class != fault.Rejected || f.Message != limit.Message {
		t.Errorf("read: %v", f)
	}
	if f := c.Refine(limit); f.Class != fault.Rejected {
		t.Errorf("refine: %v", f)
	}
	if limit.Class != fault.Timeout {
		t.Error("the fault given was changed")
	}
	out, released := outgoing(`{}`)
	if _, f := c.Send(ctx, out); f.Class != fault.Rejected {
		t.Errorf("send: %v", f)
	}
	if released.Load() != 1 {
		t.Errorf("released %d times", released.Load())
	}
}

// R13: no rule makes the caller's own end an outcome of the provider.
func TestRulesLeaveTheCallerAlone(t *testing.T) {
	c := newClient(t, "http://up.test/v1", rules(Rule{As: "failure"}), nil)
	for _, class := range []fault.Class{fault.ClientGone, fault.ClientDeadline} {
		if f := c.Refine(&fault.Fault{Class: class}); f.Class != class {
			t.Errorf("%v became %v", class, f.Class)
		}
	}
}

// R14: what Refine keeps, and what it finds in an error within a 200.
func TestRefine(t *testing.T) {
	c := newClient(t, "http://up.test/v1", nil, nil)
	for _, tc := range []struct {
		name string
		in   fault.Fault
		want fault.Class
	}{
		{"no answer", fault.Fault{Class: fault.Invalid, Status: 200, Message: "empty body"}, fault.Invalid},
		{"unknown code", fault.Fault{Class: fault.Invalid, Status: 200, Code: "odd", Message: "odd"}, fault.Invalid},
		{"rate limit", fault.Fault{Class: fault.Invalid, Status: 200, Code: "rate_limit_error"}, fault.RateLimited},
		{"overloaded", fault.Fault{Class: fault.Unknown, Code: "overloaded_error"}, fault.Upstream},
		{"status as code", fault.Fault{Class: fault.Invalid, Status: 200, Code: "503"}, fault.Upstream},
		{"nothing at all", fault.Fault{}, fault.Invalid},
		{"reset", fault.Fault{Class: fault.Reset, Message: "rate limit exceeded"}, fault.Reset},
		{"timeout", fault.Fault{Class: fault.Timeout}, fault.Timeout},
		{"gone", fault.Fault{Class: fault.ClientGone, Code: "429"}, fault.ClientGone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := tc.in
			if got := c.Refine(&tc.in); got.Class != tc.want {
				t.Errorf("%v, want %v", got.Class, tc.want)
			}
			if tc.in.Class != before.Class || tc.in.Message != before.Message {
				t.Error("the fault given was changed")
			}
		})
	}
}

func TestClassifyHeaders(t *testing.T) {
	c := newClient(t, "http://up.test/v1", nil, nil)
	c.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	resets := http.Header{"X-Ratelimit-Reset": {"30s"}, "X-Ratelimit-Remaining": {"0"}}
	if f := c.Classify(500, resets, nil, "", ""); f.Wait.Named {
		t.Error("a 500 waits for a limit that it did not hit")
	}
	if f := c.Classify(503, resets, nil, "", ""); f.Wait != (fault.Wait{For: 30 * time.Second, Named: true}) {
		t.Errorf("503: %v", f.Wait)
	}
	if f := c.Classify(500, http.Header{"Retry-After": {"3"}}, nil, "", ""); f.Wait != (fault.Wait{For: 3 * time.Second, Named: true}) {
		t.Errorf("500 with Retry-After: %v", f.Wait)
	}
	for value, want := range map[string]fault.Tri{"true": fault.Yes, "False": fault.No, "": fault.Unsaid, "1": fault.Unsaid} {
		if f := c.Classify(500, http.Header{"X-Should-Retry": {value}}, nil, "", ""); f.ShouldRetry != want {
			t.Errorf("x-should-retry %q: %v", value, f.ShouldRetry)
		}
	}
	if f := c.Classify(500, http.Header{"Content-Type": {"text/html"}}, []byte("<html>"), "", ""); f.Message != "500 Internal Server Error" || f.ContentType != "text/html" {
		t.Errorf("%q, %q", f.Message, f.ContentType)
	}
}

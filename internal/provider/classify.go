package provider

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evergate/internal/fault"
)

// Classify turns a response that is not 2xx into a fault (attempt.Upstream).
func (c *Client) Classify(status int, header http.Header, body []byte, code, message string) *fault.Fault {
	own := ""
	if c.vendor.Code != nil {
		own = c.vendor.Code(header, body)
	}
	if code == "" {
		code = own
	}
	w := readWords(body, code, message)
	w.code(own)
	f := &fault.Fault{
		Class: fault.Invalid, Status: status, Code: code, Message: w.message, // 1xx, 6xx: no answer at all
		ContentType: header.Get("Content-Type"), ShouldRetry: shouldRetry(header),
	}
	if e := c.vendor.verdict(status, &w); e != nil {
		f.Class, f.Seal = e.Class, e.Seal
	}
	if f.Code == "" {
		f.Code = w.first
	}
	if f.Message == "" {
		f.Message = strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	}
	// Only where waiting is what was asked for: a plain 500 carries the usual counters of an unexhausted limit.
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == 529:
		f.Wait = ReadWait(header, body, c.now())
	case header.Get("Retry-After") != "", header.Get("Retry-After-Ms") != "":
		f.Wait = ReadWait(header, nil, c.now())
	}
	c.judge(f, &w)
	c.hide(f)
	if len(body) <= maxErrorJSON {
		f.Body = c.masking().bytes(body)
	}
	return f
}

// Refine gives a fault found elsewhere its class by the same table (attempt.Upstream). Where the table knows nothing
// better, and for what came from the connection or the caller, the fault keeps the class it has.
func (c *Client) Refine(f *fault.Fault) *fault.Fault {
	out := *f
	w := readWords(f.Body, f.Code, f.Message)
	switch f.Class {
	case fault.Unknown, fault.Invalid, fault.Upstream, fault.Rejected, fault.RateLimited:
		status := w.status()
		if f.Status >= http.StatusMultipleChoices {
			status = f.Status
		}
		if f.Code != "" || f.Message != "" || status != 0 {
			if e := c.vendor.verdict(status, &w); e != nil {
				out.Class, out.Seal = e.Class, e.Seal
			}
		}
		if out.Class == fault.Unknown {
			out.Class = fault.Invalid
		}
	case fault.Connect, fault.Reset, fault.Timeout, fault.Quota, fault.ModelLimited, fault.Auth, fault.CallerAuth,
		fault.ModelMissing, fault.ContextLength, fault.ContentFilter, fault.ClientGone, fault.Cut, fault.Next, fault.RouteMissing,
		fault.ClientDeadline, fault.Unable, fault.NoToken:
	}
	c.judge(&out, &w)
	c.hide(&out)
	if f.Body != nil {
		out.Body = c.masking().bytes(f.Body)
	}
	return &out
}

// ruled is f after the user's rules; f itself where they leave it alone.
func (c *Client) ruled(f *fault.Fault) *fault.Fault {
	out := *f
	if c.judge(&out, &words{message: f.Message}); out.Class == f.Class {
		return f
	}
	return &out
}

// hide masks a fault's words and keeps them to a decent length.
func (c *Client) hide(f *fault.Fault) {
	f.Code = c.masking().text(clip(f.Code, 128))
	f.Message = clip(c.masking().text(clip(f.Message, 2*maxMessage)), maxMessage)
}

func shouldRetry(h http.Header) fault.Tri {
	switch strings.ToLower(h.Get("X-Should-Retry")) {
	case "true":
		return fault.Yes
	case "false":
		return fault.No
	}
	return fault.Unsaid
}

// rule is one of the user's, ready to match.
type rule struct {
	status  int
	code    string
	message *regexp.Regexp
	kind    fault.Class // Unknown: any
	as      string
}

// ruleKinds and ruleClasses are the words of a classify rule (CONTRACT §2). "failure" is not a class: see judge.
var (
	ruleKinds = map[string]fault.Class{
		"": fault.Unknown, "timeout": fault.Timeout, "connect": fault.Connect, "reset": fault.Reset, "invalid": fault.Invalid,
	}
	ruleClasses = map[string]fault.Class{
		"failure": fault.Upstream, "next": fault.Next, "rate_limit": fault.RateLimited, "auth": fault.Auth,
		"quota": fault.Quota, "model": fault.ModelMissing, "client": fault.Rejected,
	}
)

// compileRules keeps the rules that can match at this provider.
func compileRules(provider string, rules []Rule) ([]rule, error) {
	var out []rule
	for i, r := range rules {
		if _, ok := ruleClasses[r.As]; !ok {
			return nil, fmt.Errorf("classify rule %d: unknown as %q", i+1, r.As)
		}
		kind, ok := ruleKinds[r.Kind]
		if !ok {
			return nil, fmt.Errorf("classify rule %d: unknown kind %q", i+1, r.Kind)
		}
		compiled := rule{status: r.Status, code: strings.ToLower(r.Code), kind: kind, as: r.As}
		if r.Message != "" {
			re, err := regexp.Compile(r.Message)
			if err != nil {
				return nil, fmt.Errorf("classify rule %d: message: %w", i+1, err)
			}
			compiled.message = re
		}
		if r.Provider == "" || r.Provider == provider {
			out = append(out, compiled)
		}
	}
	return out, nil
}

// judge applies the user's rules to a fault that the table has classified: the first that matches wins. What the
// caller did is no outcome of the provider's, nor is a token that another host did not give (R32): no rule sees them.
func (c *Client) judge(f *fault.Fault, w *words) {
	if f.Class == fault.ClientGone || f.Class == fault.ClientDeadline || f.Unasked {
		return
	}
	for _, r := range c.rules {
		if !r.matches(f, w) {
			continue
		}
		// A failure that is known more exactly stays what it is: a timeout is not retried as a 500 is.
		if r.as != "failure" || !f.Class.BreakerFailure() {
			f.Class, f.Seal = ruleClasses[r.as], false // the user's word is the last one: nothing is repaired
		}
		return
	}
}

func (r *rule) matches(f *fault.Fault, w *words) bool {
	return (r.status == 0 || r.status == f.Status || r.status == w.status()) &&
		(r.code == "" || slices.Contains(w.codes, r.code)) &&
		(r.message == nil || r.message.MatchString(w.message)) &&
		(r.kind == fault.Unknown || r.kind == f.Class)
}

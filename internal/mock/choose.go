package mock

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// FaultHeader is the request header by which a request chooses its own behaviour.
const FaultHeader = "x-mock-fault"

// preset is the fault that a model's name chooses, in the words of FaultHeader.
func preset(model string) (fault string, ok bool) {
	name, ok := strings.CutPrefix(model, "mock-")
	if !ok {
		return "", false
	}
	switch name {
	case "hang":
		return "hang=before_headers", true
	case "silent":
		return "hang=headers", true
	case "stall":
		return "hang=3", true
	case "reset":
		return "reset=before_headers", true
	case "reset-headers":
		return "reset=headers", true
	case "reset-stream":
		return "reset=3", true
	case "close":
		return "cut=before_headers", true
	case "cut":
		return "cut=3", true
	case "eof":
		return "eof=3", true
	case "error":
		return "error=headers", true
	case "error-late":
		return "error=3", true
	case "malformed":
		return "malformed=3", true
	case "no-done", "no-finish", "empty", "html", "gzip":
		return name, true
	case "comments":
		return "hang=headers; keepalive=1s", true
	case "slow":
		return "latency=500ms; first_token=2s; chunk_delay=200ms", true
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 300 && n <= 599 {
		return "status=" + name, true
	}
	return "", false
}

// choose finds the behaviour for a request and what decided it: the fault header, the model's name, a rule or nothing.
// The error is the client's: a fault header that cannot be read. Requires the lock.
func (p *Provider) choose(r *request, since time.Duration) (b Behaviour, why string, err error) {
	if f := r.header.Get(FaultHeader); f != "" {
		b, err = parseFault(f, p.script.Defaults)
		return b, FaultHeader, err
	}
	if f, ok := preset(r.Model); ok {
		b, err = parseFault(f, p.script.Defaults)
		return b, r.Model, err
	}
	for i := range p.script.Rules {
		rule := &p.script.Rules[i]
		if !rule.matches(r) || !rule.Schedule.Down(since) {
			continue
		}
		p.reached[i]++
		if rule.Nth != (Nth{}) && !rule.Nth.holds(p.reached[i]) {
			continue
		}
		if rule.Probability > 0 && rule.Probability < 1 {
			p.drawn[i]++
			if draw(p.script.Seed, uint64(i), p.drawn[i]) >= rule.Probability {
				continue
			}
		}
		return rule.Do, rule.label(i), nil
	}
	return p.script.Defaults, "", nil
}

func (r *Rule) label(i int) string {
	if r.Name != "" {
		return r.Name
	}
	return "rules[" + strconv.Itoa(i) + "]"
}

// matches looks at what does not depend on time or on other requests.
func (r *Rule) matches(q *request) bool {
	switch {
	case r.Path == "" && (q.op == opModels || q.op == opStored || q.op == opCancel):
		return false
	case r.Path != "" && !glob(shortPath(r.Path), shortPath(q.path)):
		return false
	case r.Model != "" && !glob(r.Model, q.Model):
		return false
	case r.Key != "" && r.Key != q.key:
		return false
	case r.Stream == Streamed && !q.Stream, r.Stream == Plain && q.Stream:
		return false
	}
	return true
}

// shortPath is a path without its version segment and slashes at both ends.
func shortPath(s string) string {
	s = strings.Trim(s, "/")
	if rest, ok := strings.CutPrefix(s, "v1/"); ok {
		return rest
	}
	return s
}

func glob(pattern, s string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == s
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
	return regexp.MustCompile("(?s)^" + expr + "$").MatchString(s)
}

// draw is a number in [0, 1) that depends on its arguments alone (splitmix64), so that a seed fixes a whole run.
func draw(seed, rule, n uint64) float64 {
	x := seed + rule*0xd1342543de82ef95 + n*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}

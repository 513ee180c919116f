package traces

import (
	"encoding/hex"
	"net/http"
	"strings"
)

// What of a tracestate is taken at most, as W3C Trace Context has it.
const (
	maxState   = 512 // bytes
	maxMembers = 32
)

// remote is the span of a client, as its traceparent names it.
type remote struct {
	trace   [16]byte
	span    [8]byte
	sampled bool
}

// parent reads the trace context of a request; false: it brings none that is valid, and the tracestate counts for nothing
// either.
func parent(h http.Header) (remote, string, bool) {
	lines := h["Traceparent"]
	if len(lines) != 1 {
		return remote{}, "", false
	}
	r, ok := parseParent(lines[0])
	if !ok {
		return remote{}, "", false
	}
	return r, state(h["Tracestate"]), true
}

// parseParent reads a traceparent: 00-TRACE-SPAN-FLAGS in lower-case hex. Of a later version what is known of it counts.
func parseParent(s string) (remote, bool) {
	var r remote
	var version, flags [1]byte
	s = strings.TrimSpace(s)
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return r, false
	}
	if !lowerHex(version[:], s[:2]) || !lowerHex(r.trace[:], s[3:35]) || !lowerHex(r.span[:], s[36:52]) || !lowerHex(flags[:], s[53:55]) {
		return r, false
	}
	switch {
	case version[0] == 0xff, version[0] == 0 && len(s) != 55, len(s) > 55 && s[55] != '-':
		return r, false
	case r.trace == [16]byte{}, r.span == [8]byte{}:
		return r, false
	}
	r.sampled = flags[0]&1 != 0
	return r, true
}

func lowerHex(dst []byte, s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	_, err := hex.Decode(dst, []byte(s))
	return err == nil
}

// state is a client's tracestate; empty if it is not one.
func state(lines []string) string {
	s := strings.Join(lines, ",")
	if s == "" || len(s) > maxState {
		return ""
	}
	seen := make(map[string]bool, 4)
	for member := range strings.SplitSeq(s, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue
		}
		key, value, ok := strings.Cut(member, "=")
		if !ok || !stateKey(key) || !stateValue(value) || seen[key] {
			return ""
		}
		seen[key] = true
	}
	if len(seen) == 0 || len(seen) > maxMembers {
		return ""
	}
	return s
}

func stateKey(s string) bool {
	if s == "" || len(s) > 256 || (s[0] < 'a' || s[0] > 'z') && (s[0] < '0' || s[0] > '9') {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-', c == '*', c == '/', c == '@':
		default:
			return false
		}
	}
	return true
}

func stateValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == ',' || c == '=' {
			return false
		}
	}
	return s != "" && len(s) <= 256 && s[len(s)-1] != ' '
}

package journal

import (
	"slices"
	"strconv"
	"strings"
)

// Bounds of a written trail: small enough for a response header that proxies pass on, large enough for some thirty
// steps with ordinary names.
const (
	MaxTrail   = 2048 // bytes of a whole trail
	maxTrailID = 160  // bytes of one provider or model name, before its signs are encoded
	trailMore  = len(", ...+99999")
)

// AppendTrail appends the compact form of a trail, as the reply header x-evergate-trail and the log line show it, and
// returns the extended buffer: `groq/llama-3.3=circuit_open, azure/gpt-4o=timeout, openai/gpt-4o-mini=200`. An attempt
// shows the upstream's status, or the reason where there was none or where a 2xx was not an answer; a skip shows the
// guard's reason. What follows a semicolon marks an attempt that was started beside another (`b/m=200;hedge`), or that went on
// with a broken stream after so many bytes of text (`b/m=200;resumed=1234`), or that met the fault of a drill (`a/m=503;drill`).
//
// What is appended is at most MaxTrail bytes of printable ASCII, and so safe in a header and in a log line. In names
// everything else, and the signs that give the trail its form (comma, semicolon, equals, percent, quote, space), is
// percent-encoded. A name longer than 160 bytes ends in "...", and where steps had to be left out the trail ends in
// `, ...+N`, N being their number.
func AppendTrail(dst []byte, steps []Step) []byte {
	start := len(dst)
	for i := range steps {
		before := len(dst)
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendStep(dst, &steps[i])
		room := MaxTrail
		if i < len(steps)-1 {
			room -= trailMore
		}
		if len(dst)-start > room {
			dst = dst[:before]
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(dst, "...+"...)
			return strconv.AppendInt(dst, int64(len(steps)-i), 10)
		}
	}
	return dst
}

func appendStep(dst []byte, s *Step) []byte {
	dst = appendTrailName(dst, s.Provider)
	if s.Model != "" { // passthrough has none
		dst = append(dst, '/')
		dst = appendTrailName(dst, s.Model)
	}
	dst = append(dst, '=')
	if s.Skipped || s.Status == 0 || s.Status < 300 && s.Reason != "ok" { // the last: a 200 that was not an answer, or that was cut
		dst = appendTrailName(dst, s.Reason)
	} else {
		dst = strconv.AppendInt(dst, int64(s.Status), 10)
	}
	switch {
	case s.Why == "hedge":
		dst = append(dst, ";hedge"...)
	case s.Seam > 0:
		dst = append(dst, ";resumed="...)
		dst = strconv.AppendInt(dst, int64(s.Seam), 10)
	}
	if s.Drill != "" {
		dst = append(dst, ";drill"...)
	}
	return dst
}

// DrillOf is the drills that had their way with attempts of a trail, in order, with spaces between them; empty: none had.
func DrillOf(steps []Step) (all string) {
	for i := range steps {
		switch id := steps[i].Drill; {
		case id == "" || id == all:
		case all == "":
			all = id
		case !slices.Contains(strings.Fields(all), id):
			all += " " + id
		}
	}
	return all
}

func appendTrailName(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	cut := len(s) > maxTrailID
	if cut {
		s = s[:maxTrailID]
	}
	for i := range len(s) {
		if c := s[i]; plainInTrail(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	if cut {
		dst = append(dst, "..."...)
	}
	return dst
}

// plainInTrail says whether a byte of a name stands for itself.
func plainInTrail(c byte) bool {
	switch c {
	case ',', ';', '=', '%', '"':
		return false
	}
	return c > ' ' && c < 0x7f
}

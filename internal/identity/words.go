package identity

import (
	"errors"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"evergate/internal/quota"
)

// The bounds of what is said of a caller: all of it is shown in logs, tables and reports.
const (
	MaxName   = 128 // bytes of a name, an owner, a team
	MaxLabel  = 128 // bytes of a label's name, and of its text
	MaxLabels = 16
	MaxList   = 256  // models, providers, sources and the like
	MaxItem   = 1024 // bytes of one of them
)

// Word says whether a text may be shown as it is: it is UTF-8, of at most so many bytes, has no control characters, and begins and ends with something to see.
func Word(s string, most int) bool {
	return s != "" && len(s) <= most && utf8.ValidString(s) && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// LabelName says whether a label may be called so.
func LabelName(s string) bool {
	return s != "" && len(s) <= MaxLabel && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' && r != '.'
	})
}

// ParseSource reads an address, or a range of them.
func ParseSource(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err == nil && p.Addr().Is4In6() {
		return p, errors.New("an IPv4 range is written as one")
	}
	return p, err
}

// ParseMoment reads a day, which counts to its end (UTC), or a moment (RFC 3339).
func ParseMoment(s string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	return time.Parse(time.RFC3339, s)
}

var periods = map[string]quota.Period{"hour": quota.Hour, "day": quota.Day, "week": quota.Week, "month": quota.Month}

// ParsePeriod reads the word of a period.
func ParsePeriod(word string) (quota.Period, bool) {
	p, ok := periods[word]
	return p, ok
}

// PeriodWord is the word of a period.
func PeriodWord(p quota.Period) string {
	for word, o := range periods {
		if o == p {
			return word
		}
	}
	return ""
}

// ParseZone reads the name of a time zone. That of the machine is none: instances of a fleet may differ in it.
func ParseZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errors.New("a time zone has a name such as UTC or Europe/Berlin")
	}
	return time.LoadLocation(name)
}

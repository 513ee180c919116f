package mock

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Point is a moment of an exchange at which a fault happens.
type Point int

// The points but for After. The order of their values is nobody's business but clamp's, which needs After last.
const (
	Never         Point = iota
	BeforeHeaders       // nothing was sent
	AfterHeaders        // headers were sent, nothing else
	AfterFinish         // the finish chunk was sent, no usage and no end marker
	AtEnd               // everything was sent but the end of the body
	afterZero
)

// After is the point after n content chunks; After(0) is just before the first.
func After(n int) Point { return afterZero + Point(max(n, 0)) }

// String is the point as a script says it.
func (p Point) String() string {
	switch p {
	case Never:
		return "never"
	case BeforeHeaders:
		return "before_headers"
	case AfterHeaders:
		return "headers"
	case AfterFinish:
		return "finish"
	case AtEnd:
		return "end"
	case afterZero:
	}
	return strconv.Itoa(int(p - afterZero))
}

func parsePoint(s string) (Point, error) {
	for _, p := range []Point{BeforeHeaders, AfterHeaders, AfterFinish, AtEnd} {
		if s == p.String() || strings.ReplaceAll(s, "-", "_") == p.String() {
			return p, nil
		}
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return After(n), nil
	}
	return Never, fmt.Errorf("%q is not a point: write before_headers, headers, finish, end or a number of chunks", s)
}

// Nth says which requests of a row a rule is for, counted from 1. The zero Nth is for all.
type Nth struct {
	From, To int // To 0: no end
	Every    int // every so many-th; then From and To are not used
}

func (n Nth) holds(i int) bool {
	if n.Every > 0 {
		return i%n.Every == 0
	}
	return i >= n.From && (n.To == 0 || i <= n.To)
}

func parseNth(s string) (Nth, error) {
	bad := fmt.Errorf("%q is not a count of requests: write 1, 2-5, 4- or every 3", s)
	if every, ok := strings.CutPrefix(s, "every "); ok {
		n, err := strconv.Atoi(strings.TrimSpace(every))
		if err != nil || n < 1 {
			return Nth{}, bad
		}
		return Nth{Every: n}, nil
	}
	first, last, isRange := strings.Cut(s, "-")
	from, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || from < 1 {
		return Nth{}, bad
	}
	if !isRange {
		return Nth{From: from, To: from}, nil
	}
	if strings.TrimSpace(last) == "" {
		return Nth{From: from}, nil
	}
	to, err := strconv.Atoi(strings.TrimSpace(last))
	if err != nil || to < from {
		return Nth{}, bad
	}
	return Nth{From: from, To: to}, nil
}

// Phase is a part of a schedule. For 0 lasts for ever and is allowed in the last phase only.
type Phase struct {
	Down bool
	For  time.Duration
}

// Schedule is a row of phases that repeats, unless its last phase lasts for ever. An empty one is always down: a rule
// without a schedule always holds.
type Schedule []Phase

// Down says whether a rule with this schedule holds so long after the start.
func (s Schedule) Down(since time.Duration) bool {
	if len(s) == 0 {
		return true
	}
	var cycle time.Duration
	for _, p := range s {
		cycle += p.For
	}
	last := s[len(s)-1]
	if last.For == 0 && since >= cycle {
		return last.Down
	}
	since %= cycle
	for _, p := range s {
		if since < p.For {
			return p.Down
		}
		since -= p.For
	}
	return last.Down
}

func parseSchedule(s string) (Schedule, error) {
	const form = `write phases such as "up 20s, down 10s"`
	var out Schedule
	parts := strings.Split(s, ",")
	for i, part := range parts {
		words := strings.Fields(part)
		if len(words) == 0 || len(words) > 2 || (words[0] != "up" && words[0] != "down") {
			return nil, fmt.Errorf("%q is not a schedule: %s", s, form)
		}
		p := Phase{Down: words[0] == "down"}
		if len(words) == 1 {
			if i != len(parts)-1 {
				return nil, fmt.Errorf("%q is not a schedule: only the last phase may have no duration", s)
			}
		} else {
			d, err := time.ParseDuration(words[1])
			if err != nil || d <= 0 {
				return nil, fmt.Errorf("%q is not a schedule: %q is not a positive duration", s, words[1])
			}
			p.For = d
		}
		out = append(out, p)
	}
	return out, nil
}

package quota

import "time"

// String is the word of the configuration.
func (p Period) String() string {
	switch p {
	case Hour:
		return "hour"
	case Week:
		return "week"
	case Month:
		return "month"
	default:
		return "day"
	}
}

// A is the word with its article, as in "$5 an hour".
func (p Period) A() string {
	if p == Hour {
		return "an hour"
	}
	return "a " + p.String()
}

// ParsePeriod reads the configuration's word.
func ParsePeriod(word string) (Period, bool) {
	for _, p := range [...]Period{Hour, Day, Week, Month} {
		if p.String() == word {
			return p, true
		}
	}
	return Day, false
}

// Span is the period that a moment lies in: from is in it, to no more. Periods follow each other without a gap, also where the clocks of the zone
// are changed: such a day has 23 or 25 hours. A nil zone is UTC.
func (p Period) Span(at time.Time, zone *time.Location) (from, to time.Time) {
	if zone == nil {
		zone = time.UTC
	}
	at = at.In(zone)
	if p == Hour {
		from = at.Add(-time.Duration(at.Minute())*time.Minute - time.Duration(at.Second())*time.Second - time.Duration(at.Nanosecond()))
		return from, from.Add(time.Hour)
	}
	// The local date nearly always tells; where clocks go back over midnight a moment lies in the day before or after.
	for _, shift := range [...]int{0, -1, 1} {
		from, to = p.border(at, shift), p.border(at, shift+1)
		if !at.Before(from) && at.Before(to) {
			break
		}
	}
	return from, to
}

// border is where the period begins that is so many after the one of a local date.
func (p Period) border(at time.Time, shift int) time.Time {
	year, month, day := at.Date()
	switch p {
	case Month:
		month, day = month+time.Month(shift), 1
	case Week:
		day += 7*shift - (int(at.Weekday())+6)%7
	default:
		day += shift
	}
	return midnight(year, month, day, at.Location())
}

// midnight is when a day begins, which is not always at 0:00.
func midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if t.Hour() == 0 {
		return earlier(t)
	}
	if _, change := t.ZoneBounds(); !change.IsZero() && change.Sub(t) <= 3*time.Hour && t.Hour() > 12 {
		return change // there is no midnight: the clocks went from it to later
	}
	return t
}

// earlier is the first of two midnights, where the clocks go back to it.
func earlier(t time.Time) time.Time {
	if start, _ := t.ZoneBounds(); !start.IsZero() && t.Sub(start) < 3*time.Hour {
		_, now := t.Zone()
		_, before := start.Add(-time.Second).Zone()
		if back := time.Duration(before-now) * time.Second; back > 0 {
			if first := t.Add(-back); first.Before(start) && first.Day() == t.Day() {
				return first
			}
		}
	}
	return t
}

package quota

import (
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		name, zone, at string
		per            Period
		from, to       string
		hours          float64
	}{
		{"a day", "", "2026-11-30T13:30:00Z", Day, "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", 24},
		{"an hour", "", "2026-11-30T13:30:00Z", Hour, "2026-11-30T13:00:00Z", "2026-11-30T14:00:00Z", 1},
		{"an hour of a zone off by half an hour", "Asia/Kolkata", "2026-11-30T13:20:00Z", Hour, "2026-11-30T18:00:00+05:30", "2026-11-30T19:00:00+05:30", 1},
		{"a week from Monday", "", "2026-11-29T23:59:59Z", Week, "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z", 168},
		{"a Monday", "", "2026-11-30T00:00:00Z", Week, "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z", 168},
		{"a month", "Europe/Berlin", "2026-12-31T23:30:00Z", Month, "2027-01-01T00:00:00+01:00", "2027-02-01T00:00:00+01:00", 744},
		{"February of a leap year", "", "2028-02-29T12:00:00Z", Month, "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z", 696},
		{"the day without an hour", "Europe/Berlin", "2026-03-29T12:00:00+02:00", Day, "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", 23},
		{"the day of an hour twice", "Europe/Berlin", "2026-10-25T12:00:00+01:00", Day, "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00", 25},
		{"the week with that day", "Europe/Berlin", "2026-10-25T12:00:00+01:00", Week, "2026-10-19T00:00:00+02:00", "2026-10-26T00:00:00+01:00", 169},
		{"a day that has no midnight", "Africa/Cairo", "2024-04-26T12:00:00+03:00", Day, "2024-04-26T01:00:00+03:00", "2024-04-27T00:00:00+03:00", 23},
		{"a day with two midnights", "America/Havana", "2024-11-03T12:00:00-05:00", Day, "2024-11-03T00:00:00-04:00", "2024-11-04T00:00:00-05:00", 25},
		{"a day that ends twice", "Africa/Cairo", "2024-10-31T12:00:00+03:00", Day, "2024-10-31T00:00:00+03:00", "2024-11-01T00:00:00+02:00", 25},
		{"a day that was left out", "Pacific/Apia", "2011-12-31T12:00:00+14:00", Day, "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00", 24},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			from, to := c.per.Span(at, zone(t, c.zone))
			if from.Format(time.RFC3339) != c.from || to.Format(time.RFC3339) != c.to || to.Sub(from).Hours() != c.hours {
				t.Errorf("from %s to %s, %v hours", from.Format(time.RFC3339), to.Format(time.RFC3339), to.Sub(from).Hours())
			}
		})
	}
	if from, _ := Day.Span(noon, nil); from != noon.Add(-12*time.Hour) {
		t.Errorf("no zone is not UTC: %v", from)
	}
}

// TestSpansFollow: every moment is in its period, and the next one begins where it ends, in every zone.
func TestSpansFollow(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Africa/Cairo", "America/Havana", "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo", "America/St_Johns", "Atlantic/Azores"}
	rapid.Check(t, func(t *rapid.T) {
		z, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		per := rapid.SampledFrom([]Period{Hour, Day, Week, Month}).Draw(t, "per")
		at := time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "at"), 0)
		from, to := per.Span(at, z)
		if at.Before(from) || !at.Before(to) {
			t.Fatalf("%v is not in %v to %v", at, from, to)
		}
		for _, other := range []time.Time{from, to.Add(-time.Second), to.Add(-time.Hour)} {
			if other.Before(from) {
				continue
			}
			if f, _ := per.Span(other, z); !f.Equal(from) {
				t.Fatalf("%v is in a period from %v, and %v in one from %v to %v", other, f, at, from, to)
			}
		}
		if f, _ := per.Span(to, z); !f.Equal(to) {
			t.Fatalf("the period after %v begins at %v", to, f)
		}
	})
}

func TestParsePeriod(t *testing.T) {
	for _, p := range []Period{Day, Hour, Week, Month} {
		if got, ok := ParsePeriod(p.String()); !ok || got != p {
			t.Errorf("%v reads as %v", p, got)
		}
	}
	if _, ok := ParsePeriod("year"); ok {
		t.Error("a year is taken")
	}
}

package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

const stormProviders = 5

// storm is a day in which every provider fails now and then, in every way, sometimes several at once and now and then all of
// them, with calm hours between.
func storm(seed uint64, clients, hours int) *Scenario {
	s := &Scenario{Name: "storm", Duration: time.Duration(hours) * time.Hour, Step: time.Minute, Gateway: gateway(stormProviders, nil)}
	for i := range stormProviders {
		s.Traffic = append(s.Traffic, people(fmt.Sprint("m", i+1), clients/stormProviders, 30*time.Second))
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	minutes := func(least, most float64) time.Duration {
		return time.Duration((least + rng.Float64()*(most-least)) * float64(time.Minute))
	}
	for hour := range hours {
		if hour%4 == 3 {
			continue // calm
		}
		at := time.Duration(hour) * time.Hour
		for range 4 {
			w := Weather{Kind: Outage, With: []With{Status, Refuse, Hang}[rng.IntN(3)], Status: 503, Latency: 1}
			w.Providers = []string{fmt.Sprint("p", rng.IntN(stormProviders)+1)}
			w.From = at + minutes(0, 39)
			w.To = w.From + minutes(1, 20)
			if rng.IntN(5) == 0 {
				w.Kind, w.Every, w.Down = Flapping, minutes(0.5, 2), minutes(0.1, 0.5)
			}
			s.Weather = append(s.Weather, w)
		}
		if hour%10 == 1 { // all of them
			w := Weather{Kind: Outage, With: Status, Status: 503, From: at + 20*time.Minute}
			w.To = w.From + 6*time.Minute
			s.Weather = append(s.Weather, w)
		}
	}
	return s
}

// healthySince is since when no provider has had any weather; false: one has.
func (s *Scenario) healthySince(now time.Duration) (time.Duration, bool) {
	since := time.Duration(0)
	for i := range s.Weather {
		switch w := &s.Weather[i]; {
		case w.From <= now && now < w.To:
			return 0, false
		case w.To <= now:
			since = max(since, w.To)
		}
	}
	return since, true
}

// everybodyDown says whether at some time of a minute no provider answers.
func (s *Scenario) everybodyDown(from time.Duration) bool {
	for at := from; at < from+time.Minute; at += time.Second {
		down := map[string]bool{}
		for i := range s.Weather {
			f := front{Weather: &s.Weather[i]}
			if at < f.From || at >= f.To || !f.down(at) {
				continue
			}
			for _, p := range names(stormProviders) {
				if f.hits(&Provider{Name: p}) {
					down[p] = true
				}
			}
		}
		if len(down) == stormProviders {
			return true
		}
	}
	return false
}

// R73: a day of 1,000 clients at five providers that fail. Traffic upstream is not multiplied; who could be answered is; and
// what is healthy is not blocked for long.
func TestStorm(t *testing.T) {
	t.Parallel()
	clients, hours := 1000, 24
	if testing.Short() || raceDetector {
		clients, hours = 300, 8
	}
	s := storm(1, clients, hours)
	x := New(s, seeded(1))
	for at := time.Minute; at <= s.Duration; at += time.Minute {
		x.Run(at)
		since, calm := s.healthySince(at)
		if !calm || at-since < 10*time.Minute {
			continue
		}
		for _, p := range names(stormProviders) {
			if b := x.Blocked(p, 0, "model"); b.Blocked() {
				t.Errorf("%s: %s is blocked (%s until %s) after all have been healthy since %s", at, p, b.Reason, b.Until, since)
			}
		}
	}
	rep := x.Finish()
	o := rep.Overall
	t.Logf("%d requests, %d failed, %d cut, %.6f available of %.6f, %.4f attempts a request, %d of %d hedges won",
		o.Requests, o.Failed, o.Cut, o.Availability, o.BestAchievable, o.PerRequest, o.HedgesWon, o.Hedges)
	if o.Missed > 0 {
		t.Errorf("%d requests failed although a candidate was healthy all the time", o.Missed)
	}
	if lost := float64(o.Cut) / float64(o.Requests); o.BestAchievable-o.Availability > lost+1e-5 {
		t.Errorf("availability %f of %f: more is lost than the %d that were cut after content", o.Availability, o.BestAchievable, o.Cut)
	}
	if o.Failed == 0 || o.Cut == 0 || o.Rescued == 0 || o.HedgesWon == 0 {
		t.Errorf("%d failed, %d cut, %d rescued: no storm", o.Failed, o.Cut, o.Rescued)
	}
	checkMultiplied(t, s, rep)
}

// checkMultiplied: the attempts of every minute are at most 1.2 × its requests, and for each provider what was in flight on it
// when it was found to have failed: that ends within a time limit, here a minute. While no provider answers, requests that find all
// blocked share R53's 10 draws a second as well, and some wait into the minute after.
func checkMultiplied(t *testing.T, s *Scenario, rep *Report) {
	t.Helper()
	inFlight := make([]map[string]int, len(rep.Series)+2)
	for i := range inFlight {
		inFlight[i] = map[string]int{}
	}
	for i := range rep.Guards {
		if g := &rep.Guards[i]; g.Guard == "circuit_breaker" && g.To == "open" {
			minute := int(g.At.Duration() / time.Minute)
			for _, m := range inFlight[minute : minute+2] {
				m[g.Provider] = max(m[g.Provider], g.InFlight)
			}
		}
	}
	worst, down := 0.0, false
	for i := range rep.Series {
		p := &rep.Series[i]
		bound := 1.2 * float64(p.Requests)
		for _, n := range inFlight[i] {
			bound += float64(n)
		}
		before := down
		if down = s.everybodyDown(time.Duration(i) * time.Minute); down || before {
			bound += 600
		} else if p.Requests > 100 {
			worst = max(worst, float64(p.Attempts)/float64(p.Requests))
		}
		if float64(p.Attempts) > bound {
			t.Errorf("minute %d: %d attempts for %d requests, and in flight where a breaker opened: %v", i, p.Attempts, p.Requests, inFlight[i])
		}
	}
	t.Logf("at most %.3f attempts a request in a minute with a healthy provider", worst)
}

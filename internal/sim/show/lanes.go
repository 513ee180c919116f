package show

import (
	"fmt"
	"slices"
	"strings"

	"evergate/internal/sim"
)

const (
	laneHeight = 16
	laneGap    = 7
)

// lane is one row of the guards' chart.
type lane struct {
	name string
	head bool // a provider's first
	bars []bar
}

type bar struct {
	from, to    sim.Milliseconds
	class, says string
}

// lanes draws what befell each provider, and what its guards did about it.
func lanes(r *sim.Report, a *axis) string {
	var all []lane
	for i := range r.Provider {
		all = append(all, lanesOf(r, r.Provider[i].Name, a.end)...)
	}
	var b strings.Builder
	b.WriteString("<ul class=\"legend\">")
	for _, l := range [][2]string{{"f-storm", "weather"}, {"f-open", "breaker open"}, {"f-half", "half-open: waits for a request to probe it"}, {"f-rest", "key or model rests"}} {
		fmt.Fprintf(&b, "<li><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><rect class=\"%s\" width=\"26\" height=\"10\" rx=\"2\"/></svg>%s</li>", l[0], l[1])
	}
	b.WriteString("</ul>\n")
	height := plotTop + len(all)*(laneHeight+laneGap)
	open(&b, "guards", "Weather and guards over time", describe(r), height+tickRow)
	a.ticks(&b, float64(height))
	for i, l := range all {
		y := plotTop + i*(laneHeight+laneGap)
		class := ""
		if l.head {
			class = " class=\"name\""
		}
		fmt.Fprintf(&b, "<text%s x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><rect class=\"f-lane\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\"/>\n",
			class, plotLeft-8, y+12, escape(short(l.name)), plotLeft, y, plotRight-plotLeft, laneHeight)
		for _, s := range visible(l.bars, a) {
			fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>%s</title></rect>\n",
				s.class, a.x(s.from), y, max(a.x(s.to)-a.x(s.from), 1), laneHeight, escape(fmt.Sprintf("%s, %s to %s", s.says, clock(s.from), clock(s.to))))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// visible joins what is too short and too near to be told apart.
func visible(bars []bar, a *axis) []bar {
	var out []bar
	for _, s := range bars {
		if n := len(out); n > 0 && out[n-1].class == s.class && a.x(s.from)-a.x(out[n-1].to) < 1 && a.x(s.to)-a.x(s.from) < 1.5 {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// lanesOf are a provider's weather, its breaker, and each key and model of it that ever rested.
func lanesOf(r *sim.Report, provider string, end sim.Milliseconds) []lane {
	weather := lane{name: provider, head: true}
	for _, w := range r.Weather {
		if slices.Contains(w.Providers, provider) {
			weather.bars = append(weather.bars, bar{w.From, w.To, "f-storm", w.Kind})
		}
	}
	breaker := lane{name: "breaker"}
	var rests []lane
	for i := range r.Guards {
		t := &r.Guards[i]
		switch {
		case t.Provider != provider:
		case t.Guard == "circuit_breaker":
			breaker.close(t.At)
			switch t.To {
			case "open":
				breaker.bars = append(breaker.bars, bar{t.At, end, "f-open", "open: " + t.Trip})
			case "half_open":
				breaker.bars = append(breaker.bars, bar{t.At, end, "f-half", "half-open"})
			}
		default:
			l := lane{name: about(t)}
			at := slices.IndexFunc(rests, func(o lane) bool { return o.name == l.name })
			if at < 0 {
				at = len(rests)
				rests = append(rests, l)
			}
			rests[at].close(t.At)
			if t.To == "blocked" {
				rests[at].bars = append(rests[at].bars, bar{t.At, max(t.Until, t.At), "f-rest", t.Reason})
			}
		}
	}
	const most = 12 // of keys and models; the table has them all
	return append([]lane{weather, breaker}, rests[:min(len(rests), most)]...)
}

// close ends the last bar.
func (l *lane) close(at sim.Milliseconds) {
	if n := len(l.bars); n > 0 {
		l.bars[n-1].to = min(l.bars[n-1].to, at)
	}
}

func describe(r *sim.Report) string {
	var parts []string
	for i := range r.Provider {
		p := &r.Provider[i]
		parts = append(parts, fmt.Sprintf("%s: breaker opened %d times, keys rested %d times", p.Name, p.Opened, p.Rested))
	}
	return strings.Join(parts, "; ") + ". The table below lists every change."
}

// short fits a name beside the plot.
func short(s string) string {
	const most = 21
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

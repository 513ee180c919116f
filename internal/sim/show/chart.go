package show

import (
	"fmt"
	"math"
	"strings"
	"time"

	"evergate/internal/sim"
)

// The measures of a chart, in the units of its viewBox.
const (
	chartWidth  = 1000
	plotLeft    = 150
	plotRight   = 985
	plotTop     = 12
	plotHeight  = 170
	tickRow     = 24 // below the plot
	chartHeight = plotTop + plotHeight + tickRow
)

// axis is the time axis that all charts share.
type axis struct {
	end  sim.Milliseconds
	step sim.Milliseconds // of the series
	tick time.Duration
	bad  [][2]sim.Milliseconds // when there is weather, merged
}

func newAxis(r *sim.Report) *axis {
	a := &axis{end: max(r.Duration, 1), step: r.Step}
	for i := range r.Guards { // what happens after the traffic belongs to the picture
		a.end = max(a.end, r.Guards[i].At)
	}
	a.tick = time.Second
	for _, t := range []time.Duration{
		5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
	} {
		if a.end.Duration()/a.tick > 10 {
			a.tick = t
		}
	}
	for _, w := range r.Weather {
		a.bad = append(a.bad, [2]sim.Milliseconds{w.From, w.To})
	}
	return a
}

func (a *axis) x(t sim.Milliseconds) float64 {
	return plotLeft + float64(min(max(t, 0), a.end))/float64(a.end)*(plotRight-plotLeft)
}

// ticks draws the time axis below a plot that ends at y.
func (a *axis) ticks(b *strings.Builder, y float64) {
	for t := time.Duration(0); t <= a.end.Duration(); t += a.tick {
		x := a.x(sim.Milliseconds(t.Milliseconds()))
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
			x, plotTop, x, y, x, y+16, plain(t))
	}
}

// line is one curve of a chart.
type line struct {
	name, class string
	at          func(*sim.Point) (float64, bool)
}

// curves draws lines over a scale from low to high; unit says what a value is called.
func curves(r *sim.Report, a *axis, id, title, desc string, low, high float64, unit func(float64) string, lines []line) string {
	var b strings.Builder
	b.WriteString("<ul class=\"legend\">")
	for _, l := range lines {
		fmt.Fprintf(&b, "<li><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"line %s\" d=\"M0 5H26\"/></svg>%s</li>", l.class, l.name)
	}
	b.WriteString("</ul>\n")
	open(&b, id, title, desc, chartHeight)
	y := func(v float64) float64 {
		return plotTop + plotHeight*(1-(min(max(v, low), high)-low)/(high-low))
	}
	for _, w := range a.bad {
		fmt.Fprintf(&b, "<rect class=\"shade\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", a.x(w[0]), plotTop, a.x(w[1])-a.x(w[0]), plotHeight)
	}
	a.ticks(&b, plotTop+plotHeight)
	for i := range 5 {
		v := low + (high-low)*float64(i)/4
		fmt.Fprintf(&b, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			plotLeft, y(v), plotRight, y(v), plotLeft-8, y(v)+4, unit(v))
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "<path class=\"line %s\" d=\"", l.class)
		pen := "M"
		for i := range r.Series {
			p := &r.Series[i]
			v, ok := l.at(p)
			if !ok || p.At >= r.Duration {
				pen = "M"
				continue
			}
			fmt.Fprintf(&b, "%s%.1f %.1f", pen, a.x(p.At+a.step/2), y(v))
			pen = "L"
		}
		b.WriteString("\"/>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// open begins a drawing that says what it shows.
func open(b *strings.Builder, id, title, desc string, height int) {
	fmt.Fprintf(b, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-t %s-d\">\n<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>\n",
		chartWidth, height, id, id, id, escape(title), id, escape(desc))
}

func availability(r *sim.Report, a *axis) string {
	low := 1.0
	for i := range r.Series {
		low = min(low, r.Series[i].Availability())
	}
	switch { // so that what is lost can be seen
	case low >= 0.99:
		low = 0.99
	case low >= 0.9:
		low = 0.9
	case low >= 0.5:
		low = 0.5
	default:
		low = 0
	}
	desc := fmt.Sprintf("Share of requests answered whole over time: %s overall, of %s that was achievable.", percent(r.Overall.Availability), percent(r.Overall.BestAchievable))
	return curves(r, a, "availability", "Availability over time", desc, low, 1, func(v float64) string { return fmt.Sprintf("%.4g %%", v*100) }, []line{
		{"best achievable: a healthy candidate existed", "s-best", func(p *sim.Point) (float64, bool) {
			n := p.Answered + p.Cut + p.Failed
			return float64(p.Answered+p.Cut+p.Missed) / float64(max(n, 1)), n > 0
		}},
		{"answered whole", "s-good", func(p *sim.Point) (float64, bool) { return p.Availability(), p.Answered+p.Cut+p.Failed > 0 }},
	})
}

func latency(r *sim.Report, a *axis) string {
	most := 0.0
	for i := range r.Series {
		most = max(most, float64(r.Series[i].P95))
	}
	desc := fmt.Sprintf("Median and 95th percentile of the time to a whole answer; overall %s and %s.", span(r.Overall.Latency.P50), span(r.Overall.Latency.P95))
	return curves(r, a, "latency", "Latency over time", desc, 0, round(most), func(v float64) string { return span(sim.Milliseconds(v)) }, []line{
		{"median", "s-one", func(p *sim.Point) (float64, bool) { return float64(p.P50), p.Answered > 0 }},
		{"95th percentile", "s-two", func(p *sim.Point) (float64, bool) { return float64(p.P95), p.Answered > 0 }},
	})
}

func attempts(r *sim.Report, a *axis) string {
	most := 0.0
	for i := range r.Series {
		most = max(most, a.perMinute(max(r.Series[i].Attempts, r.Series[i].Requests)))
	}
	desc := fmt.Sprintf("Requests and attempts a minute; overall %.3f attempts a request.", r.Overall.PerRequest)
	return curves(r, a, "attempts", "Requests and upstream attempts a minute", desc, 0, round(most),
		func(v float64) string { return fmt.Sprintf("%.4g/min", v) }, []line{
			{"requests", "s-best", func(p *sim.Point) (float64, bool) { return a.perMinute(p.Requests), true }},
			{"attempts", "s-one", func(p *sim.Point) (float64, bool) { return a.perMinute(p.Attempts), true }},
			{"of them retries", "s-bad", func(p *sim.Point) (float64, bool) { return a.perMinute(p.Retries), true }},
		})
}

func (a *axis) perMinute(n int) float64 { return float64(n) / a.step.Duration().Minutes() }

// round is the next number of 1, 2, 4, 5 or 8 and zeros, for the top of a scale.
func round(v float64) float64 {
	if v <= 0 {
		return 1
	}
	ten := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 4, 5, 8} {
		if n*ten >= v {
			return n * ten
		}
	}
	return 10 * ten
}

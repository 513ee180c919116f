package show

import (
	"fmt"
	"io"
	"strings"

	"evergate/internal/sim"
)

// HTML writes the report as one page, which asks for nothing over the network.
func HTML(w io.Writer, r *sim.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>%s – Evergate simulation</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n",
		escape(r.Name), style)
	fmt.Fprintf(&b, "<h1>%s</h1>\n<p class=\"sub\">%s of traffic in virtual time, seed %d. Simulated: nobody was called.</p>\n",
		escape(r.Name), clock(r.Duration), r.Seed)
	figures(&b, r)
	axis := newAxis(r)
	section(&b, "Availability", availability(r, axis))
	section(&b, "Latency of answers", latency(r, axis))
	section(&b, "Requests and upstream attempts", attempts(r, axis))
	section(&b, "Weather and guards", lanes(r, axis))
	tables(&b, r)
	b.WriteString("</main>\n</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func section(b *strings.Builder, title, body string) {
	fmt.Fprintf(b, "<section>\n<h2>%s</h2>\n%s</section>\n", title, body)
}

// figures are the numbers that matter most.
func figures(b *strings.Builder, r *sim.Report) {
	o := &r.Overall
	b.WriteString("<dl class=\"figures\">\n")
	for _, f := range [][2]string{
		{"availability", percent(o.Availability)},
		{"best achievable", percent(o.BestAchievable)},
		{"requests", number(o.Requests)},
		{"rescued by failover", number(o.Rescued)},
		{"failed", number(o.Failed)},
		{"cut after content", number(o.Cut)},
		{"attempts a request", fmt.Sprintf("%.3f", o.PerRequest)},
		{"latency p50 / p99", span(o.Latency.P50) + " / " + span(o.Latency.P99)},
	} {
		fmt.Fprintf(b, "<div><dt>%s</dt><dd>%s</dd></div>\n", f[0], f[1])
	}
	b.WriteString("</dl>\n")
}

// tables are the numbers behind the charts.
func tables(b *strings.Builder, r *sim.Report) {
	b.WriteString("<section>\n<h2>Numbers</h2>\n")
	g := grid{{"model", "requests", "answered", "failed", "cut", "left", "availability", "best achievable", "p50", "p95", "p99", "first content p50", "p99", "attempts", "retries", "hedges"}}
	for _, s := range rows(r) {
		g = append(g, []string{
			s.Model, number(s.Requests), number(s.Answered), number(s.Failed), number(s.Cut), number(s.Left), percent(s.Availability),
			percent(s.BestAchievable), span(s.Latency.P50), span(s.Latency.P95), span(s.Latency.P99), span(s.FirstContent.P50),
			span(s.FirstContent.P99), number(s.Attempts), number(s.Retries), number(s.Hedges),
		})
	}
	g.html(b, "Models")
	g = grid{{"provider", "attempts", "answers", "most in flight", "breaker opened", "keys rested", "models locked", "failures"}}
	for i := range r.Provider {
		p := &r.Provider[i]
		g = append(g, []string{
			p.Name, number(p.Attempts), number(p.Answers), number(p.MostOpen), number(p.Opened), number(p.Rested), number(p.Locked), counts(p.Failures),
		})
	}
	g.html(b, "Providers")
	fmt.Fprintf(b, "<details>\n<summary>Over time, in steps of %s</summary>\n", clock(r.Step))
	g = grid{{"at", "requests", "answered", "failed", "cut", "availability", "p50", "p95", "attempts", "retries"}}
	for i := range r.Series {
		p := &r.Series[i]
		g = append(g, []string{
			clock(p.At), number(p.Requests), number(p.Answered), number(p.Failed), number(p.Cut), percent(p.Availability()), span(p.P50),
			span(p.P95), number(p.Attempts), number(p.Retries),
		})
	}
	g.html(b, "Over time")
	const most = 1000
	fmt.Fprintf(b, "</details>\n<details>\n<summary>Guards: %s changes</summary>\n", number(len(r.Guards)+r.GuardsLeftOut))
	g = grid{{"at", "provider", "guard", "key, model", "from", "to", "why", "for", "in flight"}}
	for i := range min(len(r.Guards), most) {
		t := &r.Guards[i]
		g = append(g, []string{clock(t.At), t.Provider, t.Guard, about(t), t.From, t.To, why(t), lasts(t), number(t.InFlight)})
	}
	g.html(b, "Guards")
	if more := len(r.Guards) + r.GuardsLeftOut - most; more > 0 {
		fmt.Fprintf(b, "<p>… and %s more.</p>\n", number(more))
	}
	b.WriteString("</details>\n</section>\n")
}

// html writes the grid as a table.
func (g grid) html(b *strings.Builder, caption string) {
	fmt.Fprintf(b, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<table>\n<caption>%s</caption>\n<thead><tr>", caption, caption)
	for _, cell := range g[0] {
		fmt.Fprintf(b, "<th scope=\"col\"%s>%s</th>", words(cell), escape(cell))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range g[1:] {
		b.WriteString("<tr>")
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(b, "<th scope=\"row\">%s</th>", escape(cell))
			} else {
				fmt.Fprintf(b, "<td%s>%s</td>", words(g[0][i]), escape(cell))
			}
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>\n</div>\n")
}

// words marks the columns that are no numbers.
func words(column string) string {
	switch column {
	case "failures", "provider", "guard", "key, model", "from", "to", "why":
		return ` class="words"`
	}
	return ""
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s)
}

const style = `
:root{color-scheme:light dark;--paper:#fbfbf9;--card:#fff;--ink:#1d2327;--dim:#5b6670;--rule:#dfe3e6;--good:#0a7d4f;--best:#8a94a0;
--bad:#c22f2f;--half:#b26a00;--one:#1f5fbf;--two:#a8417f;--storm:#7a6bb0}
@media (prefers-color-scheme:dark){:root{--paper:#14181b;--card:#1b2024;--ink:#e7ebee;--dim:#9aa6b0;--rule:#323a41;--good:#3ecf8e;--best:#7d8892;
--bad:#ff7b72;--half:#f0b04a;--one:#79b0ff;--two:#f08fc6;--storm:#a99ae0}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1040px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px}h2{font-size:17px;margin:0 0 10px}
.sub{color:var(--dim);margin:0 0 20px}
section{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:16px 18px;margin:0 0 16px}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:10px;margin:0 0 16px}
.figures div{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:10px 14px}
dt{color:var(--dim);font-size:13px}dd{margin:0;font-size:20px;font-weight:600;font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font:12px system-ui,sans-serif;fill:var(--dim)}svg text.name{fill:var(--ink)}
.grid{stroke:var(--rule);stroke-width:1}.line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.s-good{stroke:var(--good)}.s-best{stroke:var(--best);stroke-dasharray:5 4}.s-one{stroke:var(--one)}.s-two{stroke:var(--two)}.s-bad{stroke:var(--bad)}
.f-open{fill:var(--bad)}.f-half{fill:var(--half)}.f-rest{fill:var(--two)}.f-storm{fill:var(--storm)}.f-lane{fill:var(--rule);opacity:.45}
.shade{fill:var(--storm);opacity:.09}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 8px;padding:0;list-style:none;font-size:13px;color:var(--dim)}
.legend svg{display:inline-block;width:26px;height:10px;vertical-align:middle;margin-right:6px}
.scroll{overflow-x:auto;margin:0 0 12px}.scroll:focus-visible{outline:2px solid var(--one);outline-offset:2px}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;width:100%}
caption{text-align:left;font-weight:600;padding:4px 0}
th,td{text-align:right;padding:3px 10px 3px 0;border-bottom:1px solid var(--rule);white-space:nowrap}
th[scope=row],th[scope=col]:first-child{text-align:left}td.words,th.words{text-align:left}thead th{color:var(--dim);font-weight:500}
summary{cursor:pointer;padding:4px 0}
`

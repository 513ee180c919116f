package admin

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"evergate/internal/fault"
)

// RenderStatus writes the health reply as the table that `evergate status` prints: a line a provider, and below it what
// is blocked, each with the time left as of now. With color, states are marked with ANSI colors. Words that came from
// upstreams are printed without control characters.
func RenderStatus(w io.Writer, h Health, now time.Time, color bool) error {
	s := &status{now: now, color: color}
	s.heading(&h)
	names := slices.Sorted(maps.Keys(h.Providers))
	if len(names) > 0 {
		s.providers(&h, names)
		s.blocked(&h, names)
		s.operated(&h, names)
		s.troubled(&h, names)
	}
	s.drilled(&h)
	s.instances(&h)
	_, err := io.WriteString(w, s.out.String())
	return err
}

type status struct {
	out   strings.Builder
	now   time.Time
	color bool
}

// cell is one field of a table; paint is its color.
type cell struct {
	text  string
	paint paint
}

type paint string

const (
	noPaint paint = ""
	good    paint = "\x1b[32m"
	fair    paint = "\x1b[33m"
	bad     paint = "\x1b[31m"
	dim     paint = "\x1b[2m"
)

func (s *status) heading(h *Health) {
	healthy, enabled, inFlight := 0, 0, 0
	for _, p := range h.Providers {
		inFlight += p.InFlight
		if p.Disabled {
			continue
		}
		enabled++
		if p.Status == "healthy" && p.Breaker.State == "closed" {
			healthy++
		}
	}
	fmt.Fprintf(&s.out, "evergate %s: %d of %s in order, %s in flight\n",
		printable(h.Instance), healthy, count(enabled, "provider"), count(inFlight, "request"))
}

func (s *status) providers(h *Health, names []string) {
	rows := [][]cell{heads("PROVIDER", "STATUS", "BREAKER", "FAILURES", "CREDENTIALS", "LOCKOUTS", "IN FLIGHT", "FIRST CONTENT", "TOTAL", "CHECKED")}
	for _, name := range names {
		p := h.Providers[name]
		rows = append(rows, []cell{
			{text: name},
			statusCell(&p), s.countdownCell(&p.Breaker), failuresCell(&p.Breaker), credentialsCell(&p), lockoutsCell(&p),
			{text: strconv.Itoa(p.InFlight)},
			{text: latency(p.Latency.FirstContent)},
			{text: latency(p.Latency.Total)},
			{text: s.ago(p.LastChecked), paint: dim},
		})
	}
	s.out.WriteByte('\n')
	s.table("", rows)
}

// blocked lists what guards hold back below the level of a provider: breakers of models, credentials, models.
func (s *status) blocked(h *Health, names []string) {
	var rows [][]cell
	for _, name := range names {
		p := h.Providers[name]
		for _, model := range slices.Sorted(maps.Keys(p.Breakers)) {
			if b := p.Breakers[model]; b.State != "closed" {
				rows = append(rows, []cell{{text: name}, {text: "model " + model}, breakerCell(&b), {text: left(b.RetryAt, s.now)}, {text: none}})
			}
		}
		for _, key := range slices.Sorted(maps.Keys(p.Credentials)) {
			if c := p.Credentials[key]; cooling(c) {
				rows = append(rows, []cell{
					{text: name},
					{text: "credential " + key},
					{text: c.Reason, paint: fair},
					{text: left(c.CooldownUntil, s.now)},
					{text: strconv.Itoa(c.Level)},
				})
			}
			if t := p.Credentials[key].Token; t != nil && t.State != "closed" {
				rows = append(rows, []cell{
					{text: name},
					{text: "token refresh of " + key},
					{text: fault.NoToken.String(), paint: fair},
					{text: left(t.RetryAt, s.now)},
					{text: strconv.Itoa(t.Failures)},
				})
			}
		}
		for _, l := range p.Lockouts {
			what := "model " + l.Model
			if l.Credential != "" {
				what += " on " + l.Credential
			}
			rows = append(rows, []cell{
				{text: name}, {text: what}, {text: l.Reason, paint: fair}, {text: left(l.Until, s.now)}, {text: strconv.Itoa(l.Level)},
			})
		}
	}
	if len(rows) > 0 {
		s.out.WriteString("\nBlocked\n")
		s.table("  ", slices.Concat([][]cell{heads("PROVIDER", "WHAT", "REASON", "CLEARS IN", "LEVEL")}, rows))
	}
}

// operated lists what operators hold open or closed, and why.
func (s *status) operated(h *Health, names []string) {
	var rows [][]cell
	add := func(provider, what string, b Breaker) {
		if o := b.Operator; o != nil {
			until := left(o.Until, s.now)
			if until == none {
				until = "until further notice"
			}
			rows = append(rows, []cell{{text: provider}, {text: what}, {text: o.Action, paint: fair}, {text: until}, {text: o.Reason}})
		}
	}
	for _, name := range names {
		p := h.Providers[name]
		add(name, "all of it", p.Breaker)
		for _, model := range slices.Sorted(maps.Keys(p.Breakers)) {
			add(name, "model "+model, p.Breakers[model])
		}
	}
	if len(rows) > 0 {
		s.out.WriteString("\nHeld by operators\n")
		s.table("  ", slices.Concat([][]cell{heads("PROVIDER", "WHAT", "ACTION", "ENDS IN", "REASON")}, rows))
	}
}

// drilled lists the drills that run: what looks like an outage may be one (R74).
func (s *status) drilled(h *Health) {
	rows := [][]cell{heads("DRILL", "FAULT", "ENDS IN", "MET BY", "REASON")}
	for i := range h.Drills {
		f := &h.Drills[i]
		rows = append(rows, []cell{
			{text: f.ID}, {text: f.what(), paint: fair}, {text: left(f.Until, s.now)}, {text: count(int(f.Counts.Injected), "attempt")}, {text: f.Reason},
		})
	}
	if len(rows) > 1 {
		s.out.WriteString("\nDrills\n")
		s.table("  ", rows)
	}
}

// troubled tells why providers are not healthy.
func (s *status) troubled(h *Health, names []string) {
	var rows [][]cell
	for _, name := range names {
		p := h.Providers[name]
		if p.Message == "" || p.Disabled {
			continue
		}
		text := p.Message
		if p.Stale {
			text += " (the model list is the last one known)"
		}
		rows = append(rows, []cell{{text: name}, {text: text}})
	}
	if len(rows) > 0 {
		s.out.WriteString("\nDiscovery\n")
		s.table("  ", rows)
	}
}

// instances are listed where the state is shared: there is more than one, or there may be.
func (s *status) instances(h *Health) {
	s.store(&h.State)
	if len(h.Instances) < 2 {
		return
	}
	rows := [][]cell{heads("INSTANCE", "VERSION", "UP", "LAST SEEN", "LAG", "SEES BLOCKED")}
	for _, i := range h.Instances {
		id, seen := i.ID, cell{text: s.ago(i.LastSeen)}
		switch {
		case i.Self:
			id += " (this one)"
		case i.Left:
			seen = cell{seen.text + " (left)", dim}
		case i.Silent:
			seen = cell{seen.text + " (silent)", bad}
		}
		rows = append(rows, []cell{{text: id}, {text: i.Version}, {text: s.age(i.Started)}, seen, {text: fmt.Sprintf("%d ms", i.LagMS)}, believesCell(i.Believes)})
	}
	s.out.WriteByte('\n')
	s.table("", rows)
}

// store says where the state is kept, where that is not the process alone.
func (s *status) store(st *State) {
	if st.Store == "" || st.Store == "memory" {
		return
	}
	head := heads("STATE", "ADDRESS", "STORE", "LAST SYNC")
	row := []cell{{text: st.Store}, {text: st.Address}, {"reached", good}, {text: s.ago(st.LastSync)}}
	if !st.Reached {
		head, row = append(head, heads("PROBLEM")...), append(row, cell{text: st.Message})
		row[2] = cell{"not reached", bad}
	}
	s.out.WriteByte('\n')
	s.table("", [][]cell{head, row})
}

// believesCell names the providers of which an instance saw something blocked.
func believesCell(b map[string][]Belief) cell {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		breaker := slices.ContainsFunc(b[name], func(b Belief) bool { return b.Guard == "circuit_breaker" && b.Model == "" })
		if breaker {
			parts = append(parts, name)
			continue
		}
		parts = append(parts, fmt.Sprintf("%s (%d)", name, len(b[name])))
	}
	if len(parts) == 0 {
		return cell{text: none}
	}
	return cell{strings.Join(parts, ", "), fair}
}

func statusCell(p *Provider) cell {
	if p.Disabled {
		return cell{"disabled", dim}
	}
	switch p.Status {
	case "healthy":
		return cell{p.Status, good}
	case "degraded":
		return cell{p.Status, fair}
	}
	return cell{p.Status, bad}
}

// breakerCell is a breaker's state, with the trip that opened it.
func breakerCell(b *Breaker) cell {
	switch b.State {
	case "closed":
		switch {
		case b.Trip != "":
			return cell{"closed (" + b.Trip + ")", fair}
		case !time.Time(b.RampUntil).IsZero():
			return cell{"closed (ramping)", fair}
		}
		return cell{"closed", good}
	case "half_open":
		return cell{"half-open", fair}
	}
	if b.Trip != "" {
		return cell{b.State + " (" + b.Trip + ")", bad}
	}
	return cell{b.State, bad}
}

// countdownCell is breakerCell with the time until the next probe.
func (s *status) countdownCell(b *Breaker) cell {
	c := breakerCell(b)
	if until := left(b.RetryAt, s.now); b.State == "open" && until != none && b.Operator == nil {
		c.text += ", probe in " + until
	}
	return c
}

func failuresCell(b *Breaker) cell {
	text := fmt.Sprintf("%d in a row, %d in all", b.ConsecutiveFailures, b.FailuresTotal)
	if b.FailuresTotal == 0 {
		text = none
	}
	return cell{text: text}
}

func credentialsCell(p *Provider) cell {
	blocked := 0
	for _, c := range p.Credentials {
		if cooling(c) {
			blocked++
		}
	}
	switch {
	case len(p.Credentials) == 0:
		return cell{text: none}
	case blocked == 0:
		return cell{text: fmt.Sprintf("%d ok", len(p.Credentials)), paint: good}
	case blocked == len(p.Credentials):
		return cell{text: fmt.Sprintf("%d cooling", blocked), paint: bad}
	}
	return cell{text: fmt.Sprintf("%d of %d cooling", blocked, len(p.Credentials)), paint: fair}
}

func lockoutsCell(p *Provider) cell {
	if len(p.Lockouts) == 0 {
		return cell{text: none}
	}
	return cell{text: strconv.Itoa(len(p.Lockouts)), paint: fair}
}

func cooling(c Credential) bool { return c.State != "ok" }

// none stands where there is nothing to say.
const none = "-"

// left is the time until a block clears, in whole seconds, rounded up so that it never says 0s before it is over.
func left(until Time, now time.Time) string {
	at := time.Time(until)
	if at.IsZero() {
		return none
	}
	d := at.Sub(now)
	if d <= 0 {
		return "now"
	}
	return short((d + time.Second - 1).Truncate(time.Second))
}

// age is how long something has been there.
func (s *status) age(since Time) string {
	if time.Time(since).IsZero() {
		return none
	}
	return short(max(s.now.Sub(time.Time(since)), 0).Truncate(time.Second))
}

func (s *status) ago(at Time) string {
	if time.Time(at).IsZero() {
		return "never"
	}
	return short(max(s.now.Sub(time.Time(at)), 0).Truncate(time.Second)) + " ago"
}

// short is a duration of whole seconds in its parts that are not zero, from an hour on without the seconds.
func short(d time.Duration) string {
	hours, minutes, seconds := d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second
	var text string
	if hours > 0 {
		text = fmt.Sprintf("%dh", hours)
	}
	if minutes > 0 {
		text += fmt.Sprintf("%dm", minutes)
	}
	if text == "" || (hours == 0 && seconds > 0) {
		text += fmt.Sprintf("%ds", seconds)
	}
	return text
}

// latency is an average in milliseconds.
func latency(ms int64) string {
	switch {
	case ms <= 0:
		return none
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func heads(names ...string) []cell {
	row := make([]cell, len(names))
	for i, n := range names {
		row[i] = cell{n, dim}
	}
	return row
}

// table writes rows in columns two spaces apart; colors take no room.
func (s *status) table(indent string, rows [][]cell) {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i].text = printable(row[i].text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	for _, row := range rows {
		s.out.WriteString(indent)
		for i, c := range row {
			if s.color && c.paint != noPaint && c.text != "" {
				s.out.WriteString(string(c.paint) + c.text + "\x1b[0m")
			} else {
				s.out.WriteString(c.text)
			}
			if i < len(row)-1 {
				s.out.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		s.out.WriteByte('\n')
	}
}

// printable replaces what a terminal would obey, or not show, by a question mark.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

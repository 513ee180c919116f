package admin

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"evergate/internal/explain"
)

// RenderExplain writes an answer as `evergate explain` prints it: the summary, a line a candidate, and below it why each one
// stands there. Times left are as of when the answer was made.
func RenderExplain(w io.Writer, a *explain.Answer, color bool) error {
	s := &status{now: a.At, color: color}
	s.sentence(a.Summary)
	if len(a.Candidates) > 0 {
		s.candidates(a)
		s.reasons(a)
		s.keys(a)
	}
	s.policy(a)
	for _, note := range a.Notes {
		s.out.WriteByte('\n')
		s.sentence(note)
	}
	_, err := io.WriteString(w, s.out.String())
	return err
}

// sentence writes prose, in lines that fit a terminal.
func (s *status) sentence(text string) {
	const width = 100
	line := 0
	for _, word := range strings.Fields(printable(text)) {
		switch {
		case line == 0:
		case line+1+len(word) > width:
			s.out.WriteByte('\n')
			line = 0
		default:
			s.out.WriteByte(' ')
			line++
		}
		s.out.WriteString(word)
		line += len(word)
	}
	s.out.WriteByte('\n')
}

func (s *status) candidates(a *explain.Answer) {
	rows := [][]cell{heads("ORDER", "CANDIDATE", "STATE", "CLEARS IN", "KEY", "ASKED IN", "FIRST CONTENT", "LIMIT")}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		rows = append(rows, []cell{
			{text: position(c)},
			{text: c.Provider + "/" + c.Model},
			stateCell(c), s.clearsCell(c),
			{text: orNone(c.Credential)},
			{text: orNone(c.Dialect)},
			{text: latency(c.FirstContentMS)},
			{text: limitOf(c)},
		})
	}
	s.out.WriteByte('\n')
	s.table("", rows)
}

func position(c *explain.Candidate) string {
	switch {
	case c.Position > 0:
		return strconv.Itoa(c.Position)
	case c.On != "":
		return "on refusal"
	}
	return none
}

func stateCell(c *explain.Candidate) cell {
	switch {
	case c.Blocked == nil && c.Position > 0:
		return cell{"free", good}
	case c.Blocked == nil:
		return cell{none, noPaint}
	case c.Blocked.Reason == "disabled":
		return cell{"disabled", dim}
	}
	switch {
	case c.Forced:
		return cell{c.Blocked.Reason + ", tried all the same", fair}
	case c.Position > 0:
		return cell{c.Blocked.Reason + ", waited for", fair}
	}
	switch c.Blocked.Guard {
	case "policy", "preference", "byok": // nothing is wrong with it
		return cell{c.Blocked.Guard + ": " + c.Blocked.Reason, fair}
	}
	return cell{c.Blocked.Reason, bad}
}

func (s *status) clearsCell(c *explain.Candidate) cell {
	if c.Blocked == nil {
		return cell{text: none}
	}
	return cell{text: left(Time(c.Blocked.Until), s.now)}
}

// limitOf is how long an attempt may take, to its end or to a stream's first content.
func limitOf(c *explain.Candidate) string {
	if c.Timeouts == nil {
		return none
	}
	ms := c.Timeouts.AttemptMS + c.Timeouts.FirstChunkMS // only one of them is said
	if ms == 0 {
		return none
	}
	return short(time.Duration(ms) * time.Millisecond)
}

func (s *status) reasons(a *explain.Answer) {
	var rows [][]cell
	for i := range a.Candidates {
		c := &a.Candidates[i]
		rows = append(rows, []cell{{text: c.Provider + "/" + c.Model}, {text: c.Why}})
	}
	s.out.WriteString("\nWhy\n")
	s.table("  ", rows)
}

// keys lists the keys that something holds back.
func (s *status) keys(a *explain.Answer) {
	var rows [][]cell
	told := map[string]bool{}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		for _, k := range c.Credentials {
			if k.Blocked == nil || told[c.Provider+"/"+c.Model+" "+k.Name] {
				continue
			}
			told[c.Provider+"/"+c.Model+" "+k.Name] = true
			rows = append(rows, []cell{
				{text: c.Provider + "/" + c.Model}, {text: k.Name}, {text: k.Blocked.Reason, paint: fair}, {text: left(Time(k.Blocked.Until), s.now)},
			})
		}
	}
	if len(rows) > 0 {
		s.out.WriteString("\nKeys at rest\n")
		s.table("  ", append([][]cell{heads("CANDIDATE", "KEY", "REASON", "CLEARS IN")}, rows...))
	}
}

// policy is what holds for the request as a whole.
func (s *status) policy(a *explain.Answer) {
	if a.Policy == nil {
		return
	}
	total := "none"
	if a.Policy.TotalMS > 0 {
		total = short(time.Duration(a.Policy.TotalMS) * time.Millisecond)
	}
	kind := "plain"
	if a.Stream {
		kind = "stream"
	}
	resume := "off"
	if a.Policy.Resume {
		resume = "continue"
	}
	fmt.Fprintf(&s.out, "\n%s, %s; name: %s; hedge: %s; resume: %s; time limit of the request: %s\n",
		printable(a.Dialect), kind, named(&a.Name), printable(a.Policy.Hedge), resume, total)
}

func named(n *explain.Name) string {
	text := printable(strings.ReplaceAll(n.As, "_", " "))
	if n.Strategy != "" {
		text += " (" + printable(n.Strategy) + ")"
	}
	return text
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// RenderPast writes what became of a request as `evergate explain --id` prints it.
func RenderPast(w io.Writer, p *explain.Past, color bool) error {
	s := &status{now: p.At, color: color}
	s.sentence(p.Summary)
	if len(p.Candidates) > 0 {
		rows := [][]cell{heads("ORDER", "CANDIDATE", "OUTCOME", "WHY")}
		for i := range p.Candidates {
			c := &p.Candidates[i]
			paint := map[string]paint{"answered": good, "failed": bad, "passed_over": fair, "not_reached": dim}[c.Outcome]
			place := strconv.Itoa(i + 1)
			if c.On != "" {
				place = "on refusal"
			}
			rows = append(rows, []cell{{text: place}, {text: c.Provider + "/" + c.Model}, {plain(c.Outcome), paint}, {text: c.Why}})
		}
		s.out.WriteByte('\n')
		s.table("", rows)
	}
	if len(p.Trail) > 0 {
		rows := [][]cell{heads("AT", "CANDIDATE", "KEY", "WHY", "RESULT", "TOOK")}
		for i := range p.Trail {
			t := &p.Trail[i]
			result := cell{t.Reason, bad}
			switch {
			case t.Skipped:
				result.paint = fair
			case t.Reason == "ok":
				result.paint = good
			}
			if t.Status != 0 {
				result.text = strconv.Itoa(t.Status) + " " + result.text
			}
			if t.Drill != "" {
				result.text += " (drill)"
			}
			why, took := plain(t.Why), strconv.FormatInt(t.DurationMS, 10)+" ms"
			if t.Skipped {
				why, took = "passed over", none
			}
			rows = append(rows, []cell{
				{text: "+" + strconv.FormatInt(t.AtMS, 10) + " ms"},
				{text: t.Provider + "/" + t.Model},
				{text: orNone(t.Credential)},
				{text: why},
				result,
				{text: took},
			})
		}
		s.out.WriteString("\nTrail\n")
		s.table("  ", rows)
	}
	fmt.Fprintf(&s.out, "\n%s at %s; order: %s\n", printable(p.ID), p.At.Format(timeLayout), orNone(plain(printable(p.Order))))
	_, err := io.WriteString(w, s.out.String())
	return err
}

func plain(word string) string { return strings.ReplaceAll(word, "_", " ") }

package guardrail

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
)

// Set is the guards of a configuration, by name. It is frozen; a nil Set has none.
type Set struct {
	ByName map[string]*Named
	// Defaults hold for every request, Models for those that ask for a model of a name.
	Defaults []string
	Models   map[string][]string
	// Failed hears of a guard that could not tell; nil: nobody does. It is called on the request's way.
	Failed func(about *About, guard string, phase Phase, open bool, err error)
}

// Has says whether anything may hold for a request; own are the names of its caller's guards.
func (s *Set) Has(own []string) bool {
	return len(own) > 0 || s != nil && (len(s.Defaults) > 0 || len(s.Models) > 0)
}

// Names are those of the guards that hold for a request that asks for models, each once; own are those of the caller.
func (s *Set) Names(models, own []string) []string {
	if s == nil {
		return own
	}
	var out []string
	add := func(names []string) {
		for _, n := range names {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	add(s.Defaults)
	for _, m := range models {
		add(s.Models[m])
	}
	add(own)
	return out
}

// Watch begins the watch over one request; nil: no guard holds for it. unknown is a guard that is to hold and that there is not: nothing may pass
// without it.
func (s *Set) Watch(about About, names []string) (w *Watch, unknown string) {
	if len(names) == 0 {
		return nil, ""
	}
	w = &Watch{set: s, about: about}
	for _, n := range names {
		var g *Named
		if s != nil {
			g = s.ByName[n]
		}
		if g == nil {
			return nil, n
		}
		w.guards = append(w.guards, g)
	}
	return w, ""
}

// Fact is what a guard did with a request: allowed, redacted, blocked, failed_open or failed_closed.
type Fact struct{ Guard, Phase, Action string }

// The actions of a Fact.
const (
	allowed      = "allowed"
	redacted     = "redacted"
	blocked      = "blocked"
	failedOpen   = "failed_open"
	failedClosed = "failed_closed"
)

// Blocked is the error of what a guard does not let pass.
type Blocked struct {
	Guard string
	Phase Phase
	// Reason is for the client.
	Reason string
	// Failed: the guard could not tell, and nothing passes then.
	Failed bool
}

func (b *Blocked) Error() string {
	what := "request"
	if b.Phase == Response {
		what = "answer"
	}
	if b.Failed {
		return "the guardrail " + b.Guard + " could not judge the " + what + ", and nothing passes without it; send the request again later"
	}
	message := "the guardrail " + b.Guard + " blocked the " + what
	if b.Reason != "" {
		message += ": " + b.Reason
	}
	return message
}

// Watch is the guards of one request and what they did. Safe for concurrent use: attempts may run beside each other.
type Watch struct {
	set    *Set
	about  About
	guards []*Named

	mu    sync.Mutex
	facts []Fact
	block *Blocked
}

// Marks are the names of its guards, each with what tells it from what it was before; none for a nil Watch.
func (w *Watch) Marks() []string {
	if w == nil {
		return nil
	}
	var out []string
	for _, g := range w.guards {
		out = append(out, g.Name, g.Mark)
	}
	return out
}

// OnResponse says whether any of the guards judges answers.
func (w *Watch) OnResponse() bool {
	return w != nil && slices.ContainsFunc(w.guards, func(g *Named) bool { return g.OnResponse })
}

// Facts are what the guards did, each once.
func (w *Watch) Facts() []Fact {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.facts)
}

// Blocked is why the request or its answer does not pass; nil: it does.
func (w *Watch) Blocked() *Blocked {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.block
}

// Request judges a request's body. It gives the body that may go out, which is the given one if nothing changed. The error is a *Blocked.
func (w *Watch) Request(ctx context.Context, body []byte) ([]byte, error) {
	if !slices.ContainsFunc(w.guards, func(g *Named) bool { return g.OnRequest }) {
		return body, nil
	}
	d := read(body)
	if err := w.judge(ctx, Request, d.texts); err != nil {
		return nil, err
	}
	if !d.changed() {
		return body, nil
	}
	return d.append(make([]byte, 0, len(body)+64)), nil
}

// Words judges single texts of a request, as those of a form, and replaces what is to be replaced. The error is a *Blocked.
func (w *Watch) Words(ctx context.Context, texts []Text) error { return w.judge(ctx, Request, texts) }

// Answer judges an answer whose form is JSON that nobody reads here. It gives what may go out. The error is a *Blocked.
func (w *Watch) Answer(ctx context.Context, body []byte) ([]byte, error) {
	d := read(body)
	if err := w.judge(ctx, Response, d.texts); err != nil {
		return nil, err
	}
	if !d.changed() {
		return body, nil
	}
	return d.append(make([]byte, 0, len(body)+64)), nil
}

// judge has all guards of a phase judge texts, one after the other, each what the one before it made of them.
func (w *Watch) judge(ctx context.Context, phase Phase, texts []Text) error {
	for _, g := range w.guards {
		if !g.on(phase) {
			continue
		}
		if err := w.check(ctx, g, &Passage{Phase: phase, Texts: texts}); err != nil {
			return err
		}
	}
	return nil
}

func (g *Named) on(phase Phase) bool {
	return phase == Request && g.OnRequest || phase == Response && g.OnResponse
}

// check has one guard judge. What it replaced without saying so is put back. The error is a *Blocked.
func (w *Watch) check(ctx context.Context, g *Named, p *Passage) error {
	p.About = w.about
	if g.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, g.Timeout)
		defer cancel()
		ctx = limited
	}
	texts := p.Texts
	var few [4][]byte
	was := few[:0]
	for i := range texts {
		was = append(was, texts[i].Value)
	}
	p.Texts = slices.Clone(texts)
	v, err := g.Guard.Check(ctx, p)
	said := p.Texts
	if p.Texts = texts; err != nil || len(said) != len(texts) {
		return w.failed(g, p.Phase, err)
	}
	if v.Action == Replace {
		same := true
		for i := range texts {
			same = same && bytes.Equal(said[i].Value, was[i])
			texts[i].Value = said[i].Value
		}
		if same {
			v.Action = Allow
		}
	}
	return w.note(g, p.Phase, v)
}

// failed is a guard that could not tell.
func (w *Watch) failed(g *Named, phase Phase, err error) error {
	if w.set.Failed != nil {
		w.set.Failed(&w.about, g.Name, phase, g.FailOpen, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if g.FailOpen {
		w.fact(g.Name, phase, failedOpen)
		return nil
	}
	w.fact(g.Name, phase, failedClosed)
	return w.stop(&Blocked{Guard: g.Name, Phase: phase, Failed: true})
}

// note keeps in mind what a guard decided. The error is a *Blocked.
func (w *Watch) note(g *Named, phase Phase, v Verdict) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch v.Action {
	case Block:
		w.fact(g.Name, phase, blocked)
		return w.stop(&Blocked{Guard: g.Name, Phase: phase, Reason: clip(v.Reason)})
	case Replace:
		w.fact(g.Name, phase, redacted)
	case Allow:
		w.fact(g.Name, phase, allowed)
	}
	return nil
}

// stop requires the lock. The first one counts.
func (w *Watch) stop(b *Blocked) error {
	if w.block == nil {
		w.block = b
	}
	return b
}

// fact requires the lock. Of what a guard did in a phase the gravest is said.
func (w *Watch) fact(guard string, phase Phase, action string) {
	for i := range w.facts {
		f := &w.facts[i]
		if f.Guard != guard || f.Phase != phase.String() || f.Action == action {
			continue
		}
		if action == allowed {
			return
		}
		if f.Action == allowed {
			f.Action = action
			return
		}
	}
	f := Fact{guard, phase.String(), action}
	if !slices.Contains(w.facts, f) {
		w.facts = append(w.facts, f)
	}
}

// clip bounds a reason that somebody else gave, and keeps it to one line.
func clip(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

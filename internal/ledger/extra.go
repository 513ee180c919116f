package ledger

import "evergate/internal/journal"

// maxGuardrails is how many guardrails a row keeps at most.
const maxGuardrails = 16

// extra writes what few requests have: what the cache of answers did, the limit that refused it, what guardrails did, and how many steps and targets are not
// kept. It is one byte where there is nothing.
func (c *coder) extra(f *journal.Request, gone int) {
	guards := f.Guardrails[:min(len(f.Guardrails), maxGuardrails)]
	saved, refused := f.Saved != journal.Usage{}, f.Refusal != journal.LimitRefusal{}
	c.bits(bit(f.Cache != "", 0) | bit(saved, 1) | bit(f.Saved.Known, 2) | bit(refused, 3) | bit(len(guards) > 0, 4) | bit(gone > 0, 5))
	if f.Cache != "" {
		c.word(f.Cache)
	}
	if saved {
		c.usage(&f.Saved)
	}
	if refused {
		c.word(f.Refusal.Scope)
		c.word(f.Refusal.Limit)
	}
	if len(guards) > 0 {
		c.count(len(guards))
	}
	for i := range guards {
		c.word(guards[i].Name)
		c.word(guards[i].Phase)
		c.word(guards[i].Action)
	}
	if gone > 0 {
		c.count(gone)
	}
}

func (d *decoder) extra(r *Request) {
	f := &r.Request
	flags := d.bits()
	if flags&1 != 0 {
		f.Cache = d.word()
	}
	if flags&2 != 0 {
		d.usage(&f.Saved)
	}
	f.Saved.Known = flags&4 != 0
	if flags&8 != 0 {
		f.Refusal = journal.LimitRefusal{Scope: d.word(), Limit: d.word()}
	}
	if flags&16 != 0 {
		for range d.few(maxGuardrails) {
			f.Guardrails = append(f.Guardrails, journal.Guardrail{Name: d.word(), Phase: d.word(), Action: d.word()})
		}
	}
	if flags&32 != 0 {
		r.Cut = d.count()
	}
}

package ledger

import (
	"bytes"
	"cmp"
	"slices"
)

// Batch is what one write lays down, all of it or nothing. A store reads its requests by Each or All: a Writer's are still the bytes that were in its queue, as
// hundreds of them as Requests would be more memory than a processor has at hand.
type Batch struct {
	Requests []Request
	Entries  []Entry

	waiting []*item // a Writer's, the newest first; then there are no Requests
}

// Len is how many requests and entries it has.
func (b *Batch) Len() int { return b.requests() + len(b.Entries) }

func (b *Batch) requests() int { return len(b.Requests) + len(b.waiting) }

// Each gives the requests, the newest first and each once, until visit fails. The request and its lists are visit's during the visit alone; its texts stay as
// they are.
func (b *Batch) Each(visit func(*Request) error) error {
	if len(b.waiting) == 0 {
		return eachOf(b.Requests, visit)
	}
	var r Request
	for _, i := range b.waiting {
		if err := i.read(&r); err != nil {
			return err
		}
		if err := visit(&r); err != nil {
			return err
		}
	}
	return nil
}

func eachOf(rows []Request, visit func(*Request) error) error {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[b].Row, rows[a].Row) })
	for n, i := range order {
		if n > 0 && rows[order[n-1]].Row == rows[i].Row {
			continue
		}
		if err := visit(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// All gives all requests at once, in the order of Each.
func (b *Batch) All() ([]Request, error) {
	all := make([]Request, 0, b.requests())
	err := b.Each(func(r *Request) error {
		one := *r
		one.Trail, one.Targets = slices.Clone(r.Trail), slices.Clone(r.Targets)
		all = append(all, one)
		return nil
	})
	return all, err
}

// read reads a waiting row into r, whose lists' room is used again, and makes its account.
func (i *item) read(r *Request) error {
	trail, targets := r.Trail, r.Targets
	clear(trail)
	*r = Request{Targets: targets[:0]}
	r.Trail = trail[:0]
	text := string(i.bytes)
	if err := r.decode(text); err != nil {
		return err
	}
	r.fact = text[:len(text)-noAccount]
	if r.Kind == KindRequest {
		r.Account = AccountOf(&r.Request)
	}
	r.Body = i.body
	return nil
}

// name is the bytes of the row's name.
func (i *item) name() []byte { return i.bytes[1 : 1+rowBytes] }

// add adds rows of the queue.
func (b *Batch) add(rows []*item) {
	for _, i := range rows {
		if !i.entry {
			b.waiting = append(b.waiting, i)
		} else if e, err := DecodeEntry(i.bytes); err == nil { // it is of AppendEntry
			b.Entries = append(b.Entries, *e)
		}
	}
	slices.SortStableFunc(b.waiting, func(x, y *item) int { return bytes.Compare(y.name(), x.name()) })
}

func (b *Batch) join(o Batch) {
	b.waiting, b.Entries = append(b.waiting, o.waiting...), append(b.Entries, o.Entries...)
}

// each gives every row as a batch of its own, until visit says no.
func (b *Batch) each(visit func(Batch) bool) {
	for i := range b.waiting {
		if !visit(Batch{waiting: b.waiting[i : i+1]}) {
			return
		}
	}
	for i := range b.Entries {
		if !visit(Batch{Entries: b.Entries[i : i+1]}) {
			return
		}
	}
}

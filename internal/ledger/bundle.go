package ledger

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"
)

// Bundle is the sums of one bucket by group, which a store may keep as one text: with thousands of groups that is read and written in a fraction of the time
// that a line of a table for each takes. It is for one goroutine.
type Bundle map[Group]*Sums

// bundleVersion is the first byte of a packed bundle. Behind it are the words of all groups, each once, and the groups: which words, a bit for each number that is
// not 0, and those numbers. A number whose bit is unknown is of a newer program, and left out.
const bundleVersion = 1

// of gives the sums of a group, to add to.
func (b Bundle) of(g Group) *Sums {
	have := b[g]
	if have == nil {
		have = &Sums{}
		b[g] = have
	}
	return have
}

// Add adds the sums of a group.
func (b Bundle) Add(g Group, s *Sums) { b.of(g).Add(s) }

// Append appends the bundle, packed, to dst and returns it. Groups without a number are left out.
func (b Bundle) Append(dst []byte) []byte {
	places := make(map[string]uint64, 16)
	var words []string
	place := func(word string) uint64 {
		if word == "" {
			return 0
		}
		at, ok := places[word]
		if !ok {
			words = append(words, word)
			at = uint64(len(words))
			places[word] = at
		}
		return at
	}
	groups := make([]byte, 0, 48*len(b))
	for g, s := range b {
		var mask uint64
		numbers := s.Numbers()
		for i, n := range numbers {
			if *n > 0 {
				mask |= 1 << i
			}
		}
		if mask == 0 {
			continue
		}
		for _, word := range [...]string{g.Key, g.Route, g.Model, g.Provider} {
			groups = binary.AppendUvarint(groups, place(word))
		}
		groups = binary.AppendUvarint(groups, mask)
		for _, n := range numbers {
			if *n > 0 {
				groups = binary.AppendUvarint(groups, uint64(*n))
			}
		}
	}
	dst = append(dst, bundleVersion)
	dst = binary.AppendUvarint(dst, uint64(len(words)))
	for _, word := range words {
		dst = binary.AppendUvarint(dst, uint64(len(word)))
		dst = append(dst, word...)
	}
	return append(dst, groups...)
}

// AddPacked adds the sums of a packed bundle. Of one that is broken the groups before the break may be added.
func (b Bundle) AddPacked(packed []byte) error {
	p, words, err := openBundle(packed)
	if err != nil {
		return err
	}
	for p.more() {
		at := p.group(len(words))
		if p.broken {
			break
		}
		p.addTo(b.of(Group{words[at[0]], words[at[1]], words[at[2]], words[at[3]]}))
	}
	return p.err()
}

// AnswerPacked adds up a packed bundle, of the bucket that begins at a time, as a query wants it.
func (t *Totals) AnswerPacked(q *UsageQuery, at time.Time, packed []byte) error {
	p, words, err := openBundle(packed)
	if err != nil {
		return err
	}
	at = q.Step.Of(at)
	by := [4]bool{q.ByKey, q.ByRoute, q.ByModel, q.ByProvider}
	var want [4]string
	want[0], want[1], want[2], want[3] = q.Key, q.Route, q.Model, q.Provider
	targets := map[[4]uint32]*Sums{}
	for p.more() {
		place := p.group(len(words))
		if p.broken {
			break
		}
		wanted := true
		for i := range place {
			if differs(want[i], words[place[i]]) {
				wanted = false
			}
			if !by[i] {
				place[i] = 0
			}
		}
		if !wanted {
			p.addTo(nil)
			continue
		}
		to := targets[place]
		if to == nil {
			to = t.at(at, Group{words[place[0]], words[place[1]], words[place[2]], words[place[3]]})
			targets[place] = to
		}
		p.addTo(to)
	}
	return p.err()
}

// packed reads a packed bundle.
type packed struct {
	b      []byte
	broken bool
}

// openBundle reads the words of a bundle; the first one is empty.
func openBundle(b []byte) (p packed, words []string, err error) {
	if len(b) == 0 || b[0] != bundleVersion {
		return p, nil, errBroken
	}
	p.b = b[1:]
	n := p.number()
	if n > uint64(len(p.b)) {
		return p, nil, errBroken
	}
	words = make([]string, 1, n+1)
	for range n {
		size := p.number()
		if size > uint64(len(p.b)) {
			return p, nil, errBroken
		}
		words = append(words, string(p.b[:size]))
		p.b = p.b[size:]
	}
	return p, words, p.err()
}

func (p *packed) more() bool { return len(p.b) > 0 && !p.broken }

func (p *packed) err() error {
	if p.broken {
		return errBroken
	}
	return nil
}

func (p *packed) number() uint64 {
	if len(p.b) > 0 && p.b[0] < 0x80 {
		n := uint64(p.b[0])
		p.b = p.b[1:]
		return n
	}
	n, size := binary.Uvarint(p.b)
	if size <= 0 {
		p.broken, p.b = true, nil
		return 0
	}
	p.b = p.b[size:]
	return n
}

// group reads whose sums come next, as the places of its words.
func (p *packed) group(words int) (places [4]uint32) {
	for i := range places {
		n := p.number()
		if n >= uint64(words) { //nolint:gosec // not negative
			p.broken = true
			return [4]uint32{}
		}
		places[i] = uint32(n) //nolint:gosec // as many as there are words
	}
	return places
}

// addTo adds the sums that come next to others; nil: it skips them.
func (p *packed) addTo(s *Sums) {
	mask := p.number()
	if s == nil {
		for range bits.OnesCount64(mask) {
			p.number()
		}
		return
	}
	to := s.Numbers()
	for ; mask != 0; mask &= mask - 1 {
		n := p.number()
		if i := bits.TrailingZeros64(mask); i < SumCount {
			*to[i] = capped(*to[i], n)
		}
	}
}

// capped is a sum that stays at the largest number.
func capped(have int64, n uint64) int64 {
	if n > uint64(math.MaxInt64-max(have, 0)) { //nolint:gosec // not negative
		return math.MaxInt64
	}
	return have + int64(n) //nolint:gosec // it fits, as was just seen
}

package identity

import "time"

// Verdict is what came of a key that somebody presented.
type Verdict uint8

// The verdicts.
const (
	Welcome  Verdict = iota
	Missing          // nothing was presented
	Unknown          // nobody has such a key
	Mistyped         // it begins as a key that is made here, and its checksum is wrong
	Expired          // it is somebody's, and past its end
	Replaced         // it is somebody's old one, and the overlap with the new one is over
	Unread           // it may be one that is kept in the store, which was not read yet since the start
	Token            // it may be a token that an issuer signed: ask Verify
	Unfit            // a good token that lacks a claim
)

// Find says who presents a key. Whatever is presented, as much is done: one hash for the config's keys, and one for those made here that is compared twice.
func (b *Book) Find(presented string, now time.Time) (*Principal, Verdict) {
	return b.find(presented, now, nil)
}

// work counts what was done to find somebody; a nil one does not count.
type work struct{ hashes, compares int }

func (w *work) did(compares int) {
	if w != nil {
		w.hashes++
		w.compares += compares
	}
}

func (b *Book) find(presented string, now time.Time, w *work) (*Principal, Verdict) {
	sum := b.blind.sum(presented)
	w.did(0)
	own := (*b.own.Load())[sum]
	id, secret, form := split(presented)
	m := b.made.find(id)
	listed := m != nil && form == sound
	if !listed {
		m = &b.dummy
	}
	if form != sound {
		secret = presented[:min(len(presented), secretSize)] // of whatever length, it is as many blocks
	}
	made := hashOf(m.salt, secret)
	current, before := m.hashes[0].is(&made), m.hashes[1].is(&made)
	w.did(2)
	switch {
	case presented == "":
		return nil, Missing
	case own != nil:
		return own, own.admit(now)
	case listed && current:
		return m.who, m.who.admit(now)
	case listed && before:
		if until := m.hashes[1].Until; !now.Before(until) {
			return m.who, Replaced
		}
		return m.who, m.who.admit(now)
	case form == mistyped:
		return nil, Mistyped
	case form == sound && !listed && b.unread.Load():
		return nil, Unread
	case form == foreign && b.tokens.Load() != nil && tokenLike(presented):
		return nil, Token
	}
	return nil, Unknown
}

// admit says whether a principal may still come in.
func (p *Principal) admit(now time.Time) Verdict {
	if !p.Expires.IsZero() && !now.Before(p.Expires) {
		return Expired
	}
	p.use(now)
	return Welcome
}

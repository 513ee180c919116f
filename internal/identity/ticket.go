package identity

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// A ticket lets who has it use one address as the holder of a key does, where an SDK sends no key. It is good for as long as the key is, on every gateway that has the key.
// It begins with a number by which its holder is found: without one, all keys would have to be tried.

// seal is what tickets are signed with; made from what only those have who have the key, or its hash.
type seal [32]byte

const (
	numberSize = 8
	markSize   = 16
)

// sealOf makes a seal.
func sealOf(of []byte) seal {
	first := newMacKey([]byte("evergate tickets"))
	return seal(first.sum(string(of)))
}

func (s *seal) mark(what string) digest {
	k := newMacKey(s[:])
	return k.sum(what)
}

// number is what the seal is found by; it tells nothing of it.
func (s *seal) number() uint64 {
	d := s.mark("number")
	return binary.BigEndian.Uint64(d[:])
}

func (s *seal) ticket(address string) string {
	number, mark := s.mark("number"), s.mark("upload\n"+address)
	return base64.RawURLEncoding.EncodeToString(append(number[:numberSize:numberSize], mark[:markSize]...))
}

// Ticket is one for an address; empty: the principal gives none.
func (p *Principal) Ticket(address string) string {
	if p == nil || p.seals[0] == (seal{}) {
		return ""
	}
	return p.seals[0].ticket(address)
}

// Holder is whose ticket for an address it is; nil: nobody's whose key is still good.
func (b *Book) Holder(ticket, address string, now time.Time) *Principal {
	raw, err := base64.RawURLEncoding.DecodeString(ticket)
	if err != nil || len(raw) != numberSize+markSize {
		return nil
	}
	v, ok := b.tickets.Load(binary.BigEndian.Uint64(raw))
	if !ok {
		return nil
	}
	p := v.(*Principal)
	for i := range p.seals {
		mark := p.seals[i].mark("upload\n" + address)
		if p.seals[i] == (seal{}) || i > 0 && !now.Before(p.sealed) || subtle.ConstantTimeCompare(mark[:markSize], raw[numberSize:]) == 0 {
			continue
		}
		if p.admit(now) == Welcome {
			return p
		}
	}
	return nil
}

package identity

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"strings"
	"time"
)

// A ticket lets who has it use one address as the holder of a key does, where an SDK sends no key. It is good for as long as the key is, on every gateway that has the key.
// It begins with a number by which its holder is found: without one, all keys would have to be tried. What signs it is made of what is kept of a key, so that who reads the
// store can make tickets of his own: they are good only for addresses that have a secret of their own.

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

// unguessable says whether an address, which begins with the provider's name, is that of an upload under way: it has the id that the provider gave to who began it.
func unguessable(address string) bool {
	place, query, _ := strings.Cut(address, "?")
	_, path, _ := strings.Cut(place, "/")
	said, err := url.ParseQuery(query)
	return err == nil && strings.HasPrefix(path, "upload/") && said.Get("upload_id") != ""
}

// Ticket is one for the address of an upload under way; empty: the principal gives none, or it is another address.
func (p *Principal) Ticket(address string) string {
	if p == nil || p.seals[0] == (seal{}) || !unguessable(address) {
		return ""
	}
	return p.seals[0].ticket(address)
}

// Holder is whose ticket for an address it is; nil: nobody's whose key is still good.
func (b *Book) Holder(ticket, address string, now time.Time) *Principal {
	raw, err := base64.RawURLEncoding.DecodeString(ticket)
	if err != nil || len(raw) != numberSize+markSize || !unguessable(address) {
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

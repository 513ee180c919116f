package testkit

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// Resolver answers for the names of a table with their addresses, and for all others with none. It asks nobody else.
func Resolver(names map[string][]string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe() // which is spoken on as over TCP
		go func() {
			defer server.Close() //nolint:errcheck // nothing is left to be lost
			for {
				var size [2]byte
				if _, err := io.ReadFull(server, size[:]); err != nil {
					return
				}
				question := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(server, question); err != nil {
					return
				}
				answer := resolve(names, question)
				if _, err := server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil { //nolint:gosec // a few addresses
					return
				}
			}
		}()
		return client, nil
	}}
}

func resolve(names map[string][]string, question []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		panic(err)
	}
	m.Response, m.Additionals = true, nil
	q := m.Questions[0]
	for _, a := range names[strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))] {
		addr := netip.MustParseAddr(a)
		head := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}
		switch {
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	out, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return out
}

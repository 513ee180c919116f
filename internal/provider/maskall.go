package provider

import (
	"slices"
	"sync"
)

// longGram is the length in bytes of the shortest part of a credential that a Mask masks: its texts are whole conversations, in which words of
// eight letters are found that some credential has, too, and the JSON around them.
const longGram = 12

// Mask takes credentials out of texts: those of several clients, the tokens that these got since, further ones, and what looks like one.
// It is safe for concurrent use.
type Mask struct {
	clients []*Client
	more    []Secret

	mu    sync.Mutex
	known []*masker // of each client
	all   *masker
}

// NewMask makes a mask.
func NewMask(clients []*Client, more ...Secret) *Mask {
	return &Mask{clients: clients, more: more, known: make([]*masker, len(clients))}
}

// Bytes is a copy of a text without credentials. JSON stays JSON.
func (m *Mask) Bytes(text []byte) []byte { return m.now().bytes(text) }

// now is the masker of all, made anew where a client has a token that it does not know.
func (m *Mask) now() *masker {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := m.all == nil
	for i, c := range m.clients {
		if now := c.masking(); now != m.known[i] {
			m.known[i], changed = now, true
		}
	}
	if changed {
		secrets := slices.Clone(m.more)
		for _, k := range m.known {
			for _, s := range k.secrets {
				secrets = append(secrets, Secret(s))
			}
		}
		m.all = newMaskerOf(secrets, longGram)
	}
	return m.all
}

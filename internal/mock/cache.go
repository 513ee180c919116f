package mock

import (
	"crypto/sha256"
	"fmt"
)

// maxPrefixes is how many prompt prefixes a Provider remembers as cached.
const maxPrefixes = 1024

// cached is how many tokens of a prompt are read from the cache and written to it. A prefix that a marker covers is
// written the first time and read from then on.
func (p *Provider) cached(t *talk) (read, written int) {
	if t.cacheTurns == 0 {
		return 0, 0
	}
	prefix := t.turns[:min(t.cacheTurns, len(t.turns))]
	tokens := min(t.tokensOf(prefix), t.promptTokens())
	key := sha256.Sum256(fmt.Appendf(nil, "%s %v %v", t.Model, t.tools, prefix))
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.prefixes[key]; ok {
		return tokens, 0
	}
	if len(p.prefixes) >= maxPrefixes || p.prefixes == nil {
		p.prefixes = map[[sha256.Size]byte]struct{}{}
	}
	p.prefixes[key] = struct{}{}
	return 0, tokens
}

package anthropic

import (
	"hash/fnv"
	"strconv"

	"evergate/internal/llm"
)

// maxID is how long an id may be.
const maxID = 64

// legalID is an id of the characters and length that the dialect takes (a-z, A-Z, 0-9, _ and -, at most 64). One that
// is legal stays; of another a readable part is kept, with a hash of the whole, so that ids that differ still do, and
// the same one is the same wherever it comes.
func legalID(id string) string {
	legal := id != "" && len(id) <= maxID
	for i := 0; legal && i < len(id); i++ {
		legal = isIDByte(id[i])
	}
	if legal {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	tail := "_" + strconv.FormatUint(h.Sum64(), 36)
	out := make([]byte, 0, maxID)
	for i := 0; i < len(id) && len(out) < maxID-len(tail); i++ {
		if c := id[i]; isIDByte(c) {
			out = append(out, c)
		} else {
			out = append(out, '_')
		}
	}
	return string(append(out, tail...))
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// ids gives calls and results that have no id one each: the first call without one goes with the first result without
// one, and so on.
type ids struct {
	names          []string // of the tools that are called in the history, each once
	seen           map[string]bool
	calls, results int
}

// called notes a call of the history.
func (d *ids) called(c *llm.Call) {
	if d.seen[c.Name] {
		return
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[c.Name] = true
	d.names = append(d.names, c.Name)
}

func (d *ids) ofCall(c *llm.Call) string {
	if c.ID != "" {
		return legalID(c.ID)
	}
	d.calls++
	return "call_" + strconv.Itoa(d.calls)
}

func (d *ids) ofResult(r *llm.Result) string {
	if r.CallID != "" {
		return legalID(r.CallID)
	}
	d.results++
	return "call_" + strconv.Itoa(d.results)
}

package feed

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"evergate/internal/ledger"
	"evergate/internal/nearest"
)

// Kind is one of the kinds of events.
type Kind uint8

// Kinds are some of them.
type Kinds uint8

// The kinds. Rows of the first two are requests, all others entries of the timeline.
const (
	Request Kind = iota
	Mirror
	Guard
	Order
	Discovery
	Change
	Probe
	kinds
)

// All are all kinds.
const All Kinds = 1<<kinds - 1

var kindNames = [kinds]string{ledger.KindRequest, ledger.KindMirror, ledger.EntryGuard, ledger.EntryOrder, ledger.EntryDiscovery, ledger.EntryChange, ledger.EntryProbe}

// String is the word for it.
func (k Kind) String() string { return kindNames[k] }

func kindOf(word string) (Kind, bool) {
	for k, name := range kindNames {
		if name == word {
			return Kind(k), true
		}
	}
	return 0, false
}

// ParseKinds reads words with commas between them; none stands for all.
func ParseKinds(text string) (Kinds, error) {
	if text == "" {
		return All, nil
	}
	var out Kinds
	for word := range strings.SplitSeq(text, ",") {
		k, ok := kindOf(word)
		if !ok {
			known := kindNames[:]
			err := fmt.Errorf("there is no kind %q; there are %s", word, strings.Join(known, ", "))
			if near := nearest.Names(word, known, 1); len(near) > 0 {
				err = fmt.Errorf("there is no kind %q; did you mean %q?", word, near[0])
			}
			return 0, err
		}
		out |= 1 << k
	}
	return out, nil
}

// Has says whether a kind is among them.
func (ks Kinds) Has(k Kind) bool { return ks&(1<<k) != 0 }

// Event is one row, as it was made. It is safe for concurrent use.
type Event struct {
	Kind Kind

	row      []byte
	instance string
	number   uint64
	once     sync.Once
	text     []byte
}

// Row reads the row: a request or an entry.
func (e *Event) Row() (*ledger.Request, *ledger.Entry, error) {
	return ledger.ReadHeard(e.Kind.String(), e.row)
}

// ID names the event, for readers that come back.
func (e *Event) ID() string { return id(e.instance, e.number) }

func id(instance string, number uint64) string {
	return instance + "-" + strconv.FormatUint(number, 10)
}

// Text gives what write makes of the event, which is asked once, whoever reads first. The same write must be given by all. The
// result is not to be changed.
func (e *Event) Text(write func(*Event) []byte) []byte {
	e.once.Do(func() { e.text = write(e) })
	return e.text
}

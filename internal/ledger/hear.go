package ledger

// Hearer hears rows as they are made, on the goroutine of their fact, also those that are dropped. It must not block.
type Hearer interface {
	// Listening says whether anything is to be heard: it is asked for every row.
	Listening() bool
	// Heard hears a row: ReadHeard reads it. It may be read during the call only.
	Heard(kind string, row []byte)
}

// hear tells who hears of a row.
func (w *Writer) hear(kind string, row []byte) {
	if h := w.o.Hear; h != nil && h.Listening() {
		h.Heard(kind, row)
	}
}

// ReadHeard reads a row that a Hearer was told of, whose kind it was told, too. One of both is nil.
func ReadHeard(kind string, row []byte) (*Request, *Entry, error) {
	if kind != KindRequest && kind != KindMirror && kind != kindProbeRow {
		e, err := DecodeEntry(row)
		return nil, e, err
	}
	r, err := DecodeRequest(row)
	if err == nil && r.Kind == KindRequest {
		r.Account = AccountOf(&r.Request)
	}
	return r, nil, err
}

// kindProbeRow tells Hearers the rows of probes from their entries, which have the same word.
const kindProbeRow = "probe row"

package responses

import (
	"bytes"
	"maps"
	"slices"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// replyFromStream folds a stream into the response object that it would have been (R17). The stream must be whole: one
// that has an error in it, was cut, or brings no content is an error (R14). The error is a *fault.Fault.
func replyFromStream(stream []byte) ([]byte, error) {
	var p wire.Progress
	var f folded
	err := wire.EachEvent(stream, Responses{}, &p, func(data []byte, e *wire.Event) error {
		return f.add(data, e.Finish)
	})
	if err != nil {
		return nil, err
	}
	return f.reply(), nil
}

// folded is a response in the making.
type folded struct {
	response []byte // of the terminal event, or else of the last one that had it
	finished bool
	items    map[int64][]byte // those that are done

	// What the stream said, for a stream that never says its items whole.
	decoder decoder
	order   llm.Order
	fold    llm.Fold
}

func (f *folded) add(data []byte, finish bool) error {
	if err := f.decoder.Decode(data, f.put); err != nil {
		return wire.Invalid(err.Error())
	}
	var fr frame
	r := jsonscan.New(data)
	fr.read(&r)
	switch {
	case f.finished:
	case fr.response != nil:
		f.response, f.finished = bytes.Clone(fr.response), finish
	case fr.item != nil && has(fr.kind, ".done"):
		if f.items == nil {
			f.items = map[int64][]byte{}
		}
		f.items[fr.output] = bytes.Clone(fr.item)
	}
	return nil
}

func (f *folded) put(e *llm.Event) { f.order.Put(e, f.fold.Put) }

// reply is the terminal event's response. Some vendors leave its output empty: the items that went by are put in.
func (f *folded) reply() []byte {
	var h head
	r := jsonscan.New(f.response)
	h.read(&r)
	if f.finished && len(h.output) > len("[]") {
		return f.response
	}
	f.decoder.End(f.put)
	f.order.End(f.fold.Put)
	if len(f.items) == 0 || f.response == nil {
		return appendReply(nil, f.fold.Reply(), &llm.Request{Dropped: &llm.Dropped{}})
	}
	output := []byte{'['}
	for _, at := range slices.Sorted(maps.Keys(f.items)) {
		if len(output) > 1 {
			output = append(output, ',')
		}
		output = append(output, f.items[at]...)
	}
	output = append(output, ']')
	m := members{dst: []byte{'{'}}
	r = jsonscan.New(f.response)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		raw := r.Raw()
		switch {
		case string(key) == "output":
			continue
		case string(key) == "status" && !f.finished:
			raw = []byte(`"completed"`)
		}
		m.add(key, raw)
	}
	m.add([]byte("output"), output)
	return append(m.dst, '}')
}

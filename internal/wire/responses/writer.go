package responses

import (
	"strconv"

	"evergate/internal/jsonscan"
)

// writer writes the events of one stream, numbered from 0. A mute one writes and counts nothing.
type writer struct {
	dst      []byte
	sequence int64
	mute     bool
}

// begin starts an event; nothing may be written, and end not called, if it says no.
func (w *writer) begin(kind string) bool {
	if w.mute {
		return false
	}
	w.dst = append(w.dst, "event: "...)
	w.dst = append(w.dst, kind...)
	w.dst = append(w.dst, "\ndata: {\"type\":\""...)
	w.dst = append(w.dst, kind...)
	w.dst = append(w.dst, `","sequence_number":`...)
	w.dst = strconv.AppendInt(w.dst, w.sequence, 10)
	w.sequence++
	return true
}

func (w *writer) end() { w.dst = append(w.dst, "}\n\n"...) }

// raw writes a member whose value is JSON.
func (w *writer) raw(name string, value []byte) {
	w.name(name)
	w.dst = append(w.dst, value...)
}

// quoted writes a member whose value is the inside of a JSON string.
func (w *writer) quoted(name string, inside []byte) {
	w.name(name)
	w.dst = append(w.dst, '"')
	w.dst = append(w.dst, inside...)
	w.dst = append(w.dst, '"')
}

func (w *writer) name(name string) {
	w.dst = append(w.dst, ',', '"')
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, '"', ':')
}

// at writes where an event belongs: the id of its item, as JSON, and the item's place in the output.
func (w *writer) at(id []byte, output int) {
	w.raw("item_id", id)
	w.int("output_index", output)
}

func (w *writer) int(name string, n int) {
	w.name(name)
	w.dst = strconv.AppendInt(w.dst, int64(n), 10)
}

// item writes an event that has a whole item.
func (w *writer) item(kind string, output int, raw []byte) {
	if w.begin(kind) {
		w.int("output_index", output)
		w.raw("item", raw)
		w.end()
	}
}

// inside is what stands between the quotes of a raw string; nil if it is none.
func inside(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// members writes an object's members after its opening brace.
type members struct {
	dst  []byte
	some bool
}

func (m *members) key(name []byte) []byte {
	if m.some {
		m.dst = append(m.dst, ',')
	}
	m.some = true
	m.dst = jsonscan.AppendText(m.dst, name)
	m.dst = append(m.dst, ':')
	return m.dst
}

func (m *members) add(name, raw []byte) { m.dst = append(m.key(name), raw...) }

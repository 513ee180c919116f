package traces

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// protobuf writes an ExportTraceServiceRequest of opentelemetry-proto.
type protobuf struct{}

func (protobuf) batch(dst []byte, r *origin, spans func(each func(*span))) []byte {
	return message(dst, 1, func(dst []byte) []byte { // ResourceSpans
		dst = message(dst, 1, func(dst []byte) []byte { // Resource
			for _, p := range r.resource {
				dst = protoAttr(dst, 1, attr{key: p.Key, text: p.Value})
			}
			return dst
		})
		return message(dst, 2, func(dst []byte) []byte { // ScopeSpans
			dst = message(dst, 1, func(dst []byte) []byte { return protoText(protoText(dst, 1, scope), 2, r.version) })
			spans(func(s *span) { dst = protoSpan(dst, 2, s) })
			return dst
		})
	})
}

func protoSpan(dst []byte, field protowire.Number, s *span) []byte {
	return message(dst, field, func(dst []byte) []byte {
		dst = protoBytes(dst, 1, s.trace[:])
		dst = protoBytes(dst, 2, s.id[:])
		dst = protoText(dst, 3, s.state)
		if s.parent != [8]byte{} {
			dst = protoBytes(dst, 4, s.parent[:])
		}
		dst = protoText(dst, 5, s.name)
		dst = protoInt(dst, 6, uint64(s.kind)) //nolint:gosec // 2 or 3
		dst = protoFixed(dst, 7, nanos(s.start))
		dst = protoFixed(dst, 8, nanos(s.end))
		for i := range s.attrs {
			dst = protoAttr(dst, 9, s.attrs[i])
		}
		for i := range s.events {
			e := &s.events[i]
			dst = message(dst, 11, func(dst []byte) []byte {
				dst = protoText(protoFixed(dst, 1, nanos(e.at)), 2, e.name)
				for j := range e.attrs {
					dst = protoAttr(dst, 3, e.attrs[j])
				}
				return dst
			})
		}
		if s.failed {
			dst = message(dst, 15, func(dst []byte) []byte { return protoInt(dst, 3, statusError) })
		}
		return binary.LittleEndian.AppendUint32(protowire.AppendTag(dst, 16, protowire.Fixed32Type), s.flags())
	})
}

func protoAttr(dst []byte, field protowire.Number, a attr) []byte {
	return message(dst, field, func(dst []byte) []byte {
		return message(protoText(dst, 1, a.key), 2, func(dst []byte) []byte {
			switch a.kind {
			case textKind:
				return protowire.AppendString(protowire.AppendTag(dst, 1, protowire.BytesType), a.text) // an empty one is a value, too
			case boolKind:
				return protoInt(dst, 2, uint64(a.n)) //nolint:gosec // 0 or 1
			case intKind:
				return protoInt(dst, 3, uint64(a.n)) //nolint:gosec // as protobuf has negative numbers
			case floatKind:
				return protoFixed(dst, 4, math.Float64bits(a.f))
			case listKind:
				return message(dst, 5, func(dst []byte) []byte {
					for _, v := range a.list {
						dst = message(dst, 1, func(dst []byte) []byte {
							return protowire.AppendString(protowire.AppendTag(dst, 1, protowire.BytesType), v)
						})
					}
					return dst
				})
			}
			return dst
		})
	})
}

// message appends a field that is a message itself. Its length stands before it and is known after it.
func message(dst []byte, field protowire.Number, body func([]byte) []byte) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	at := len(dst)
	dst = body(append(dst, 0)) // most lengths take one byte
	n := len(dst) - at - 1
	if size := protowire.SizeVarint(uint64(n)); size > 1 { //nolint:gosec // a length
		dst = append(dst, make([]byte, size-1)...)
		copy(dst[at+size:], dst[at+1:at+1+n])
	}
	binary.PutUvarint(dst[at:], uint64(n)) //nolint:gosec // a length
	return dst
}

func protoBytes(dst []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), v)
}

func protoText(dst []byte, field protowire.Number, v string) []byte {
	if v == "" {
		return dst
	}
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), v)
}

func protoInt(dst []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), v)
}

func protoFixed(dst []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(dst, field, protowire.Fixed64Type), v)
}

// rejected reads a collector's answer: how many spans it did not take, and why.
func rejected(answer []byte) (spans int64, why string) {
	partial := field(answer, 1)
	spans = int64(varint(partial, 1)) //nolint:gosec // as protobuf has negative numbers
	return spans, clean(string(field(partial, 2)))
}

// field finds a field of bytes in a message; nil if there is none, or the message is broken.
func field(b []byte, want protowire.Number) []byte {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		b = b[n:]
		if num == want && kind == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b)
			return v
		}
		if n = protowire.ConsumeFieldValue(num, kind, b); n < 0 {
			return nil
		}
		b = b[n:]
	}
	return nil
}

func varint(b []byte, want protowire.Number) uint64 {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0
		}
		b = b[n:]
		if num == want && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(b)
			return v
		}
		if n = protowire.ConsumeFieldValue(num, kind, b); n < 0 {
			return 0
		}
		b = b[n:]
	}
	return 0
}

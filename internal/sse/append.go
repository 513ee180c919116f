package sse

import "bytes"

// cutLine parts b after its first line end, whose bytes are dropped.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		i = len(b)
	}
	if cr := bytes.IndexByte(b[:i], '\r'); cr >= 0 {
		if cr+1 < len(b) && b[cr+1] == '\n' {
			return b[:cr], b[cr+2:]
		}
		return b[:cr], b[cr+1:]
	}
	return b[:i], b[min(i+1, len(b)):]
}

// AppendData appends one event with data, of which each line becomes a data line.
func AppendData(dst, data []byte) []byte {
	for {
		line, rest := cutLine(data)
		dst = append(dst, "data: "...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
		if len(line) == len(data) {
			return append(dst, '\n')
		}
		data = rest
	}
}

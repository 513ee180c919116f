package sse

import "bytes"

// Looks says whether a body is an event stream, whatever its content type says: its first line is a comment or a known
// field (or the "error:" that some upstreams send in place of data).
func Looks(body []byte) bool {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte(byteOrderMark)), " \t\r\n")
	for _, start := range [...]string{"data:", ":", "event:", "id:", "retry:", "error:"} {
		if len(body) >= len(start) && string(body[:len(start)]) == start {
			return true
		}
	}
	return false
}

package wire

import (
	"strconv"

	"evergate/internal/jsonscan"
)

// AppendAttempts appends the array of a failure's attempts, which has the same form in every dialect. The status of one
// that got no answer is null.
func AppendAttempts(dst []byte, attempts []Attempt) []byte {
	dst = append(dst, '[')
	for i, a := range attempts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"target":`...)
		dst = jsonscan.AppendString(dst, a.Target)
		dst = append(dst, `,"status":`...)
		if a.Status == 0 {
			dst = append(dst, "null"...)
		} else {
			dst = strconv.AppendInt(dst, int64(a.Status), 10)
		}
		dst = append(dst, `,"reason":`...)
		dst = jsonscan.AppendString(dst, a.Reason)
		dst = append(dst, `,"ms":`...)
		dst = strconv.AppendInt(dst, a.Millis, 10)
		if a.Skipped {
			dst = append(dst, `,"skipped":true`...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

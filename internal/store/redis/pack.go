package redis

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

var errMalformed = errors.New("what the server has under a key of the gateway's was not written by a gateway")

// pack writes strings of any bytes so that they can be told apart again: each with its length before it.
func pack(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return b.String()
}

// cut takes the first packed string off.
func cut(s string) (part, rest string, ok bool) {
	size, rest, ok := strings.Cut(s, ":")
	n, err := strconv.ParseUint(size, 10, 31)
	if !ok || err != nil || uint64(len(rest)) < n {
		return "", "", false
	}
	return rest[:n], rest[n:], true
}

// cut2 takes the first two off.
func cut2(s string) (first, second, rest string, ok bool) {
	if first, rest, ok = cut(s); !ok {
		return "", "", "", false
	}
	second, rest, ok = cut(rest)
	return first, second, rest, ok
}

const (
	sequenceDigits = 20
	timeDigits     = 16 // of µs since 1970: enough until 2286
)

// digits writes a sequence so that the order of texts is that of the numbers.
func digits(sequence uint64) string {
	s := strconv.FormatUint(sequence, 10)
	return strings.Repeat("0", sequenceDigits-len(s)) + s
}

// moment reads the server's time.
func moment(s string) (time.Time, error) {
	micros, err := strconv.ParseInt(s, 10, 64)
	if err != nil || len(s) != timeDigits {
		return time.Time{}, errMalformed
	}
	return time.UnixMicro(micros).UTC(), nil
}

package postgres

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"evergate/internal/replica"
)

const raw = `\x`

// text writes a string of any bytes as one that a column of text takes, itself if it can be.
func text(s string) string {
	if plain(s) && !strings.HasPrefix(s, raw) {
		return s
	}
	return raw + hex.EncodeToString([]byte(s))
}

func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// untext reads what text wrote.
func untext(s string) (string, error) {
	digits, ok := strings.CutPrefix(s, raw)
	if !ok {
		return s, nil
	}
	b, err := hex.DecodeString(digits)
	return string(b), err
}

// noticeBytes is how long a notice may be: NOTIFY carries less than 8000 bytes, and the time comes before it.
const noticeBytes = 7999 - len("9223372036854775807 ")

// notice is what is told of a page: kind, sequence and names, each with its length before it, and the body: as it is (t), in base64 (b), or not
// at all (r) because it is too long.
func notice(p replica.Page) string {
	head := strconv.FormatUint(p.Sequence, 10) + " "
	for _, s := range []string{p.Instance, string(p.Topic), p.Key} {
		s = text(s)
		head += strconv.Itoa(len(s)) + ":" + s
	}
	if room := noticeBytes - len("t ") - len(head); len(p.Body) <= room {
		if body := string(p.Body); plain(body) {
			return "t " + head + body
		}
		if base64.StdEncoding.EncodedLen(len(p.Body)) <= room {
			return "b " + head + base64.StdEncoding.EncodeToString(p.Body)
		}
	}
	return "r " + head
}

var errNotice = errors.New("a notice that no gateway wrote")

// heard reads a notice with its time; whole: it has the body.
func heard(payload string) (p replica.Page, whole bool, err error) {
	at, rest, ok1 := strings.Cut(payload, " ")
	kind, rest, ok2 := strings.Cut(rest, " ")
	sequence, rest, ok3 := strings.Cut(rest, " ")
	if !ok1 || !ok2 || !ok3 {
		return p, false, errNotice
	}
	micros, err1 := strconv.ParseInt(at, 10, 64)
	p.At = time.UnixMicro(micros).UTC()
	var err2 error
	p.Sequence, err2 = strconv.ParseUint(sequence, 10, 64)
	var names [3]string
	for i := range names {
		size, after, ok := strings.Cut(rest, ":")
		n, err := strconv.ParseUint(size, 10, 31)
		if !ok || err != nil || n > uint64(len(after)) {
			return p, false, errNotice
		}
		if names[i], err = untext(after[:n]); err != nil {
			return p, false, errNotice
		}
		rest = after[n:]
	}
	if err := errors.Join(err1, err2); err != nil {
		return p, false, errNotice
	}
	p.Instance, p.Topic, p.Key = names[0], replica.Topic(names[1]), names[2]
	switch kind {
	case "t":
		p.Body = []byte(rest)
	case "b":
		if p.Body, err = base64.StdEncoding.DecodeString(rest); err != nil {
			return p, false, fmt.Errorf("%w: %w", errNotice, err)
		}
	case "r":
		return p, false, nil
	default:
		return p, false, errNotice
	}
	return p, true, nil
}

package gemini

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// madePrefix begins the ids of calls that came without one. Other dialects need ids; back to Google these are left out,
// so that a call and its result are matched as Google had it, by name and order.
const madePrefix = "gemini_"

// maxSeed bounds what of a reply's id goes into the ids of its calls: some vendors take ids up to 40 characters.
const maxSeed = 24

func isMade(id string) bool { return strings.HasPrefix(id, madePrefix) }

// seedOf is what tells the calls of one reply from those of the next: the reply's id, or a hash of what it said.
func seedOf(responseID string, data []byte) string {
	var b strings.Builder
	for _, c := range responseID {
		if c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b.WriteRune(c)
		}
		if b.Len() == maxSeed {
			break
		}
	}
	if b.Len() > 0 {
		return b.String()
	}
	h := fnv.New64a()
	_, _ = h.Write(data)
	return strconv.FormatUint(h.Sum64(), 36)
}

func madeID(seed string, n int) string {
	id := madePrefix
	if seed != "" {
		id += seed + "_"
	}
	return id + strconv.Itoa(n)
}

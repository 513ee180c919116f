package openaichat

// Ids of tool calls come from any vendor and go to any other. What a target would refuse is replaced by an id that
// depends on nothing but the old one, so that a call and its result, and the same history sent again, agree.

// maxCallID is how long an id may be.
const maxCallID = 40

// callID is the id under which the target gets to know a call.
func (e *requestEncoder) callID(id string) string {
	if e.t.Quirks.ShortCallIDs {
		return shortCallID(id)
	}
	return legalCallID(id)
}

func legalCallID(id string) string {
	if id != "" && len(id) <= maxCallID && onlyIn(id, "_-") {
		return id
	}
	return "call_" + encodeHash(id, 24)
}

// shortCallID is nine letters or digits.
func shortCallID(id string) string {
	if len(id) == 9 && onlyIn(id, "") {
		return id
	}
	return encodeHash(id, 9)
}

// onlyIn says whether id has nothing but letters, digits and those of more.
func onlyIn(id, more string) bool {
next:
	for i := range len(id) {
		c := id[i]
		if c-'0' < 10 || (c|0x20)-'a' < 26 {
			continue
		}
		for j := range len(more) {
			if c == more[j] {
				continue next
			}
		}
		return false
	}
	return true
}

// encodeHash writes n letters and digits that stand for text (FNV-1a, a new one for every eleven characters).
func encodeHash(text string, n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	out := make([]byte, 0, n)
	hash := uint64(14695981039346656037)
	for len(out) < n {
		for i := range len(text) {
			hash = (hash ^ uint64(text[i])) * 1099511628211
		}
		hash = (hash ^ 0xff) * 1099511628211
		for h, k := hash, 0; k < 10 && len(out) < n; k++ {
			out = append(out, digits[h%62])
			h /= 62
		}
	}
	return string(out)
}

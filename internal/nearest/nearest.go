// Package nearest finds the known names that a mistyped one probably meant: configuration keys, provider names, model
// ids. It is pure and knows nothing of what the names stand for.
package nearest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// maxRunes bounds the work for one name: a longer one is no typing mistake.
const maxRunes = 128

// Names returns the known names nearest to asked, best first and at most most of them; none if nothing is near.
//
// Upper and lower case and the separators - _ . : and space count as equal, so that maxRetries finds max_retries. A
// name is near if it takes few edits (a swap of neighbours is one edit) for its length, or if asked is a whole leading
// part of it, as gpt-4o is of gpt-4o-mini. What stands before the last slash of a known name may be left out, so that
// a bare model id finds provider/model. Ties keep the order of known. The cost is len(known) × len(asked)².
func Names(asked string, known []string, most int) []string {
	a := fold(asked)
	if len(a) == 0 || len(a) > maxRunes || most <= 0 {
		return nil
	}
	type hit struct {
		name string
		rank int
	}
	var hits []hit
	for _, name := range known {
		if r, near := rank(a, fold(name)); near {
			hits = append(hits, hit{name, r})
			continue
		}
		if i := strings.LastIndexByte(name, '/'); i >= 0 && !strings.Contains(asked, "/") {
			if r, near := rank(a, fold(name[i+1:])); near {
				hits = append(hits, hit{name, r})
			}
		}
	}
	slices.SortStableFunc(hits, func(x, y hit) int { return cmp.Compare(x.rank, y.rank) })
	var names []string
	for _, h := range hits {
		if len(names) == most {
			break
		}
		if !slices.Contains(names, h.name) {
			names = append(names, h.name)
		}
	}
	return names
}

// rank is the number of edits, if they are few; leading parts rank behind every edit.
func rank(asked, known []rune) (int, bool) {
	limit := max(1, min(len(asked), len(known))/3)
	if len(asked) < 3 {
		limit = 0
	}
	if d := distance(asked, known, limit); d <= limit {
		return d, true
	}
	if len(asked) >= 3 && len(known) <= maxRunes && len(known) > len(asked) && slices.Equal(known[:len(asked)], asked) {
		return maxRunes + len(known), true
	}
	return 0, false
}

// fold makes what people mix up equal: case and separators.
func fold(s string) []rune {
	if len(s) > 4*maxRunes {
		s = s[:4*maxRunes] // still longer than any name that is looked at
	}
	out := make([]rune, 0, len(s))
	for _, r := range s {
		switch r {
		case '-', '_', '.', ':', ' ':
		default:
			out = append(out, unicode.ToLower(r))
		}
	}
	return out
}

// distance is the optimal string alignment distance, or limit+1 if it is more than limit.
func distance(a, b []rune, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := row[0]
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			d := min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit+1)
}

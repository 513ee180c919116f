package gemini

import "math/bits"

// maxOffsets is how many bytes of text are remembered to convert offsets; beyond them a place is unknown.
const maxOffsets = 64 << 10

// offsets converts places in a growing text between bytes, as Google counts, and code points. While the text is ASCII
// nothing is remembered; after that one bit for each byte.
type offsets struct {
	size  int      // of the text, in bytes
	ascii int      // so many bytes at its start are ASCII
	marks []uint64 // of the bytes after those: set where a code point begins
}

func (o *offsets) add(text []byte) {
	if len(o.marks) == 0 {
		i := 0
		for i < len(text) && text[i] < 0x80 {
			i++
		}
		if o.size == o.ascii {
			o.ascii += i
			o.size += i
			text = text[i:]
		}
	}
	for _, c := range text {
		n := o.size - o.ascii
		if n/64 == len(o.marks) && n < maxOffsets {
			o.marks = append(o.marks, 0)
		}
		if c&0xc0 != 0x80 && n < maxOffsets {
			o.marks[n/64] |= 1 << (n % 64)
		}
		o.size++
	}
}

// points is how many code points begin before a byte; ok is false where that is unknown.
func (o *offsets) points(at int) (n int, ok bool) {
	switch {
	case at < 0 || at > o.size:
		return 0, false
	case at <= o.ascii:
		return at, true
	}
	at -= o.ascii
	if at > len(o.marks)*64 {
		return 0, false
	}
	n = o.ascii
	for _, m := range o.marks[:at/64] {
		n += bits.OnesCount64(m)
	}
	if at%64 != 0 {
		n += bits.OnesCount64(o.marks[at/64] & (1<<(at%64) - 1))
	}
	return n, true
}

// bytes is the byte at which the code point after so many begins, or the text's end; ok is false where that is unknown.
func (o *offsets) bytes(points int) (n int, ok bool) {
	switch {
	case points < 0:
		return 0, false
	case points <= o.ascii:
		return points, true
	}
	points -= o.ascii
	for i, m := range o.marks {
		if c := bits.OnesCount64(m); c <= points {
			points -= c
			continue
		}
		for ; points > 0; points-- {
			m &= m - 1
		}
		return o.ascii + i*64 + bits.TrailingZeros64(m), true
	}
	return o.size, points == 0 && o.size-o.ascii <= maxOffsets
}

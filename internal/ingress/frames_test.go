package ingress

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// frame is one of RFC 6455.
func frame(op byte, mask bool, payload []byte) []byte {
	out := []byte{op, 0}
	switch n := len(payload); {
	case n < 126:
		out[1] = byte(n)
	case n < 1<<16:
		out[1] = 126
		out = binary.BigEndian.AppendUint16(out, uint16(n))
	default:
		out[1] = 127
		out = binary.BigEndian.AppendUint64(out, uint64(n))
	}
	if mask {
		out[1] |= masked
		out = append(out, 1, 2, 3, 4)
	}
	return append(out, payload...)
}

// However frames are cut into writes, all that was written before the end passes, the close frame stands behind a whole frame, and
// nothing after it.
func TestACloseFrameStandsBetweenFrames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []byte
		ends := map[int]bool{0: true}
		for range rapid.IntRange(1, 6).Draw(t, "frames") {
			size := rapid.SampledFrom([]int{0, 1, 125, 126, 127, 300, 65535, 65536, 70000}).Draw(t, "size")
			all = append(all, frame(rapid.SampledFrom([]byte{0x81, 0x02, 0x80, 0x89, 0xc1}).Draw(t, "op"), rapid.Bool().Draw(t, "masked"), make([]byte, size))...)
			ends[len(all)] = true
		}
		last := rapid.IntRange(0, len(all)).Draw(t, "at")
		var out bytes.Buffer
		f := framed{to: &out}
		written, ended := 0, false
		for written < len(all) {
			n := rapid.SampledFrom([]int{1, 2, 3, 7, 100, 5000, 1 << 20}).Draw(t, "write")
			if !ended {
				n = min(n, last-written)
			}
			n = min(n, len(all)-written)
			if n > 0 {
				if got, err := f.Write(all[written : written+n]); got != n || err != nil {
					t.Fatal(got, err)
				}
				written += n
			}
			if written >= last && !ended {
				ended = true
				f.end(closeFrame(goingAway, false))
			}
		}
		whole := last
		for !ends[whole] {
			whole++
		}
		if want := append(all[:whole:whole], 0x88, 2, 3, 0xe9); !bytes.Equal(out.Bytes(), want) {
			t.Fatalf("ended at %d of %d, in a frame up to %d: %d bytes passed, ending in % x", last, len(all), whole, out.Len(), out.Bytes()[max(0, out.Len()-8):])
		}
	})
}

// A client's close frame is masked, one that has been said is not said again, and bytes that are no frames all pass.
func TestCloseFrames(t *testing.T) {
	t.Parallel()
	c := closeFrame(goingAway, true)
	if len(c) != 8 || c[0] != 0x88 || c[1] != 0x82 || c[6]^c[2] != 3 || c[7]^c[3] != 0xe9 {
		t.Errorf("% x", c)
	}
	var out bytes.Buffer
	f := framed{to: &out}
	said := frame(0x88, true, []byte{3, 0xe8})
	_, _ = f.Write(said)
	f.end(closeFrame(goingAway, true))
	f.end(closeFrame(goingAway, true))
	if !bytes.Equal(out.Bytes(), said) {
		t.Errorf("twice closed: % x", out.Bytes())
	}
	out.Reset()
	text := strings.Repeat("no frame\xff", 1000)
	f = framed{to: &out}
	if n, err := f.Write([]byte(text)); n != len(text) || err != nil || out.String() != text {
		t.Errorf("%d of %d passed: %v", n, len(text), err)
	}
}

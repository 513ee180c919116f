package attempt

import (
	"bytes"
	"testing"

	"evergate/internal/sse"
)

func TestBuffer(t *testing.T) {
	for _, n := range []int{0, 1, 4096, 4097, 1 << 20, 3 << 20} {
		b := GetBuffer(n)
		if len(b.B) != 0 || cap(b.B) < n {
			t.Fatalf("GetBuffer(%d): len %d cap %d", n, len(b.B), cap(b.B))
		}
		b.B = append(b.B, bytes.Repeat([]byte("x"), n)...)
		b.Grow(100)
		if cap(b.B)-len(b.B) < 100 || len(b.B) != n {
			t.Fatalf("Grow: len %d cap %d", len(b.B), cap(b.B))
		}
		b.Retain()
		b.Release()
		b.B[:1][0] = 'y' // still held
		b.Release()
	}
	defer func() {
		if recover() == nil {
			t.Error("a second release went unnoticed")
		}
	}()
	b := GetBuffer(1 << 22) // not pooled, so that the count stays
	b.Release()
	b.Release()
}

func TestSniff(t *testing.T) {
	tests := []struct {
		body              string
		decided, isStream bool
	}{
		{"", false, false},
		{"\n \r", false, false},
		{"data: x", true, true},
		{": ping", true, true},
		{"\ufeffdata:", true, true},
		{"event: x", true, true},
		{` {"id":1}`, true, false},
		{"<html>", true, false},
		{"[1]", true, false},
		{"garbage", true, true},
	}
	for _, tt := range tests {
		if d, s := sniff([]byte(tt.body)); d != tt.decided || d && s != tt.isStream {
			t.Errorf("sniff(%q) = %v %v, want %v %v", tt.body, d, s, tt.decided, tt.isStream)
		}
	}
	for body, want := range map[string]bool{"data: {}": true, "\n\n: x": true, "event: a": true, `{"data": 1}`: false, "<p>": false, "": false} {
		if sse.Looks([]byte(body)) != want {
			t.Errorf("sse.Looks(%q) = %v", body, !want)
		}
	}
}

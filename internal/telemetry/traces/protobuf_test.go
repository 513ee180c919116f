package traces

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// layout says which fields of OTLP's messages are messages, and which are text.
type layout struct {
	inner map[protowire.Number]*layout
	text  map[protowire.Number]bool
}

func otlp() *layout {
	value := &layout{text: map[protowire.Number]bool{1: true}}
	value.inner = map[protowire.Number]*layout{5: {inner: map[protowire.Number]*layout{1: value}}}
	pair := &layout{text: map[protowire.Number]bool{1: true}, inner: map[protowire.Number]*layout{2: value}}
	event := &layout{text: map[protowire.Number]bool{2: true}, inner: map[protowire.Number]*layout{3: pair}}
	one := &layout{text: map[protowire.Number]bool{3: true, 5: true}, inner: map[protowire.Number]*layout{9: pair, 11: event, 15: {}}}
	scopes := &layout{inner: map[protowire.Number]*layout{1: {text: map[protowire.Number]bool{1: true, 2: true}}, 2: one}}
	resources := &layout{inner: map[protowire.Number]*layout{1: {inner: map[protowire.Number]*layout{1: pair}}, 2: scopes}}
	return &layout{inner: map[protowire.Number]*layout{1: resources}}
}

// strict reads a batch as a strict reader does, and gives its number of spans.
func strict(t *testing.T, b []byte) (spans int) {
	t.Helper()
	var read func(b []byte, l *layout, depth int)
	read = func(b []byte, l *layout, depth int) {
		for len(b) > 0 {
			num, kind, n := protowire.ConsumeTag(b)
			if n < 0 {
				t.Fatalf("no tag: %v", protowire.ParseError(n))
			}
			b = b[n:]
			if kind == protowire.BytesType {
				v, n := protowire.ConsumeBytes(b)
				if n < 0 {
					t.Fatalf("no bytes: %v", protowire.ParseError(n))
				}
				if l.text[num] && !utf8.Valid(v) {
					t.Fatalf("%q is no UTF-8", v)
				}
				if next := l.inner[num]; next != nil {
					if depth == 2 && num == 2 {
						spans++
					}
					read(v, next, depth+1)
				}
				b = b[n:]
				continue
			}
			if n = protowire.ConsumeFieldValue(num, kind, b); n < 0 {
				t.Fatalf("no value: %v", protowire.ParseError(n))
			}
			b = b[n:]
		}
	}
	read(b, otlp(), 0)
	return spans
}

func TestProtobuf(t *testing.T) {
	t.Parallel()
	b := written(protobuf{}, story())
	if n := strict(t, b); n != 5 {
		t.Errorf("%d spans, want the request's and those of its four attempts", n)
	}
	var whole struct {
		ResourceSpans []struct{ ScopeSpans []struct{ Spans []any } }
	}
	if err := json.Unmarshal(written(jsonForm{}, story()), &whole); err != nil || len(whole.ResourceSpans[0].ScopeSpans[0].Spans) != 5 {
		t.Errorf("JSON has others: %v", err)
	}
}

func TestMessageLengths(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 127, 128, 129, 16383, 16384, 70000} {
		body := make([]byte, n)
		for i := range body {
			body[i] = byte(i)
		}
		got := message([]byte("before"), 3, func(dst []byte) []byte { return append(dst, body...) })
		want := protowire.AppendBytes(protowire.AppendTag([]byte("before"), 3, protowire.BytesType), body)
		if string(got) != string(want) {
			t.Errorf("a message of %d bytes is written wrong", n)
		}
	}
}

func TestRejected(t *testing.T) {
	t.Parallel()
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), "too old")
	answer := message(nil, 1, func(dst []byte) []byte { return append(dst, partial...) })
	if n, why := rejected(answer); n != 3 || why != "too old" {
		t.Errorf("got %d, %q", n, why)
	}
	for _, b := range [][]byte{nil, {}, {0xff}, []byte("<html>"), answer[:3]} {
		if n, _ := rejected(b); n != 0 {
			t.Errorf("%q rejects %d", b, n)
		}
	}
}

func TestRejectedJSON(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int64{
		`{"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}}`: 3, `{"partialSuccess":{"rejectedSpans":4}}`: 4,
		`{}`: 0, ``: 0, `<html>`: 0, `{"partialSuccess":null}`: 0, `{"partialSuccess":{"rejectedSpans":"many"}}`: 0,
	} {
		if got := rejectedJSON([]byte(answer)); got != want {
			t.Errorf("%s: %d", answer, got)
		}
	}
}

package postgres

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/replica"
)

func TestNoticesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }), rapid.SampledFrom([]string{`\x`, `\x00`, "", "1:a"}))
		p := replica.Page{
			Instance: odd.Draw(t, "instance"), Topic: replica.Topic(odd.Draw(t, "topic")), Key: odd.Draw(t, "key"),
			Sequence: rapid.Uint64().Draw(t, "sequence"), At: time.UnixMicro(1_700_000_000_123_456).UTC(),
			Body: rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 50), rapid.Map(rapid.IntRange(5_000, 9_000), func(n int) []byte { return bytes.Repeat([]byte("x"), n) }),
				rapid.Map(rapid.IntRange(5_000, 9_000), func(n int) []byte { return bytes.Repeat([]byte{0xff}, n) })).Draw(t, "body"),
		}
		payload := "1700000000123456 " + notice(p)
		if len(payload) > 7999 || strings.ContainsRune(payload, 0) {
			t.Fatalf("a notice of %d bytes, or with a NUL", len(payload))
		}
		got, whole, err := heard(payload)
		if err != nil {
			t.Fatal(err)
		}
		if !whole {
			if len(p.Body) < 5_000 {
				t.Fatalf("%d bytes were not told", len(p.Body))
			}
			got.Body = p.Body
		}
		if got.Instance != p.Instance || got.Topic != p.Topic || got.Key != p.Key || got.Sequence != p.Sequence || !got.At.Equal(p.At) || !bytes.Equal(got.Body, p.Body) {
			t.Fatalf("got %+v, want %+v", got, p)
		}
	})
}

func FuzzHeard(f *testing.F) {
	f.Add("1 t 2 1:a1:b1:cbody")
	f.Add("1 b 2 1:a1:b1:cYQ==")
	f.Add("1 r 2 999:a")
	f.Fuzz(func(t *testing.T, payload string) {
		p, whole, err := heard(payload)
		if err == nil && !whole && len(p.Body) > 0 {
			t.Error("a body that is none")
		}
	})
}

func TestUnderstood(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		at, latest int
		ok         bool
	}{{100, 100, true}, {107, 100, true}, {200, 100, false}, {200, 199, false}, {199, 200, true}} {
		if err := understood(tt.at, tt.latest); (err == nil) != tt.ok {
			t.Errorf("schema %d, program %d: %v", tt.at, tt.latest, err)
		}
	}
}

func TestMigrationsHaveThreeDigits(t *testing.T) {
	t.Parallel()
	if all, err := ordered(migrations); err != nil || len(all) == 0 || all[0].version != 100 {
		t.Errorf("got %v, %v", all, err)
	}
	if _, err := ordered(fstest.MapFS{"migrations/1_x.sql": {}}); err == nil {
		t.Error("one digit is no error")
	}
}

package drill

import (
	"errors"
	"testing"
	"time"
)

// R74: whatever somebody asks for, it is a rule within its bounds or a mistake that says what is wrong.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"provider":"a","shape":{"status":503,"retry_after":"30s"},"share":0.1,"for":"5m","budget":10,"reason":"r"}`,
		`{"shape":{"latency":"2s"},"until":"2030-01-01T00:10:00Z","reason":"r","header":{"name":"x-team","value":"a"}}`,
		`{"shape":{"cut_after":3},"for":"-1h"}`, `{"shape":{}}`, `{"shape":null,"share":1e999}`, `[]`, `{}{}`, "{\"reason\":\"\x00\"}",
	} {
		f.Add([]byte(text))
	}
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(text, now)
		if err != nil {
			var m *Mistake
			if !errors.As(err, &m) || m.Error() == "" {
				t.Fatalf("%q: %v is no mistake with words", text, err)
			}
			return
		}
		if !(r.Share > 0 && r.Share <= 1) || r.Budget < 1 || !r.Until.After(now) || r.Until.Sub(now) > 24*time.Hour {
			t.Fatalf("%q: a rule beyond its bounds: %+v", text, r)
		}
	})
}

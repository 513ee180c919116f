package app

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/identity"
)

// goodbye is the status of a close frame, the gateway's own or the provider's echo of it, which is masked.
func goodbye(frame []byte) int {
	switch {
	case len(frame) == 4 && frame[0] == 0x88 && frame[1] == 2:
		return int(frame[2])<<8 | int(frame[3])
	case len(frame) == 8 && frame[0] == 0x88 && frame[1] == 0x82:
		return int(frame[6]^frame[2])<<8 | int(frame[7]^frame[3])
	}
	return 0
}

// A WebSocket ends with the key that it was opened with: revoked, past its end, replaced, or one that may not do this any more; no other socket does.
func TestPassthroughSocketEndsWithItsKey(t *testing.T) {
	expires := func(p identity.Principal) identity.Principal { p.Expires = time.Now().Add(90 * time.Second); return p }
	change := func(what func(*identity.Principal)) func(*stack) error {
		return func(s *stack) error {
			_, err := s.app.keys.Change(context.Background(), "k", func(p identity.Principal) (identity.Principal, error) { what(&p); return p, nil }, "", "")
			return err
		}
	}
	for _, tt := range []struct {
		name  string
		terms func(identity.Principal) identity.Principal
		then  func(*stack) error
		goes  bool
	}{
		{name: "nothing happens", goes: true},
		{name: "it is revoked", then: func(s *stack) error { _, err := s.app.keys.Revoke(context.Background(), "k", "", ""); return err }},
		{name: "it expires", terms: expires},
		{name: "it is replaced at once", then: func(s *stack) error {
			_, _, err := s.app.keys.Rotate(context.Background(), "k", 0, "", "")
			return err
		}},
		{name: "its overlap ends", then: func(s *stack) error {
			_, _, err := s.app.keys.Rotate(context.Background(), "k", time.Minute, "", "")
			return err
		}},
		{name: "its overlap goes on", goes: true, then: func(s *stack) error {
			_, _, err := s.app.keys.Rotate(context.Background(), "k", time.Hour, "", "")
			return err
		}},
		{name: "its owner changes", goes: true, then: change(func(p *identity.Principal) { p.Owner = "ada" })},
		{name: "it may not pass through", then: change(func(p *identity.Principal) { p.Routes = []string{"chat"} })},
		{name: "it may not come from here", then: change(func(p *identity.Principal) {
			s, _ := identity.ParseSource("192.0.2.7")
			p.Sources = append(p.Sources, s)
		})},
		{name: "it is held to models", then: change(func(p *identity.Principal) { p.Models = []string{"m"} })},
		{name: "it is held to another provider", then: change(func(p *identity.Principal) { p.Providers = []string{"off"} })},
		{name: "a guardrail is to hold", then: change(func(p *identity.Principal) { p.Guardrails = []string{"g"} })},
		{name: "its provider is configured no more", goes: true, then: func(s *stack) error {
			s.next = parse(s.t, strings.ReplaceAll(onePass[:strings.Index(onePass, "providers:")], "%s", "")+"providers: {new: {type: openai, base_url: \"http://up/v1\", api_key: k}}\n")
			return s.app.Reload()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var closed atomic.Int32
				s := passStack(t, "", echoes(t, func(*http.Request) {}, &closed))
				terms := identity.Principal{Name: "k"}
				if tt.terms != nil {
					terms = tt.terms(terms)
				}
				_, key, err := s.app.keys.Create(t.Context(), terms, "")
				if err != nil {
					t.Fatal(err)
				}
				k := s.dialSocket("/passthrough/up/v1/realtime?key="+key, "")
				other := s.dialSocket("/passthrough/up/v1/realtime", "", "Authorization", "Bearer client-key-1")
				if k.read(t, 5)+other.read(t, 5) != "hellohello" {
					t.Fatal("no connection")
				}
				if tt.then != nil {
					if err := tt.then(s); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(100 * time.Second)
				_, _ = io.WriteString(other, "more")
				if other.read(t, 4) != "more" {
					t.Error("another caller's socket does not go on")
				}
				_ = other.Close()
				if tt.goes {
					_, _ = io.WriteString(k, "more")
					if k.read(t, 4) != "more" {
						t.Error("it does not go on")
					}
				} else if rest, err := io.ReadAll(k.in); err != nil || goodbye(rest) != 1008 {
					t.Errorf("%q %v, want a close frame with 1008", rest, err)
				}
				_ = k.Close()
				synctest.Wait()
				if closed.Load() != 2 || s.app.ingress.InFlight() != 0 {
					t.Errorf("%d closed, %d in flight", closed.Load(), s.app.ingress.InFlight())
				}
			})
		})
	}
}

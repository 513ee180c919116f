package app

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What a key may not do says nothing of what else it may: no caller takes it from the others by asking for that.
func TestPassthroughBeyondAKey(t *testing.T) {
	for _, tt := range []struct {
		name, message string
		status        int
	}{
		{"forbidden", "no", 403},
		{"a scope", "You have insufficient permissions for this operation. Missing scopes: api.management.read.", 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := passStack(t, "", func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, `{"error":{"message":"`+tt.message+`"}}`)
				})
				for range 3 {
					if res, text := s.do("GET", "/passthrough/up/organization/users", nil); res.StatusCode != tt.status || !strings.Contains(text, tt.message) {
						t.Fatalf("%d %s", res.StatusCode, text)
					}
				}
				if v := s.app.health.Provider("up").Snapshot(time.Now()).Guards; v.Credentials[0].State != "ok" {
					t.Errorf("the key rests: %+v", v)
				}
			})
		})
	}
}

// The same for an answer that a provider keeps, which a key need not be allowed to read.
func TestKeptAnswerBeyondAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := passStack(t, "", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPost {
				_, _ = io.WriteString(w, `{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}]}`)
				return
			}
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":{"message":"no"}}`)
		})
		if res, text := s.do("POST", "/v1/responses", strings.NewReader(`{"model":"m","input":"hi"}`)); res.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", res.StatusCode, text)
		}
		if res, text := s.do("GET", "/v1/responses/resp_1", nil); res.StatusCode != http.StatusForbidden || !strings.Contains(text, "no") {
			t.Errorf("%d %s", res.StatusCode, text)
		}
		if v := s.app.health.Provider("up").Snapshot(time.Now()).Guards; v.Credentials[0].State != "ok" {
			t.Errorf("the key rests: %+v", v)
		}
	})
}

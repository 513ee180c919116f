package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripted is the upstream of many providers: the first segment of the path is one's name.
type scripted struct {
	*httptest.Server

	mu    sync.Mutex
	moods map[string]mood
	seen  map[string][]arrival
}

// mood is how a provider answers: nil is well; who is the prompt, key the credential, n how many requests came before.
type mood func(who, key string, n int) int

// arrival is one request as it came to the upstream.
type arrival struct {
	at       time.Time
	who, key string
}

func failing(string, string, int) int { return http.StatusInternalServerError }

// refusing refuses the first key that comes, once.
func refusing(_, _ string, n int) int {
	if n == 0 {
		return http.StatusUnauthorized
	}
	return http.StatusOK
}

// shaky fails two of three times.
func shaky(_, _ string, n int) int {
	if n%3 < 2 {
		return http.StatusBadGateway
	}
	return http.StatusOK
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{moods: map[string]mood{}, seen: map[string][]arrival{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		var body struct {
			Stream   bool
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
			reply(w, http.StatusBadRequest, `{"error":{"message":"no messages"}}`)
			return
		}
		status := s.ask(name, body.Messages[0].Content, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if status != http.StatusOK {
			reply(w, status, `{"error":{"message":"as the script says","type":"server_error"}}`)
			return
		}
		if body.Stream {
			if stream(w, 3, 0) == nil {
				_, _ = io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
			}
			return
		}
		reply(w, status, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *scripted) ask(name, who, key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.seen[name])
	s.seen[name] = append(s.seen[name], arrival{time.Now(), who, key})
	if m := s.moods[name]; m != nil {
		return m(who, key, n)
	}
	return http.StatusOK
}

// set changes a provider's mood and forgets what it was asked.
func (s *scripted) set(name string, m mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moods[name], s.seen[name] = m, nil
}

// got is what a provider was asked since its mood was set.
func (s *scripted) got(name string) []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen[name])
}

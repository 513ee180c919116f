package provider

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
)

// mint gives a new token with each call, named by its number, after a second.
type mint struct {
	mu    sync.Mutex
	calls int
	life  time.Duration
	fail  error
}

func (m *mint) fetch(ctx context.Context) (Token, error) {
	m.mu.Lock()
	m.calls++
	n, life, fail := m.calls, m.life, m.fail
	m.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return Token{}, ctx.Err()
	}
	if fail != nil {
		return Token{}, fail
	}
	t := Token{Value: Secret("token-" + string(rune('0'+n)))}
	if life > 0 {
		t.Expiry = time.Now().Add(life)
	}
	return t, nil
}

func (m *mint) count() int { m.mu.Lock(); defer m.mu.Unlock(); return m.calls }

func (m *mint) set(fail error) { m.mu.Lock(); m.fail = fail; m.mu.Unlock() }

func TestTokens(t *testing.T) {
	get := func(t *testing.T, tokens *Tokens, want string, took time.Duration) {
		t.Helper()
		start := time.Now()
		got, err := tokens.Get(t.Context())
		if got.Reveal() != want || err != nil || time.Since(start) != took {
			t.Errorf("%q, %v after %v, want %q after %v", got.Reveal(), err, time.Since(start), want, took)
		}
	}
	t.Run("kept, renewed in time while the old one serves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &mint{life: time.Hour}
			tokens := NewTokens(m.fetch)
			get(t, tokens, "token-1", time.Second)
			get(t, tokens, "token-1", 0)
			time.Sleep(56 * time.Minute)
			get(t, tokens, "token-1", 0) // and a new one is on its way
			get(t, tokens, "token-1", 0)
			synctest.Wait()
			time.Sleep(time.Second)
			synctest.Wait()
			get(t, tokens, "token-2", 0)
		})
	})
	t.Run("short lives", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tokens := NewTokens((&mint{life: 100 * time.Second}).fetch)
			get(t, tokens, "token-1", time.Second)
			time.Sleep(79 * time.Second)
			get(t, tokens, "token-1", 0)
			time.Sleep(time.Minute)
			get(t, tokens, "token-2", time.Second)
		})
	})
	t.Run("without an end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tokens := NewTokens((&mint{}).fetch)
			get(t, tokens, "token-1", time.Second)
			time.Sleep(1000 * time.Hour)
			get(t, tokens, "token-1", 0)
		})
	})
	t.Run("many wait for one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &mint{life: time.Hour}
			tokens := NewTokens(m.fetch)
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() { get(t, tokens, "token-1", time.Second) })
			}
			wg.Wait()
			if m.count() != 1 {
				t.Errorf("%d fetches", m.count())
			}
		})
	})
	t.Run("one who leaves does not end it for the others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &mint{life: time.Hour}
			tokens := NewTokens(m.fetch)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := tokens.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v", err)
				}
			})
			synctest.Wait() // the fetch is on its way
			wg.Go(func() { get(t, tokens, "token-1", time.Second) })
			wg.Wait()
		})
	})
	t.Run("an endpoint that hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tokens := NewTokens(func(ctx context.Context) (Token, error) {
				<-ctx.Done()
				return Token{}, ctx.Err()
			})
			start := time.Now()
			if _, err := tokens.Get(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != fetchTimeout {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
	})
	t.Run("an empty token", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var f *fault.Fault
			if _, err := NewTokens(func(context.Context) (Token, error) { return Token{}, nil }).Get(t.Context()); !errors.As(err, &f) {
				t.Errorf("%v", err)
			}
		})
	})
}

// R32: an endpoint that is down is asked again after 1, 2, 4 … 60 s, and costs nobody time in between.
func TestTokensHoldOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		m := &mint{life: time.Hour, fail: down}
		tokens := NewTokens(m.fetch)
		try := func() (took time.Duration) {
			t.Helper()
			start := time.Now()
			if _, err := tokens.Get(t.Context()); !errors.Is(err, down) {
				t.Errorf("%v", err)
			}
			return time.Since(start)
		}
		for _, hold := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			if took := try(); took != time.Second {
				t.Errorf("a fetch took %v", took)
			}
			calls := m.count()
			time.Sleep(hold*time.Second - time.Millisecond)
			if took := try(); took != 0 || m.count() != calls {
				t.Errorf("asked again before %v s were over", int(hold))
			}
			time.Sleep(time.Millisecond)
		}
		m.set(nil)
		if _, err := tokens.Get(t.Context()); err != nil {
			t.Error(err)
		}
		// A good token outlives a failure to renew it.
		m.set(down)
		time.Sleep(57 * time.Minute)
		calls := m.count()
		for range 3 {
			if _, err := tokens.Get(t.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(30 * time.Second)
		}
		if m.count() != calls+3 {
			t.Errorf("asked %d times: what failed before the last success counts no more", m.count()-calls)
		}
	})
}

// R32: an endpoint that hangs costs whoever asks first its time, and those after a failure little of theirs.
func TestTokensOfAnEndpointThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens(func(ctx context.Context) (Token, error) {
			<-ctx.Done()
			return Token{}, TokenFault(0, "", ctx.Err())
		})
		for _, want := range []time.Duration{fetchTimeout, 0, doubtWait, doubtWait, doubtWait} {
			start := time.Now()
			if token, err := tokens.Get(t.Context()); token != "" || err == nil || time.Since(start) != want {
				t.Errorf("%q, %v after %v, want %v", token.Reveal(), err, time.Since(start), want)
			}
			time.Sleep(holdBase / 2)
		}
		time.Sleep(fetchTimeout)
	})
}

// R7, R32: who is to blame for a token that was not given.
func TestTokenFault(t *testing.T) {
	for status, want := range map[int]fault.Class{
		0: fault.NoToken, 400: fault.Auth, 401: fault.Auth, 403: fault.Auth, 408: fault.NoToken, 429: fault.NoToken, 500: fault.NoToken, 503: fault.NoToken, 302: fault.NoToken,
	} {
		f := TokenFault(status, "invalid_client", errors.New("x"))
		if f.Class != want || f.Class.BreakerFailure() || f.Message == "" {
			t.Errorf("%d: %v, want %v", status, f, want)
		}
	}
}

// Token endpoints are asked the way the provider is, and nobody is followed elsewhere with a secret.
func TestHTTPClient(t *testing.T) {
	proxied := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied++
		http.Redirect(w, r, "http://elsewhere.test/", http.StatusTemporaryRedirect)
	}))
	defer proxy.Close()
	o := newClient(t, proxy.URL, nil, nil).options
	o.Proxy = o.BaseURL
	client, err := NewHTTPClient(&o, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Post("http://login.test/token", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	readAll(t, resp)
	if resp.StatusCode != http.StatusTemporaryRedirect || proxied != 1 {
		t.Errorf("%d after %d requests", resp.StatusCode, proxied)
	}
	o.TLS.CAFile = "testdata/none.pem"
	if _, err := NewHTTPClient(&o, nil); err == nil {
		t.Error("a CA file that is not there went unnoticed")
	}
}

// A token that ends before it could be used is none: it is never given out, nor asked for again without a pause.
func TestTokensThatEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{life: 8 * time.Second}
		tokens := NewTokens(m.fetch)
		for range 3 {
			got, err := tokens.Get(t.Context())
			var f *fault.Fault
			if got != "" || !errors.As(err, &f) || f.Class != fault.NoToken {
				t.Fatalf("%q, %v", got.Reveal(), err)
			}
		}
		if n := m.count(); n != 1 {
			t.Errorf("asked %d times at once", n)
		}
	})
}

package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const issuerURL = "https://login.example.com"

// authority is an issuer: it signs tokens, and says its keys unless it is away.
type authority struct {
	t     testing.TB
	keys  map[string]*ecdsa.PrivateKey
	away  atomic.Bool
	asked atomic.Int64
	slow  atomic.Int64 // ns
	mu    sync.Mutex   // guards keys
}

func newAuthority(t testing.TB, names ...string) *authority {
	t.Helper()
	a := &authority{t: t, keys: map[string]*ecdsa.PrivateKey{}}
	for _, n := range names {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		a.keys[n] = k
	}
	return a
}

func (a *authority) fetch(ctx context.Context, url string) ([]byte, error) {
	a.asked.Add(1)
	if slow := time.Duration(a.slow.Load()); slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if a.away.Load() {
		return nil, errors.New("connection refused")
	}
	switch url {
	case issuerURL + "/.well-known/openid-configuration":
		return []byte(`{"issuer":"` + issuerURL + `","jwks_uri":"` + issuerURL + `/keys"}`), nil
	case issuerURL + "/keys":
		set := struct {
			Keys []any `json:"keys"`
		}{Keys: []any{map[string]string{"kty": "new", "kid": "what nobody knows yet"}}}
		a.mu.Lock()
		defer a.mu.Unlock()
		for name, k := range a.keys {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Public(), KeyID: name, Use: "sig", Algorithm: "ES256"})
		}
		return json.Marshal(set)
	}
	return nil, errors.New("not found")
}

// sign makes a token.
func (a *authority) sign(key string, claims map[string]any) string {
	a.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: a.keys[key], KeyID: key}}, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	text, _ := json.Marshal(claims)
	signed, err := signer.Sign(text)
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

func claims(more map[string]any) map[string]any {
	out := map[string]any{"iss": issuerURL, "aud": []string{"gateway", "other"}, "sub": "ada", "team": "core", "models": []string{"fast", "huge"}, "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(out, more)
	for k, v := range out {
		if v == nil {
			delete(out, k)
		}
	}
	return out
}

func trusting(fetch Fetch) *Book {
	b := NewBook()
	b.Trust([]Issuer{{
		Name: "sso", URL: issuerURL, Audience: "gateway", NameClaim: "sub", TeamClaim: "team", ModelsClaim: "models", Require: map[string]string{"aud": "other"},
		Allow: Principal{Models: []string{"fast", "slow"}, Routes: []string{"chat"}, Labels: map[string]string{"by": "token"}},
	}}, fetch)
	b.Configure(nil, []Team{{Name: "core", Policies: []string{"eu"}}})
	return b
}

// present takes a token the way that a request does.
func present(b *Book, token string) (*Principal, Verdict) {
	who, v := b.Find(token, time.Now())
	if v == Token {
		return b.Verify(context.Background(), token, time.Now())
	}
	return who, v
}

func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, stranger := newAuthority(t, "k1", "k2"), newAuthority(t, "k1")
		b := trusting(a.fetch)
		who, v := present(b, a.sign("k1", claims(nil)))
		if v != Welcome || who.Name != "sso:ada" || who.Team != "core" || strings.Join(who.Models, ",") != "fast" || strings.Join(who.Bound(), ",") != "eu" ||
			!who.MayTake(Chat) || who.MayTake(Models) || who.Ticket(upload1) != "" || who.Labels["by"] != "token" {
			t.Fatalf("%v %+v", v, who)
		}
		asked := a.asked.Load()
		good := a.sign("k2", claims(nil))
		head, rest, _ := strings.Cut(good, ".")
		payload, mark, _ := strings.Cut(rest, ".")
		none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
		hmacHead := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","kid":"k1"}`))
		other, _, _ := strings.Cut(strings.TrimPrefix(a.sign("k2", claims(map[string]any{"sub": "eve"})), head+"."), ".")
		for name, tt := range map[string]struct {
			token string
			want  Verdict
		}{
			"another key of the issuer":  {good, Welcome},
			"a stranger's signature":     {stranger.sign("k1", claims(nil)), Unknown},
			"another payload":            {head + "." + other + "." + mark, Unknown},
			"no signature":               {none + "." + payload + ".", Unknown},
			"a shared secret":            {hmacHead + "." + payload + "." + mark, Unknown},
			"cut off":                    {good[:len(good)-2], Unknown},
			"another issuer":             {a.sign("k1", claims(map[string]any{"iss": "https://evil.example.com"})), Unknown},
			"no issuer":                  {a.sign("k1", claims(map[string]any{"iss": nil})), Unknown},
			"another audience":           {a.sign("k1", claims(map[string]any{"aud": "other"})), Unknown},
			"without what is required":   {a.sign("k1", claims(map[string]any{"aud": "gateway"})), Unfit},
			"expired":                    {a.sign("k1", claims(map[string]any{"exp": time.Now().Add(-time.Second).Unix()})), Expired},
			"without an end":             {a.sign("k1", claims(map[string]any{"exp": nil})), Expired},
			"not yet good":               {a.sign("k1", claims(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})), Unknown},
			"without a name":             {a.sign("k1", claims(map[string]any{"sub": nil})), Unfit},
			"a name that is no text":     {a.sign("k1", claims(map[string]any{"sub": 7})), Unknown},
			"a name with a line break":   {a.sign("k1", claims(map[string]any{"sub": "a\nb"})), Unfit},
			"a name that is too long":    {a.sign("k1", claims(map[string]any{"sub": strings.Repeat("x", 200)})), Unfit},
			"without a team":             {a.sign("k1", claims(map[string]any{"team": nil})), Unfit},
			"without models":             {a.sign("k1", claims(map[string]any{"models": nil})), Unfit},
			"with models it may not use": {a.sign("k1", claims(map[string]any{"models": "huge"})), Unfit},
			"too long":                   {a.sign("k1", claims(map[string]any{"x": strings.Repeat("y", maxToken)})), Unknown},
		} {
			if who, v := present(b, tt.token); v != tt.want || (v == Welcome) != (who != nil) {
				t.Errorf("%s: %v, want %v", name, v, tt.want)
			}
		}
		if n := a.asked.Load(); n > asked+2 {
			t.Errorf("the issuer was asked %d times for keys that it does not have", n-asked)
		}
		// A token that was good is refused at its end, though its signature was looked at before.
		short := a.sign("k1", claims(map[string]any{"exp": time.Now().Add(time.Minute).Unix()}))
		end := time.Now().Add(time.Minute)
		if _, v := present(b, short); v != Welcome {
			t.Errorf("%v", v)
		}
		time.Sleep(time.Until(end))
		if _, v := present(b, short); v != Expired {
			t.Errorf("at its end: %v", v)
		}
	})
}

// No request waits for an issuer longer than two seconds, and one that is away is not asked again by each.
func TestIssuerThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, "k1")
		b := trusting(a.fetch)
		token := a.sign("k1", claims(nil))
		a.slow.Store(int64(time.Hour))
		began := time.Now()
		if _, v := present(b, token); v != Unread {
			t.Errorf("%v", v)
		}
		if waited := time.Since(began); waited != issuerWait {
			t.Errorf("it waited %s", waited)
		}
		time.Sleep(fetchBound) // its end
		a.slow.Store(0)
		a.away.Store(true)
		asked := a.asked.Load()
		for range 1000 {
			if _, v := present(b, token); v != Unread {
				t.Errorf("%v", v)
			}
		}
		if n := a.asked.Load() - asked; n > 1 {
			t.Errorf("it was asked %d times by a thousand requests", n)
		}
		a.away.Store(false)
		time.Sleep(keysPause)
		if _, v := present(b, token); v != Welcome {
			t.Errorf("when it is back: %v", v)
		}
		// Its keys are good while it is away, for a day.
		a.away.Store(true)
		later := func() Verdict {
			_, v := present(b, a.sign("k1", claims(map[string]any{"jti": time.Now().String()})))
			return v
		}
		time.Sleep(keysStale - time.Minute)
		if v := later(); v != Welcome {
			t.Errorf("a minute before they are stale: %v", v)
		}
		time.Sleep(time.Minute)
		if v := later(); v != Unread {
			t.Errorf("stale: %v", v)
		}
		time.Sleep(fetchBound)
	})
}

// A new key of the issuer is heard of when a token names it, and one that is withdrawn when keys are read anew.
func TestIssuerChangesItsKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, "old")
		b := trusting(a.fetch)
		before := a.sign("old", claims(map[string]any{"exp": time.Now().Add(24 * time.Hour).Unix()}))
		if _, v := present(b, before); v != Welcome {
			t.Fatal(v)
		}
		time.Sleep(time.Minute)
		next := newAuthority(t, "new")
		a.mu.Lock()
		a.keys["new"] = next.keys["new"]
		a.mu.Unlock()
		if _, v := present(b, a.sign("new", claims(nil))); v != Welcome {
			t.Errorf("the new one: %v", v)
		}
		forged := a.sign("old", claims(nil))
		a.mu.Lock()
		delete(a.keys, "old")
		a.mu.Unlock()
		time.Sleep(keysFresh + time.Second)
		_, _ = present(b, a.sign("new", claims(nil))) // beside it they are read
		synctest.Wait()
		if _, v := present(b, forged); v != Unknown {
			t.Errorf("one that is withdrawn: %v", v)
		}
		// A reload keeps the keys, and takes what bearers may from the config.
		asked := a.asked.Load()
		b.Trust([]Issuer{{Name: "sso", URL: issuerURL, Audience: "gateway", NameClaim: "sub"}}, a.fetch)
		b.Configure(nil, nil)
		if who, v := present(b, a.sign("new", claims(nil))); v != Welcome || who.Picky() || who.Team != "" || a.asked.Load() != asked {
			t.Errorf("after a reload: %v %+v", v, who)
		}
		b.Trust(nil, nil)
		b.Configure(nil, nil)
		if _, v := present(b, a.sign("new", claims(nil))); v != Unknown {
			t.Errorf("after one without issuers: %v", v)
		}
		time.Sleep(fetchBound)
	})
}

func TestDiscoveryIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"another issuer's":    `{"issuer":"https://evil.example.com","jwks_uri":"` + issuerURL + `/keys"}`,
		"keys in the clear":   `{"issuer":"` + issuerURL + `","jwks_uri":"http://login.example.com/keys"}`,
		"keys in a file":      `{"issuer":"` + issuerURL + `","jwks_uri":"file:///etc/passwd"}`,
		"no keys":             `{"issuer":"` + issuerURL + `"}`,
		"what is no document": `<html>`,
	} {
		s := &keySet{issuer: issuerURL, fetch: func(_ context.Context, url string) ([]byte, error) {
			if strings.HasSuffix(url, "/keys") {
				t.Errorf("%s: the keys are read", name)
			}
			return []byte(doc), nil
		}}
		if _, err := s.get(t.Context()); err == nil {
			t.Errorf("%s is believed", name)
		}
	}
}

func FuzzToken(f *testing.F) {
	a := newAuthority(f, "k1")
	b := trusting(a.fetch)
	f.Add("eyJ.e30.")
	f.Add(a.sign("k1", claims(map[string]any{"sub": nil})))
	f.Fuzz(func(t *testing.T, token string) {
		if who, v := present(b, token); v == Welcome {
			t.Errorf("%q is let in as %v", token, who)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	a := newAuthority(b, "k1")
	book := trusting(a.fetch)
	token := a.sign("k1", claims(nil))
	present(book, token)
	b.ReportAllocs()
	for b.Loop() {
		present(book, token)
	}
}

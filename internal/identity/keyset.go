package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysFresh is how old keys may become before they are read anew, beside requests; keysStale how old they may become where that fails: a key
	// that its issuer has withdrawn is not trusted for ever.
	keysFresh, keysStale = 15 * time.Minute, 24 * time.Hour
	// keysOld is how old they are when a request waits for newer ones: nobody asked meanwhile, and one of them may be withdrawn. With looksGood it is half an hour.
	keysOld = 25 * time.Minute
	// keysPause is how long an issuer is left alone, whatever keys tokens name.
	keysPause = 10 * time.Second
	// fetchBound is how long reading its keys may take; that of a request is shorter.
	fetchBound = 10 * time.Second
	maxJWKS    = 64 // keys of one issuer
)

// signatures are the ways of signing that are taken: all of them by a pair of keys, one half of which the issuer alone has.
var signatures = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

func signatureNames() (out []string) {
	for _, s := range signatures {
		out = append(out, string(s))
	}
	return out
}

// keySet is the public keys of an issuer, as far as they were read. Safe for concurrent use.
type keySet struct {
	issuer, address string
	fetch           Fetch

	keys atomic.Pointer[readKeys] // nil: none were read

	mu      sync.Mutex // guards what follows
	tried   time.Time
	failed  time.Time     // when the last one failed; zero: it did not
	reading chan struct{} // closed when it ends; nil: none is under way
}

type readKeys struct {
	keys []jose.JSONWebKey
	at   time.Time
}

var errUnsigned = errors.New("none of the issuer's keys signed it")

// known says whether any keys are trusted.
func (s *keySet) known() bool {
	k := s.keys.Load()
	return k != nil && time.Since(k.at) < keysStale
}

// VerifySignature implements oidc.KeySet.
func (s *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, signatures)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errUnsigned
	}
	payload, good := s.check(signed)
	if good {
		switch age := time.Since(s.keys.Load().at); {
		case age <= keysFresh:
			return payload, nil
		case age <= keysOld, s.fails():
			s.read()
			return payload, nil
		}
	}
	select { // the issuer may have others by now
	case <-s.read():
	case <-ctx.Done():
		if good {
			return payload, nil // an issuer that is away keeps nobody out for a day
		}
		return nil, ctx.Err()
	}
	if payload, good = s.check(signed); good {
		return payload, nil
	}
	return nil, errUnsigned
}

// fails says whether the keys could not be read a moment ago: then nobody waits for them.
func (s *keySet) fails() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.failed.IsZero() && time.Since(s.failed) < keysFresh
}

// check tries the key that a token names, or all if it names none.
func (s *keySet) check(signed *jose.JSONWebSignature) ([]byte, bool) {
	if !s.known() {
		return nil, false
	}
	name := signed.Signatures[0].Header.KeyID
	for i := range s.keys.Load().keys {
		k := &s.keys.Load().keys[i]
		if name != "" && k.KeyID != name {
			continue
		}
		if payload, err := signed.Verify(k); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// read has the keys read anew, unless that was tried a moment ago, and gives what is closed when it ends. Requests share it.
func (s *keySet) read() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reading != nil:
		return s.reading
	case !s.tried.IsZero() && time.Since(s.tried) < keysPause:
		none := make(chan struct{})
		close(none)
		return none
	}
	s.tried = time.Now()
	done := make(chan struct{})
	s.reading = done
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), fetchBound)
		defer cancel()
		keys, err := s.get(ctx)
		if err == nil {
			s.keys.Store(&readKeys{keys, time.Now()})
		}
		s.mu.Lock()
		if s.failed = (time.Time{}); err != nil {
			s.failed = time.Now()
		}
		s.reading = nil
		s.mu.Unlock()
		close(done)
	}()
	return done
}

// get reads the keys of the issuer.
func (s *keySet) get(ctx context.Context) ([]jose.JSONWebKey, error) {
	address := s.address
	if address == "" {
		text, err := s.fetch(ctx, strings.TrimSuffix(s.issuer, "/")+"/.well-known/openid-configuration")
		if err != nil {
			return nil, err
		}
		var doc struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, err
		}
		if doc.Issuer != s.issuer {
			return nil, fmt.Errorf("the discovery document is of %q", doc.Issuer)
		}
		if !sameSafety(s.issuer, doc.Keys) {
			return nil, fmt.Errorf("the discovery document names keys at %q, which is not below https://", doc.Keys)
		}
		address = doc.Keys
	}
	text, err := s.fetch(ctx, address)
	if err != nil {
		return nil, err
	}
	// One key that is not understood leaves the others.
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys[:min(len(set.Keys), maxJWKS)] {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil && k.Valid() && k.IsPublic() && (k.Use == "" || k.Use == "sig") {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no public key for signatures")
	}
	return keys, nil
}

// sameSafety says whether keys are read from a place that is no easier to forge than the issuer's own.
func sameSafety(issuer, keys string) bool {
	from, err := url.Parse(issuer)
	to, wrong := url.Parse(keys)
	return err == nil && wrong == nil && to.Host != "" && (to.Scheme == "https" || to.Scheme == from.Scheme && to.Host == from.Host)
}

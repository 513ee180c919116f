package identity

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A token is never taken without what its team is held to: neither before the first configuration is whole, nor while another one comes.
func TestNoTokenBeforeItsTeams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, "k1")
		issuers := []Issuer{{Name: "sso", URL: issuerURL, Audience: "gateway", NameClaim: "sub", TeamClaim: "team"}}
		teams := []Team{{Name: "core", Models: []string{"fast"}}}
		b := NewBook()
		token := a.sign("k1", claims(nil))
		for range 2 { // the start, and a reload
			b.Trust(issuers, a.fetch)
			if who, v := present(b, token); v == Welcome && who.MayUse("huge") {
				t.Error("a token of a team was taken without the team's models")
			}
			b.Configure(nil, teams)
			if who, v := present(b, token); v != Welcome || who.MayUse("huge") {
				t.Errorf("%v %v", who, v)
			}
		}
		b.Trust(nil, nil)
		b.Configure(nil, teams)
		if _, v := present(b, token); v != Unknown {
			t.Errorf("a token of an issuer that is not trusted any more: %v", v)
		}
	})
}

// A token that was good ends with the key that signed it, however long it says it lasts.
func TestWithdrawnKeyEndsTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, "k1", "k2")
		b := trusting(a.fetch)
		long := claims(map[string]any{"exp": time.Now().Add(1000 * time.Hour).Unix()})
		old, other := a.sign("k1", long), a.sign("k2", long)
		use := func() (Verdict, Verdict) {
			_, x := present(b, old)
			_, y := present(b, other)
			synctest.Wait() // for keys that are read beside
			return x, y
		}
		if x, y := use(); x != Welcome || y != Welcome {
			t.Fatal(x, y)
		}
		a.mu.Lock()
		delete(a.keys, "k1")
		a.mu.Unlock()
		for range 30 {
			time.Sleep(time.Minute)
			use()
		}
		if x, y := use(); x != Unknown || y != Welcome {
			t.Errorf("half an hour after its key was withdrawn: %v; of the key that stays: %v", x, y)
		}
		a.away.Store(true)
		for range 25 {
			time.Sleep(time.Hour)
			use()
		}
		if _, y := use(); y != Unread {
			t.Errorf("a day after its issuer's keys could last be read: %v", y)
		}
	})
}

// A reload, a change and a rotation leave tickets good all the while.
func TestTicketsDuringChanges(t *testing.T) {
	t.Parallel()
	b := NewBook()
	now := time.Now()
	own := []Own{{Principal{Name: "own"}, "text"}}
	b.Configure(own, nil)
	r, _ := newRecord(Principal{Name: "made"}, "ops", now)
	b.Hear(r)
	tickets := []string{b.Named("own").Ticket(upload1), b.Named("made").Ticket(upload1)}
	stop, missed := make(chan struct{}), make([]int, 2)
	var wg sync.WaitGroup
	for i, ticket := range tickets {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if b.Holder(ticket, upload1, now) == nil {
					missed[i]++
				}
			}
		})
	}
	for range 500 {
		b.Configure(own, nil)
		r = r.changed(r.Principal, "ops", "", now)
		b.Hear(r)
	}
	close(stop)
	wg.Wait()
	if missed[0]+missed[1] > 0 {
		t.Errorf("tickets were not known: %v", missed)
	}
	b.Configure(nil, nil)
	b.Hear(r.revoked("ops", "", now))
	for i, ticket := range tickets {
		if b.Holder(ticket, upload1, now) != nil {
			t.Errorf("ticket %d outlives its key", i)
		}
	}
}

// Also where nobody asked for hours, a key that was withdrawn meanwhile lets nobody in. An issuer that is mute then keeps requests for two seconds, and only until it is known to be.
func TestWithdrawnKeyAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, "k1", "k2")
		b := trusting(a.fetch)
		token := func(key, id string) string {
			return a.sign(key, claims(map[string]any{"exp": time.Now().Add(1000 * time.Hour).Unix(), "jti": id}))
		}
		old, other := token("k1", "1"), token("k2", "2")
		for _, tt := range []string{old, other} {
			if _, v := present(b, tt); v != Welcome {
				t.Fatal(v)
			}
		}
		a.mu.Lock()
		delete(a.keys, "k1")
		a.mu.Unlock()
		time.Sleep(3 * time.Hour)
		if _, v := present(b, old); v != Unknown {
			t.Errorf("hours after its key was withdrawn: %v", v)
		}
		if _, v := present(b, other); v != Welcome {
			t.Errorf("of the key that stays: %v", v)
		}
		a.slow.Store(int64(time.Hour))
		time.Sleep(3 * time.Hour)
		waits := func(token string) time.Duration {
			began := time.Now()
			if _, v := present(b, token); v != Welcome {
				t.Errorf("while its issuer is mute: %v", v)
			}
			return time.Since(began)
		}
		fresh := []string{token("k2", "3"), token("k2", "4")}
		if d := waits(fresh[0]); d != issuerWait {
			t.Errorf("the first waits for %s", d)
		}
		time.Sleep(fetchBound)
		if d := waits(fresh[1]); d != 0 {
			t.Errorf("one after it is known to be mute waits for %s", d)
		}
		time.Sleep(fetchBound)
	})
}

package provider

import "time"

// TokenView is the breaker of one credential's refresh (R32) at a moment, for status pages. It never shows the token.
type TokenView struct {
	// State is closed, open (no fetch begins before RetryAt) or half_open (the next request fetches).
	State    string
	Failures int // fetches in a row that failed
	RetryAt  time.Time
}

// View copies the breaker's state as of now.
func (t *Tokens) View(now time.Time) TokenView {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.failures == 0:
		return TokenView{State: "closed"}
	case now.Before(t.askAfter):
		return TokenView{State: "open", Failures: t.failures, RetryAt: t.askAfter}
	}
	return TokenView{State: "half_open", Failures: t.failures}
}

// Refused says that the provider refused this token although it had not ended: it is not used again, and the next Get
// gives another, which is what true means. A token that was replaced in the meantime is no matter, so that many refusals
// of one cause one fetch. Within 30 s of the last fetch of this kind the token is kept, since it is not what is wrong: a
// provider that refuses every token must not have its token endpoint asked by every request.
func (t *Tokens) Refused(token Secret) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token.Value != token {
		return true
	}
	now := time.Now()
	if !t.forced.IsZero() && now.Before(t.forced.Add(forceGap)) {
		return false
	}
	t.token, t.forced = Token{}, now
	return true
}

package ingress

import (
	"sync"
	"time"

	"evergate/internal/identity"
)

// lookAgain is how often it is looked whether a caller may go on with a connection that lasts.
const lookAgain = time.Second

// welcome looks at the key of a WebSocket's caller from time to time: it may last for days, in which nobody asks for a key again.
type welcome struct {
	x        *exchange
	provider string
	key      string
	over     func()

	// what was found good last; of the timer's goroutine
	cfg *Config
	who *identity.Principal

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	ended bool
}

// whileWelcome has over called when the caller's key was revoked, has ended or was replaced, or may not do any more what it does here. The looking ends
// with that, or by stop.
func (x *exchange) whileWelcome(provider string, over func()) (stop func()) {
	if x.who == nil {
		return func() {}
	}
	key, _ := keyOf(x.r.Header, x.r.URL.Query().Get("key"))
	w := &welcome{x: x, provider: provider, key: key, over: over, cfg: x.cfg, who: x.who}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(lookAgain, w.look)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended = true
		w.timer.Stop()
	}
}

func (w *welcome) look() {
	good := w.good()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended:
	case good:
		w.timer.Reset(lookAgain)
	default:
		w.ended = true
		w.over()
	}
}

// good says whether a request such as the one that the connection began with would be let in now.
func (w *welcome) good() bool {
	cfg, now := w.x.h.config.Load(), time.Now()
	if cfg.Callers == nil {
		return true
	}
	who, verdict := cfg.Callers.Find(w.key, now)
	if verdict == identity.Token {
		who, verdict = cfg.Callers.Verify(w.x.r.Context(), w.key, now)
	}
	switch {
	case verdict == identity.Unread: // nobody knows
		return true
	case verdict != identity.Welcome:
		return false
	case who == w.who && cfg == w.cfg:
		return true
	}
	x := &exchange{h: w.x.h, cfg: cfg, r: w.x.r, start: now, who: who, key: who.Name, taken: w.x.taken, dialect: w.x.dialect, wishes: w.x.wishes}
	if x.key != w.x.key || x.mayCome() != nil || x.mayPass() != nil || x.mayPassUnseen() != nil {
		return false
	}
	if cfg.Providers[w.provider] != nil && x.allowed(w.provider) != nil {
		return false
	}
	w.cfg, w.who = cfg, who
	return true
}

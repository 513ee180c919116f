package resilience

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/fault"
)

// The twin of cooldowns and lockouts: it remembers every result and works out the blocks by walking through them. It
// shares no code with the machine, and knows credentials by name alone.

type lockFact struct {
	key    string    // credential, "/model" or "credential/model"
	what   string    // set (raises the level), again (set by a late named reset), out (moved out), lent (others set it), pass
	at     time.Time // of pass: when the attempt began
	until  time.Time
	named  bool
	reason Reason
}

type lockAttempt struct {
	permit      Permit
	name, model string
	at          int // facts before it was admitted
	began       time.Time
	early       bool
	deadline    time.Time
}

type lockTwin struct {
	s     Settings
	facts []lockFact
}

// own is the block that was set here since the last success (R62); zero: none.
func (w *lockTwin) own(key string) (latest lockFact) {
	facts, _ := w.story(key)
	for _, f := range facts {
		if f.what != "lent" && f.until.After(latest.until) {
			latest = f
		}
	}
	return latest
}

// hear takes a row of another instance (R62).
func (w *lockTwin) hear(now time.Time, key string, r Row) {
	var lent lockFact
	known := !strings.Contains(key, "/") // of a model that was never locked no success is remembered
	for _, f := range w.facts {
		switch {
		case f.key != key:
		case f.what != "pass":
			known = true
			if f.what == "lent" {
				lent = f
			}
		case known:
			lent = lockFact{}
			if !r.Since.After(f.at) {
				return
			}
		}
	}
	later := r.Until.After(lent.until) || r.Until.Equal(lent.until) && (r.Named && !lent.named || r.Named == lent.named && r.Reason > lent.reason)
	if r.Until.After(now) && later {
		w.facts = append(w.facts, lockFact{key: key, what: "lent", until: r.Until, named: r.Named, reason: r.Reason})
	}
}

// story is what happened to a key since its last success, and its level.
func (w *lockTwin) story(key string) (facts []lockFact, level int) {
	for _, f := range w.facts {
		switch {
		case f.key != key:
		case f.what == "pass":
			facts, level = nil, 0
		default:
			facts = append(facts, f)
			if f.what == "set" {
				level++
			}
		}
	}
	return facts, level
}

// block is the latest end anyone set since the last success; of equal ones that which was set here.
func (w *lockTwin) block(key string) (latest lockFact, level int) {
	facts, level := w.story(key)
	var lent lockFact
	for _, f := range facts {
		switch {
		case f.what == "lent":
			lent = f
		case f.until.After(latest.until):
			latest = f
		}
	}
	if lent.until.After(latest.until) {
		return lent, level
	}
	return latest, level
}

// younger says whether the attempt was admitted after the key's block was set (R42).
func (w *lockTwin) younger(key string, a *lockAttempt) bool {
	for i, f := range w.facts {
		if f.key == key && (f.what == "set" || f.what == "again" || f.what == "lent") && i >= a.at {
			return false
		}
	}
	return true
}

func (w *lockTwin) fail(now time.Time, key string, a *lockAttempt, d time.Duration, named bool, reason Reason) {
	if d == 0 {
		return
	}
	f := lockFact{key: key, what: "set", until: now.Add(d), named: named, reason: reason}
	if !w.younger(key, a) {
		latest := w.own(key)
		running, _ := w.block(key)
		switch {
		case !named || !f.until.After(latest.until):
			return
		case running.until.After(now):
			f.what = "out"
		default:
			f.what = "again"
		}
	}
	w.facts = append(w.facts, f)
}

func (w *lockTwin) settle(now time.Time, a *lockAttempt, o Outcome, present bool) {
	model, both := "/"+a.model, a.name+"/"+a.model
	_, level := w.block(a.name)
	doubled := func(d, most time.Duration, level int) time.Duration {
		for range level {
			d = min(2*d, most)
		}
		return min(d, most)
	}
	c := w.s.CredentialCooldown
	switch {
	case o.Success:
		for _, key := range []string{a.name, model, both} {
			if w.younger(key, a) && (present || key == model) {
				w.facts = append(w.facts, lockFact{key: key, what: "pass", at: a.began})
			}
		}
	case o.Class == fault.ModelMissing:
		_, level := w.block(model)
		w.fail(now, model, a, doubled(w.s.ModelLockout.Base, w.s.ModelLockout.Max, level), false, ModelNotFound)
	case !present:
	case o.Class == fault.ModelLimited:
		_, level := w.block(both)
		d := doubled(w.s.ModelLockout.Base, w.s.ModelLockout.Max, level)
		if o.Wait.Named {
			d = min(o.Wait.For, w.s.ModelLockout.Max)
		}
		w.fail(now, both, a, d, o.Wait.Named, ModelLimited)
	case o.Class == fault.RateLimited && o.Wait.Named:
		w.fail(now, a.name, a, min(o.Wait.For, c.Max), true, RateLimited)
	case o.Class == fault.RateLimited:
		w.fail(now, a.name, a, doubled(c.Base, c.Max, level), false, RateLimited)
	case o.Class == fault.Auth:
		w.fail(now, a.name, a, doubled(c.AuthBase, time.Hour, level), false, AuthFailed)
	case o.Class == fault.Quota:
		w.fail(now, a.name, a, c.QuotaBase, false, QuotaExhausted)
	}
}

// survey is the widest block, and whether any end was named.
func (w *lockTwin) survey(now time.Time, name, model string) (widest Block, named bool) {
	for i, key := range []string{name, "/" + model, name + "/" + model} {
		f, _ := w.block(key)
		if !f.until.After(now) {
			continue
		}
		named = named || f.named
		if !widest.Blocked() {
			widest = Block{Guard: ModelLockoutGuard, Reason: f.reason, Until: f.until, Named: f.named}
			if i == 0 {
				widest.Guard = CredentialCooldownGuard
			}
		}
	}
	return widest, named
}

// R41-R43, R45, R51, R62: cooldowns and lockouts agree with their twin after every step of any history, across reloads that
// move, drop and bring back credentials.
func TestLockoutsAgreeWithTheirTwin(t *testing.T) {
	seen := make(map[string]int)
	for range 4 { // times rapid's 100 histories
		rapid.Check(t, func(t *rapid.T) { lockoutHistory(t, seen) })
	}
	for _, what := range []string{"set", "again", "out", "lent", "pass", "early refused", "late success", "credential went away", "rows"} {
		if seen[what] == 0 {
			t.Errorf("no history had: %s", what)
		}
	}
}

func lockoutHistory(t *rapid.T, seen map[string]int) {
	s := Defaults()
	s.Breaker.FailureThreshold = 0
	s.CredentialCooldown = CredentialCooldown{Base: time.Second, Max: 20 * time.Second, AuthBase: 10 * time.Second, QuotaBase: 40 * time.Second}
	s.ModelLockout = ModelLockout{Base: 5 * time.Second, Max: 30 * time.Second}
	names, models := []string{"a", "b", "c"}, []string{"m", "x"}
	present := slices.Clone(names)
	m, twin, now := New(s, RoundRobin, pool(present...)), &lockTwin{s: s}, epoch
	var live []*lockAttempt
	// What was admitted for a credential that went away moves nothing of one that has its name later.
	stale := make(map[*lockAttempt]bool)

	earlyHeld := func(name string) bool {
		return slices.ContainsFunc(live, func(a *lockAttempt) bool {
			return a.early && a.name == name && !stale[a] && now.Before(a.deadline)
		})
	}
	want := func(name, model string) Block {
		b, named := twin.survey(now, name, model)
		b.Early = named && earlyHeld(name)
		return b
	}
	compare := func(what string) {
		t.Helper()
		v, _ := m.View(now, nil)
		for i, name := range present {
			for _, model := range models {
				got, eff := m.Check(now, i, model, nil)
				if w := want(name, model); got != w || eff != nil {
					t.Fatalf("%v, after %s: %s %s is %+v, want %+v", now.Sub(epoch), what, name, model, got, w)
				}
			}
			if _, level := twin.block(name); v.Credentials[i].Level != level {
				t.Fatalf("after %s: %s has level %d, want %d", what, name, v.Credentials[i].Level, level)
			}
		}
	}
	outcomes := []Outcome{
		good, good, of(fault.RateLimited), of(fault.RateLimited), of(fault.Auth), of(fault.Quota), of(fault.ModelMissing), of(fault.ModelLimited),
		named(fault.RateLimited, 0), named(fault.RateLimited, 3*time.Second), named(fault.RateLimited, 10*time.Second),
		named(fault.RateLimited, time.Minute), named(fault.ModelLimited, 12*time.Second), bad, of(fault.Rejected), of(fault.ClientGone),
	}
	steps := []string{"admit", "admit", "admit", "force", "force", "settle", "settle", "settle", "settle", "pass", "pass", "reload", "absorb"}
	for range rapid.IntRange(30, 250).Draw(t, "steps") {
		step := rapid.SampledFrom(steps).Draw(t, "step")
		switch step {
		case "pass":
			now = now.Add(rapid.SampledFrom([]time.Duration{1, 2, 5, 10, 30, 60}).Draw(t, "seconds") * time.Second)
		case "admit", "force":
			i := rapid.IntRange(0, len(present)-1).Draw(t, "credential")
			a := &lockAttempt{name: present[i], model: rapid.SampledFrom(models).Draw(t, "model"), at: len(twin.facts), began: now}
			a.deadline = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "deadline")) * time.Second)
			_, namedEnd := twin.survey(now, a.name, a.model)
			w := want(a.name, a.model)
			p, b, _ := m.Admit(now, i, a.model, a.deadline, step == "force", nil)
			switch {
			case step == "admit" && b != w:
				t.Fatalf("admission says %+v, want %+v", b, w)
			case step == "force" && b.Blocked() != w.Early:
				t.Fatalf("forced admission says %+v, want %+v", b, w)
			}
			if b.Early {
				seen["early refused"]++
			}
			if !b.Blocked() {
				a.permit, a.early = p, step == "force" && namedEnd
				live = append(live, a)
			}
		case "settle":
			if len(live) == 0 {
				continue
			}
			i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
			a, o := live[i], rapid.SampledFrom(outcomes).Draw(t, "outcome")
			live = slices.Delete(live, i, i+1)
			here := slices.Contains(present, a.name) && !stale[a]
			if o.Success && !twin.younger(a.name, a) {
				seen["late success"]++
			}
			if !here {
				seen["credential went away"]++
			}
			twin.settle(now, a, o, here)
			m.Settle(now, a.permit, o, 0.5, nil)
			// R41: never shorter than the upstream named, but for the cap.
			if o.Wait.Named && o.Wait.For > 0 && o.Class == fault.RateLimited && here {
				b, _ := m.Check(now, slices.Index(present, a.name), a.model, nil)
				if b.Until.Before(now.Add(min(o.Wait.For, s.CredentialCooldown.Max))) {
					t.Fatalf("blocked for %v, named %v", b.Until.Sub(now), o.Wait.For)
				}
			}
		case "reload":
			kept := rapid.Permutation(names).Draw(t, "order")[:rapid.IntRange(1, 3).Draw(t, "kept")]
			for _, name := range present {
				if !slices.Contains(kept, name) { // it starts anew when it comes back
					for i := range twin.facts {
						if f := &twin.facts[i]; f.key == name || f.key == name+"/m" || f.key == name+"/x" {
							f.key = "gone"
						}
					}
					for _, a := range live {
						if a.name == name {
							stale[a] = true
						}
					}
				}
			}
			present = kept
			m.Configure(s, RoundRobin, pool(present...))
		case "absorb":
			name, model := rapid.SampledFrom(append(names, "")).Draw(t, "of"), rapid.SampledFrom(models).Draw(t, "model")
			r := Row{Guard: ModelLockoutGuard, Credential: name, Model: model, Reason: AuthFailed, Named: rapid.Bool().Draw(t, "named")}
			key := name + "/" + model
			if name != "" && rapid.Bool().Draw(t, "cooldown") {
				r.Guard, r.Model, key = CredentialCooldownGuard, "", name
			}
			r.Since = now.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "since")) * time.Second)
			r.Until = r.Since.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "length")) * time.Second)
			m.Absorb(now, []Row{r, r}, nil)
			if name == "" || slices.Contains(present, name) {
				twin.hear(now, key, r)
			}
			for _, r := range m.Rows(now, nil) { // it tells of what it saw itself alone
				key := r.Credential
				if r.Guard == ModelLockoutGuard {
					key += "/" + r.Model
				}
				own := twin.own(key)
				if !r.Until.Equal(own.until) || r.Named != own.named || r.Reason != own.reason || r.Since.After(now) {
					t.Fatalf("row %+v, want %+v", r, own)
				}
				seen["rows"]++
			}
		}
		compare(step)
	}
	for _, f := range twin.facts {
		seen[f.what]++
	}
}

package resilience

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"

	"evergate/internal/fault"
)

// Other people's breakers are asked where their rules are the same: failures in a row, a timeout, and as many probes at a
// time as have to succeed. They read the clock themselves, so that all of it runs in virtual time. Their timeouts end at
// another nanosecond than ours; here no moment falls on it.
const oracleTimeout = 30*time.Second - 1

// oracle is another breaker. ask says whether it admits an attempt, and gives the function that takes its result.
type oracle interface {
	ask() (settle func(Outcome), ok bool)
}

// beside drives a machine and an oracle through one history.
func beside(t *testing.T, seed uint64, probes int, other oracle, outcomes ...Outcome) (opened int) {
	s := Defaults()
	s.Cooldown.Failures, s.CredentialCooldown.Base, s.ModelLockout.Base = 0, 0, 0
	s.Breaker = Breaker{FailureThreshold: 3, SuccessThreshold: probes, Timeout: oracleTimeout, HalfOpenMaxProbes: probes}
	m, roll := New(s, RoundRobin, nil), cheapDice(seed)
	type attempt struct {
		p      Permit
		settle func(Outcome)
	}
	var live []attempt
	settle := func(i int, o Outcome) {
		a := live[i]
		live = slices.Delete(live, i, i+1)
		m.Settle(time.Now(), a.p, o, 0, nil)
		a.settle(o)
	}
	for step := range 300 {
		switch roll("step", 5) {
		case 0:
			time.Sleep(time.Duration(1+roll("seconds", 20)) * time.Second)
		case 1, 2:
			p, b, _ := m.Admit(time.Now(), 0, "m", time.Now().Add(time.Hour), false, nil)
			done, ok := other.ask()
			if ok == b.Blocked() {
				t.Fatalf("seed %d, step %d: the other one says %v, we say %+v", seed, step, ok, b)
			}
			if ok {
				live = append(live, attempt{p, done})
			}
		default:
			if len(live) > 0 {
				settle(roll("which", len(live)), pick(roll, "outcome", outcomes...))
			}
		}
		if v, _ := m.View(time.Now(), nil); v.Breaker.State == Open {
			opened++
			// Probes of a period that is over stand in the way of the next here (R23), and not there.
			for i := len(live) - 1; i >= 0; i-- {
				if live[i].p.Probe() {
					settle(i, of(fault.ClientGone))
				}
			}
		}
	}
	return opened
}

// sony's counts generations as we do; what it excludes decides nothing.
type sony struct {
	b *gobreaker.TwoStepCircuitBreaker[any]
}

var (
	errFailed = errors.New("failed")
	errGone   = errors.New("gone")
)

func (s sony) ask() (func(Outcome), bool) {
	done, err := s.b.Allow()
	return func(o Outcome) {
		switch judge(o) {
		case passed:
			done(nil)
		case failed:
			done(errFailed)
		default:
			done(errGone)
		}
	}, err == nil
}

// R20-R24, R27: as sony/gobreaker has it.
func TestAgreesWithGobreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		for seed := range uint64(200) {
			opened += beside(t, seed, 1, sony{gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
				MaxRequests: 1, Timeout: oracleTimeout,
				ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 3 },
				IsExcluded:  func(err error) bool { return errors.Is(err, errGone) },
			})}, good, good, bad, bad, bad, of(fault.Timeout), of(fault.ClientGone))
		}
		if opened < 1000 {
			t.Errorf("open for %d steps only", opened)
		}
	})
}

// failsafe counts no generations: what is late is not told it.
type failsafe struct {
	b     circuitbreaker.CircuitBreaker[any]
	moves *int
}

func (f failsafe) ask() (func(Outcome), bool) {
	ok := f.b.TryAcquirePermit()
	mine := *f.moves
	return func(o Outcome) {
		switch {
		case mine != *f.moves:
		case judge(o) == passed:
			f.b.RecordSuccess()
		case judge(o) == failed:
			f.b.RecordFailure()
		}
	}, ok
}

// R20-R24: as failsafe-go has it, with several probes, too.
func TestAgreesWithFailsafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		for seed := range uint64(200) {
			moves := 0
			probes := 1 + int(seed%3)
			opened += beside(t, seed, probes, failsafe{circuitbreaker.NewBuilder[any]().
				WithFailureThreshold(3).WithSuccessThreshold(uint(probes)).WithDelay(oracleTimeout).
				OnStateChanged(func(circuitbreaker.StateChangedEvent) { moves++ }).Build(), &moves}, good, good, bad, bad, bad, of(fault.Timeout))
		}
		if opened < 1000 {
			t.Errorf("open for %d steps only", opened)
		}
	})
}

package resilience

import (
	"errors"
	"time"
)

// Action is what an operator does to a breaker (R31).
type Action uint8

// The actions. Reset leaves no order behind.
const (
	NoAction    Action = iota
	Reset              // closed, every count 0, no order
	ForceOpen          // nobody passes, not even R51
	ForceClosed        // everybody passes; failures are counted and shown, and open nothing
)

// String is the word of the admin API.
func (a Action) String() string {
	switch a {
	case Reset:
		return "reset"
	case ForceOpen:
		return "open"
	case ForceClosed:
		return "close"
	case NoAction:
	}
	return ""
}

// Order is an operator's word on a breaker.
type Order struct {
	Action Action
	// Model is whose breaker; empty: the provider's. Where each model has its own, the provider's word is for all of them.
	Model string
	// Until is when a forced state ends: open it goes on half-open (the provider's with PerModel: closed), closed it stays
	// closed until the next failure. Zero: until the next order.
	Until  time.Time
	Reason string
	By     string // who gave it: an address, or whose token it was
	// At is when it was given; zero: now. A reset that comes late, from elsewhere in the fleet, is of its own time: what was seen
	// after it stands.
	At time.Time
}

func (o *Order) over(now time.Time) bool { return !o.Until.IsZero() && !now.Before(o.Until) }

// given is when it was given.
func (o *Order) given(now time.Time) time.Time {
	if o.At.IsZero() || o.At.After(now) {
		return now
	}
	return o.At
}

// outlives says whether the breaker knows what is younger than a reset that comes late: it opened, or counted a failure, since.
func (b *breaker) outlives(now time.Time, o *Order) bool {
	at := o.given(now)
	return at.Before(now) && (b.own.failedAt.After(at) || b.state != Closed && b.order.Action == NoAction && b.openedAt.After(at))
}

// Orders appends the orders that are in force.
func (m *Machine) Orders(now time.Time, orders []Order) []Order {
	orders = m.breaker.standing(now, orders)
	for _, name := range m.known() {
		orders = m.models[name].standing(now, orders)
	}
	return orders
}

func (b *breaker) standing(now time.Time, orders []Order) []Order {
	if b.order.Action == NoAction || b.order.over(now) {
		return orders
	}
	return append(orders, b.order)
}

// The reasons why Operate refuses an order.
var (
	ErrOneBreaker    = errors.New("the provider has one breaker for all its models")
	ErrModelBreakers = errors.New("too many breakers of models are held by operators")
)

// Operate carries out an order. It replaces the one in force, survives Configure as long as the breaker does, and is no
// evidence that other instances hear of (R62).
func (m *Machine) Operate(now time.Time, o Order, eff []Effect) ([]Effect, error) {
	b, eff := m.look(now, o.Model, eff)
	if o.Model == "" {
		b = &m.breaker
	} else if m.settings.Breaker.Scope == PerProvider {
		return eff, ErrOneBreaker
	} else if b == nil {
		if b, eff = m.breed(now, o.Model, eff); b == nil {
			return eff, ErrModelBreakers
		}
	}
	eff = b.operate(now, o, eff)
	if o.Model == "" && o.Action == Reset { // for the breakers of models that are not made yet, too
		m.floor, m.resetAt = m.moves, o.given(now)
	}
	if o.Model == "" && o.Action != ForceOpen {
		for _, name := range m.known() {
			narrow := m.models[name]
			eff = narrow.look(now, &m.settings, eff)
			if o.Action == Reset {
				eff = narrow.operate(now, o, eff)
			} else {
				eff = narrow.obey(now, eff)
			}
		}
	}
	return eff, nil
}

func (b *breaker) operate(now time.Time, o Order, eff []Effect) []Effect {
	o.Model = b.model
	if o.Action == Reset && b.outlives(now, &o) {
		return eff
	}
	b.order = o
	switch o.Action {
	case ForceOpen:
		b.trip, b.named, b.proven = tripOperator, false, 0
		b.openedAt, b.retryAt, b.youngest = now, o.Until, now
		b.yield = yield{}
		return b.enter(Open, eff)
	case ForceClosed:
		return b.shut(now, eff)
	case Reset:
		b.failures, b.offences, b.proven = 0, 0, 0
		b.own, b.passedAt = evidence{}, o.given(now)
		b.recent.clear()
		eff = b.shut(now, eff)
		b.closedAt = b.passedAt
		b.order = Order{}
	case NoAction:
	}
	return eff
}

// obey is what an order to the provider to close means to the breaker of a model.
func (b *breaker) obey(now time.Time, eff []Effect) []Effect {
	b.order = Order{}
	if b.state == Closed {
		return eff
	}
	return b.shut(now, eff)
}

// held says whether an operator holds the provider's breaker, and with it all of them, closed.
func (m *Machine) held() bool { return m.breaker.order.Action == ForceClosed }

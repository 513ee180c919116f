package ingress

import (
	"math"
	"time"

	"evergate/internal/affinity"
	"evergate/internal/attempt"
	"evergate/internal/failover"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// stay puts the target first that served the request's conversation last, where the strategy holds targets equal (R47).
func (x *exchange) stay(r *route.Resolution) {
	if len(r.Affinity.By) == 0 || r.Fixed() {
		return
	}
	d, ok := x.dialect.(wire.Conversing)
	if !ok {
		return
	}
	x.visit = x.h.affinity.Recall(x.start, &affinity.Asked{
		Model: r.Label, Caller: x.key, Header: x.call.Header, Dialect: d, Request: &x.call.Request,
	}, &r.Affinity)
	if x.visit.Known() {
		r.Prefer(x.served)
	}
}

// served says whether a target is the one that served the conversation last.
func (x *exchange) served(t *route.Target) bool {
	return x.h.affinity.Is(&x.visit, t.Provider, t.Model)
}

// remember keeps who has answered, also where the client left before the answer was whole: the provider has read the
// conversation. It gives the word for the journal.
func (x *exchange) remember(now time.Time, res *attempt.Result) string {
	if res.Leg == nil || !res.OK && (!res.Committed || res.Final.Ending != failover.ClientLeft) {
		return ""
	}
	name := ""
	if x.h.affinity.Shared() {
		name = res.Leg.Guards.CredentialName(res.Credential)
	}
	return x.h.affinity.Answered(now, &x.visit, res.Leg.Target.Provider, res.Leg.Target.Model, res.Credential, name)
}

// near is the credential of a target that served the conversation last, as its index from 1; 0: none is known.
func (x *exchange) near(leg *attempt.Leg) uint8 {
	if !x.visit.Foreign() {
		return x.visit.Credential()
	}
	for i := range math.MaxUint8 {
		name := leg.Guards.CredentialName(i)
		if name == "" {
			break
		}
		if x.visit.Named(name) {
			return uint8(i + 1)
		}
	}
	return 0
}

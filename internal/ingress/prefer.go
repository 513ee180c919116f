package ingress

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"evergate/internal/attempt"
	"evergate/internal/prefer"
	"evergate/internal/route"
	"evergate/internal/wire"
)

const codePolicyDenied = "policy_denied"

// readPreferences finds out how the request wants to be routed, and takes what says so out of the body.
func (x *exchange) readPreferences() *wire.Failure {
	lines := x.r.Header[prefer.Header]
	if len(lines) == 0 && !x.call.Request.Prefers {
		return nil
	}
	var provider, models []byte
	var rest *attempt.Buffer
	if x.call.Request.Prefers {
		rest = attempt.GetBuffer(len(x.call.Body.B))
		rest.B, provider, models = prefer.Split(rest.B, x.call.Body.B)
	}
	wishes, err := prefer.Read(lines, provider, models, x.nameable())
	if err != nil {
		if rest != nil {
			rest.Release()
		}
		f := badRequest(err)
		return &f
	}
	if rest != nil {
		if f := x.reread(x.named(rest, wishes)); f != nil {
			return f
		}
	}
	x.wishes, x.call.Timeout = wishes, wishes.Timeout
	x.call.Strict = x.call.Strict || wishes.Strict
	return nil
}

// named gives a body that names no model the first of those that the request may go on with.
func (x *exchange) named(body *attempt.Buffer, wishes *route.Preferences) *attempt.Buffer {
	if x.inPath.found || x.call.Request.Model != "" || len(wishes.Models) == 0 {
		return body
	}
	buf := attempt.GetBuffer(len(body.B) + len(wishes.Models[0]))
	buf.B = prefer.Name(buf.B, body.B, wishes.Models[0])
	body.Release()
	wishes.Models = wishes.Models[1:]
	return buf
}

// reread goes on with another body of the same request.
func (x *exchange) reread(buf *attempt.Buffer) *wire.Failure {
	request, err := x.dialect.ReadRequest(buf.B)
	if err != nil {
		buf.Release()
		f := badRequest(err)
		return &f
	}
	if x.inPath.found {
		request.Model, request.Stream = x.inPath.model, x.inPath.stream
	}
	x.call.Body.Release()
	x.call.Body, x.call.Request = buf, request
	return nil
}

// nameable are what a request can name.
func (x *exchange) nameable() *prefer.Names {
	names := &prefer.Names{}
	for i := range x.cfg.Table.Providers {
		names.Providers = append(names.Providers, x.cfg.Table.Providers[i].Name)
	}
	for name := range x.cfg.Table.Policies {
		names.Policies = append(names.Policies, name)
	}
	slices.Sort(names.Policies)
	return names
}

// chooses says whether anything but the model and its guards has a say in where the request may go.
func (x *exchange) chooses(r *route.Resolution) bool {
	t := x.cfg.Table
	return x.wishes != nil || t.Policy != "" || t.BYOK || x.held() || t.Governs(x.call.Request.Model, r)
}

// hasFurther says whether the request names models to go on with.
func (x *exchange) hasFurther() bool { return x.wishes != nil && len(x.wishes.Models) > 0 }

// choose leaves of the model's targets, and of those of the models that the request names after it, what policies,
// preferences and keys allow, in the order in which they are to be tried.
func (x *exchange) choose(resolution *route.Resolution, inv *route.Inventory) *wire.Failure {
	all := []*route.Resolution{resolution}
	names := []string{x.call.Request.Model}
	if x.wishes != nil {
		for _, name := range x.wishes.Models {
			if slices.Contains(names, name) {
				continue
			}
			next := new(route.Resolution)
			if f := x.lookUpNext(name, inv, next); f != nil {
				return f
			}
			all, names = append(all, next), append(names, name)
		}
	}
	filter := x.filter(names)
	left := 0
	for _, r := range all {
		filter.Apply(x.cfg.Table, r)
		left += len(r.Targets)
	}
	if left == 0 {
		for _, r := range all[1:] {
			resolution.Join(r)
		}
		if len(resolution.Dropped) == 0 {
			return x.modelNotFound(names[0], route.AllDisabled)
		}
		return x.nobodyLeft(resolution.Dropped)
	}
	for i, r := range all {
		x.sequenceAsWished(r, i == 0)
	}
	for _, r := range all[1:] {
		resolution.Join(r)
	}
	return nil
}

// sequenceAsWished is sequence with the request's preferences. A conversation belongs to the request's own model.
func (x *exchange) sequenceAsWished(r *route.Resolution, own bool) {
	if x.wishes != nil && x.wishes.Chosen {
		r.Use(x.wishes.Strategy)
	}
	if !own {
		r.Affinity = route.Affinity{}
	}
	x.sequence(r)
	if x.wishes != nil {
		x.wishes.Place(r)
	}
}

// lookUpNext finds the targets of a model that the request names after its own.
func (x *exchange) lookUpNext(name string, inv *route.Inventory, r *route.Resolution) *wire.Failure {
	f := x.mayAsk(name)
	if f == nil {
		var outcome route.Outcome
		if *r, outcome = x.cfg.Table.Resolve(inv, name); outcome == route.NotFound { // one that is disabled has nothing to give
			f = x.modelNotFound(name, outcome)
		}
	}
	if f != nil {
		f.Param = "models"
	}
	return f
}

// filter is what all targets of the request have to satisfy. All policies that are attached to anything about it hold at once.
func (x *exchange) filter(models []string) *route.Filter {
	return &route.Filter{
		Policies: x.holding(x.cfg.Table.PoliciesOf(models, x.policiesOf()...)), Wishes: x.wishes, Brings: x.brings,
	}
}

// brings says whether the caller brought its own key for a provider.
func (x *exchange) brings(provider string) bool { return x.broughtKey(x.cfg.Providers[provider]) != "" }

// mayReach says why a request that is for one provider alone, and not looked into, may not go there; nil: it may. Of its
// preferences those of its header count.
func (x *exchange) mayReach(provider string) *wire.Failure {
	if f := x.readPreferences(); f != nil {
		return f
	}
	return x.allowed(provider)
}

// allowed says why policies, preferences or keys keep a request from a provider; nil: they do not.
func (x *exchange) allowed(provider string) *wire.Failure {
	r := route.Resolution{Targets: []route.Target{{Provider: provider}}}
	if !x.chooses(&r) {
		return nil
	}
	if x.filter(nil).Apply(x.cfg.Table, &r); len(r.Targets) > 0 {
		return nil
	}
	return x.nobodyLeft(r.Dropped)
}

// nobodyLeft says why each target fell.
func (x *exchange) nobodyLeft(dropped []route.Drop) *wire.Failure {
	const listed = 8
	var why []string
	denied := true
	f := wire.Failure{Status: http.StatusBadRequest, Code: codeInvalid, RequestID: x.id}
	for i := range dropped {
		d := &dropped[i]
		f.Attempts = append(f.Attempts, wire.Attempt{Target: strings.TrimSuffix(d.Provider+"/"+d.Model, "/"), Reason: string(d.Guard) + ":" + d.Reason, Skipped: true})
		if d.On != route.NoRefusal {
			continue
		}
		denied = denied && d.Guard == route.PolicyGuard
		if why = append(why, strings.TrimSuffix(d.Provider+"/"+clip(d.Model), "/")+": "+d.Why); len(why) > listed {
			why = why[:listed+1]
			why[listed] = "…"
		}
	}
	targets := "no target of the model " + strconv.Quote(clip(x.call.Request.Model))
	if x.call.Request.Model == "" { // passthrough
		targets = "no provider of the path"
	}
	if denied {
		f.Status, f.Code = http.StatusForbidden, codePolicyDenied
		f.Message = fmt.Sprintf("%s is within the policies that hold for the request: %s", targets, strings.Join(why, "; "))
		f.Param = "model"
		return &f
	}
	f.Message = fmt.Sprintf("%s is left by what the request asks for: %s", targets, strings.Join(why, "; "))
	return &f
}

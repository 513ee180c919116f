package app

import (
	"maps"
	"slices"
	"time"

	"evergate/internal/admin"
	"evergate/internal/config"
	"evergate/internal/identity"
	"evergate/internal/journal"
	"evergate/internal/nearest"
)

// register makes the keeper of keys that are made at run time: in the fleet's store, or in this process alone.
func (a *App) register() {
	var place identity.Place
	if a.fleet != nil {
		place = a.fleet.KeyPlace()
		a.callers.Await()
	}
	a.keys = identity.NewRegistry(a.callers, place, time.Now)
}

// takeCallers puts the callers of a configuration in force. Keys that were made at run time stay.
func (a *App) takeCallers(c *config.Config) {
	own := make([]identity.Own, len(c.Auth.Keys))
	for i := range c.Auth.Keys {
		k := &c.Auth.Keys[i]
		own[i] = identity.Own{Principal: k.Principal, Value: k.Value.Reveal()}
	}
	a.callers.Trust(c.Auth.Issuers, a.issuers)
	a.callers.Configure(own, c.Auth.Teams)
}

// keySources are the admin API's view of callers.
func (a *App) keySources() admin.KeySources {
	return admin.KeySources{
		Callers: a.callers, Keys: a.keys, FitsConfig: a.fitsConfig,
		AsksForKeys: func() bool { return a.config.Load().Auth.Mode == config.AuthKeys },
		KeyChanged: func(action, name, reason, by, result string) {
			a.sink.Changed(&journal.Change{At: time.Now(), Action: action, Subject: name, Reason: reason, By: by, Result: result})
		},
	}
}

// fitsConfig says which of the policies, providers and guardrails that a key names the config does not have.
func (a *App) fitsConfig(p *identity.Principal) *identity.Mistake {
	c := a.config.Load()
	providers := make([]string, len(c.Providers))
	for i := range c.Providers {
		providers[i] = c.Providers[i].Options.Name
	}
	if m := lacks("providers", "provider", p.Providers, providers); m != nil {
		return m
	}
	if m := lacks("policies", "policy", p.Policies, slices.Sorted(maps.Keys(c.Table.Policies))); m != nil {
		return m
	}
	guardrails := make([]string, len(c.Guardrails.List))
	for i := range c.Guardrails.List {
		guardrails[i] = c.Guardrails.List[i].Name
	}
	return lacks("guardrails", "guardrail", p.Guardrails, guardrails)
}

func lacks(param, what string, named, known []string) *identity.Mistake {
	for _, n := range named {
		if slices.Contains(known, n) {
			continue
		}
		m := &identity.Mistake{Param: param, Message: "there is no " + what + " \"" + n + "\" in the config"}
		if near := nearest.Names(n, known, 1); len(near) > 0 {
			m.Message += "; did you mean \"" + near[0] + "\"?"
		}
		return m
	}
	return nil
}

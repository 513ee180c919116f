package app

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"reflect"
	"strings"
	"time"

	"evergate/internal/config"
	"evergate/internal/guardrail"
	"evergate/internal/guardrail/webhook"
	"evergate/internal/reach"
)

// hookClients send the questions of guardrails that are services: private for those whose name may lead into a private network.
type hookClients struct{ strict, private *http.Transport }

func newHookClients(dial dialFunc) *hookClients {
	made := func(private bool) *http.Transport {
		proxies := reach.EnvironmentProxies()
		t := &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: reach.With(&net.Dialer{Timeout: 5 * time.Second}, reach.Options{Private: private, Trusted: proxies}),
			TLSHandshakeTimeout: 5 * time.Second, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
		}
		if dial != nil {
			t.Proxy, t.DialContext = nil, dial
		}
		return t
	}
	return &hookClients{made(false), made(true)}
}

// closeHooks lets go of the connections to guardrails that are services.
func (a *App) closeHooks(context.Context) error {
	if hooks := a.hooks.Load(); hooks != nil {
		hooks.strict.CloseIdleConnections()
		hooks.private.CloseIdleConnections()
	}
	return nil
}

// guardrails are those of a configuration; nil: it has none. A guard that did not change is the one that it was.
func (a *App) guardrails(c *config.Config) *guardrail.Set {
	g := &c.Guardrails
	if len(g.List) == 0 {
		return nil
	}
	if a.hooks.Load() == nil {
		a.hooks.Store(newHookClients(a.opts.Dial))
	}
	set := &guardrail.Set{ByName: map[string]*guardrail.Named{}, Defaults: g.Defaults, Models: g.Models, Failed: a.guardFailed}
	before, had := a.config.Load(), a.guards
	for i := range g.List {
		one := &g.List[i]
		if old := had[one.Name]; old != nil && before != nil && sameGuard(before, one) {
			set.ByName[one.Name] = old
			continue
		}
		set.ByName[one.Name] = a.guardrail(one)
	}
	a.guards = set.ByName
	return set
}

// sameGuard says whether a configuration had a guard just as it is.
func sameGuard(before *config.Config, now *config.Guardrail) bool {
	for i := range before.Guardrails.List {
		if old := &before.Guardrails.List[i]; old.Name == now.Name {
			return reflect.DeepEqual(old, now)
		}
	}
	return false
}

func (a *App) guardrail(g *config.Guardrail) *guardrail.Named {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%q %q %v %v %v %v %v", g.Find, g.Patterns, g.Mask, g.Block, g.OnRequest, g.OnResponse, g.Webhook) // a hash never fails
	_, _ = h.Write([]byte(g.URL.Reveal()))
	named := &guardrail.Named{
		Name: g.Name, Mark: fmt.Sprintf("%016x", h.Sum64()), OnRequest: g.OnRequest, OnResponse: g.OnResponse,
	}
	if !g.Webhook {
		named.Guard = guardrail.NewRedactor(guardRules(g), g.Block)
		return named
	}
	hooks := a.hooks.Load()
	client := hooks.strict
	if g.Private {
		client = hooks.private
	}
	named.FailOpen, named.Timeout, named.Every = g.FailOpen, g.Timeout, g.Every
	named.Guard = webhook.New(webhook.Options{URL: g.URL.Reveal(), Secret: g.Secret.Reveal(), Concurrent: g.Concurrent, Client: client})
	return named
}

// guardRules are what a redactor looks for.
func guardRules(g *config.Guardrail) []*guardrail.Rule {
	var rules []*guardrail.Rule
	for _, p := range g.Patterns {
		mask := p.Mask
		if mask == "" {
			mask = g.Mask
		}
		if mask == "" {
			mask = "[" + strings.ToUpper(p.Name) + "]"
		}
		if r, err := guardrail.NewRule(p.Name, mask, p.Pattern, g.Window); err == nil { // the configuration was checked
			rules = append(rules, r)
		}
	}
	for _, kind := range g.Find {
		rules = append(rules, guardrail.RulesOf(kind, g.Mask)...)
	}
	return rules
}

// guardFailed tells the log of a guard that could not judge. What is said of why has no text and no address in it.
func (a *App) guardFailed(about *guardrail.About, name string, phase guardrail.Phase, open bool, err error) {
	why := "it changed the number of texts"
	if err != nil {
		why = err.Error()
	}
	a.log.Warn("guardrail failed", "guardrail", name, "phase", phase.String(), "open", open, "request_id", about.RequestID, "error", why)
}

package app

import (
	"regexp"

	"evergate/internal/config"
	"evergate/internal/guardrail"
	"evergate/internal/provider"
)

// redacted stands for what a rule of log.redact took out of a body.
const redacted = "[redacted]"

// redaction is what takes out of bodies what must not be kept.
type redaction struct {
	mask  *provider.Mask
	rules []*regexp.Regexp
}

func newRedaction(c *config.Config, upstreams map[string]*upstream) *redaction {
	clients := make([]*provider.Client, 0, len(upstreams))
	for _, up := range upstreams {
		clients = append(clients, up.client)
	}
	own := []provider.Secret{c.Admin.Token}
	for _, k := range c.Auth.Keys {
		own = append(own, k.Value)
	}
	for _, r := range c.Alerts {
		own = append(own, r.Secret)
	}
	for i := range c.Guardrails.List {
		own = append(own, c.Guardrails.List[i].Secret)
	}
	return &redaction{provider.NewMask(clients, own...), c.Log.Redact}
}

// redact gives a body without credentials and without what the rules find, whichever way it is written there: with escapes, or in pieces over the events
// of a stream.
func (a *App) redact(body []byte) []byte {
	return guardrail.Scrub(body, a.redaction.Load().clean)
}

// clean takes credentials out of a text, and then what the rules find: they cannot tear a credential.
func (r *redaction) clean(text []byte) []byte {
	text = r.mask.Bytes(text)
	for _, rule := range r.rules {
		text = rule.ReplaceAllLiteral(text, []byte(redacted))
	}
	return text
}

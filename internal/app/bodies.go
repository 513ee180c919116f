package app

import (
	"regexp"

	"evergate/internal/config"
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
	return &redaction{provider.NewMask(clients, own...), c.Log.Redact}
}

// redact gives a text without credentials and without what the rules find. Rules see the rest: they cannot tear a credential.
func (a *App) redact(text []byte) []byte {
	r := a.redaction.Load()
	text = r.mask.Bytes(text)
	for _, rule := range r.rules {
		text = rule.ReplaceAllLiteral(text, []byte(redacted))
	}
	return text
}

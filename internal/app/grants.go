package app

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"evergate/internal/admin"
	"evergate/internal/config"
	"evergate/internal/provider"
)

// inherit hands the tokens of OAuth credentials on to new clients: from those that go, since a refresh token that was
// rotated is known to nobody else, and among those that come, since one grant in two places would rotate the other's
// refresh token away.
func inherit(c *config.Config, p *parts, old map[string]*upstream) {
	var known []*provider.Client
	for _, name := range slices.Sorted(maps.Keys(old)) {
		known = append(known, old[name].client)
	}
	for i := range c.Providers {
		up := p.upstreams[c.Providers[i].Options.Name]
		if slices.Contains(known, up.client) {
			continue // it is kept as it is
		}
		up.client.Inherit(known...)
		known = append(known, up.client)
	}
}

// writeGrant writes what makes an OAuth credential the same one into a fingerprint.
func writeGrant(h io.Writer, o *provider.OAuth) {
	if o == nil {
		return
	}
	_, _ = fmt.Fprintf(h, "|oauth|%q|%q|%q|%q|%q", o.TokenURL, o.ClientID, o.ClientSecret.Reveal(), o.RefreshToken.Reveal(), o.Scopes)
}

// showTokens adds the refresh breakers of a provider's OAuth credentials to its view (R32).
func (a *App) showTokens(view *admin.Provider, name string, now time.Time) {
	live := a.live.Load()
	if live == nil || (*live)[name] == nil {
		return
	}
	client := (*live)[name].client
	for credential, c := range view.Credentials {
		if v, ok := client.TokenView(credential, now); ok {
			c.Token = &admin.Token{State: v.State, Failures: v.Failures, RetryAt: admin.Time(v.RetryAt)}
			view.Credentials[credential] = c
		}
	}
}

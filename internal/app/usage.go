package app

import (
	"evergate/internal/admin"
	"evergate/internal/config"
	"evergate/internal/modelfacts"
	"evergate/internal/route"
)

// usageSources are what the admin API tells usage with beside the ledger.
func (a *App) usageSources() admin.UsageSources {
	return admin.UsageSources{
		Words: a.wordsOf,
		Price: func(provider, model string, of admin.PricedTokens) (int64, bool) {
			return priceNow(a.config.Load(), provider, model, of)
		},
	}
}

// wordsOf is what is said of a key: of the one that has the name now, or had it last.
func (a *App) wordsOf(key string) admin.KeyWords {
	if p := a.callers.Named(key); p != nil {
		return admin.KeyWords{Owner: p.Owner, Team: p.Team, Labels: p.Labels}
	}
	if r, ok := a.callers.Record(key); ok && r.Name == key {
		return admin.KeyWords{Owner: r.Owner, Team: r.Team, Labels: r.Labels}
	}
	return admin.KeyWords{}
}

// priceNow is what tokens would cost by the prices of a config.
func priceNow(c *config.Config, provider, model string, of admin.PricedTokens) (nano int64, known bool) {
	facts := factsNow(c, provider, model)
	if facts == nil {
		return 0, false
	}
	t := modelfacts.Tokens{Input: of.Input, CachedInput: of.CachedInput, CacheWrite: of.CacheWrite, Output: of.Output}
	const most = 1e15 // Cost believes no more of one exchange, and these are of many
	nano, known = facts.Prices.Cost(t)
	if nano < most {
		return nano, known
	}
	const part = 1000
	nano, known = facts.Prices.Cost(modelfacts.Tokens{Input: t.Input / part, CachedInput: t.CachedInput / part, CacheWrite: t.CacheWrite / part, Output: t.Output / part})
	return nano * part, known
}

// factsNow are those of a provider's model. A deployment's name hides its model, which the targets of virtual models tell.
func factsNow(c *config.Config, provider, model string) *modelfacts.Facts {
	for _, v := range c.Table.Virtual {
		for _, list := range [][]route.Target{v.Targets, v.On} {
			for i := range list {
				if t := &list[i]; t.Provider == provider && t.Model == model && t.BaseModel != "" {
					return t.Facts
				}
			}
		}
	}
	if model == "" || model == route.OtherLabel || c.Table.Facts == nil {
		return nil
	}
	return c.Table.Facts.Facts(provider, model)
}

package admin

import (
	"net/http"
	"strings"
)

// LimitSources are what is asked of limits and budgets.
type LimitSources struct {
	// Limits says how they stand.
	Limits func() Limits
}

// Limits is the reply of GET /admin/v1/limits.
type Limits struct {
	// Shared: instances count together, by the store of the state.
	Shared    bool           `json:"shared"`
	Instances int64          `json:"instances"`
	Scopes    []LimitedScope `json:"scopes"`
}

// LimitedScope is one who is limited: a key, a team, a model or a provider.
type LimitedScope struct {
	Scope      string        `json:"scope"`
	Name       string        `json:"name"`
	Requests   *LimitGauge   `json:"requests_per_minute"`
	Tokens     *LimitGauge   `json:"tokens_per_minute"`
	Concurrent *LimitGauge   `json:"concurrent"`
	Budgets    []BudgetGauge `json:"budgets"`
}

// LimitGauge is one limit; used counts what is used in the last 60 s, held what requests in flight may use.
type LimitGauge struct {
	Limit int64 `json:"limit"`
	Used  int64 `json:"used"`
	Held  int64 `json:"held"`
}

// BudgetGauge is a budget in the period that runs. A limit of null is none.
type BudgetGauge struct {
	Per         string `json:"per"`
	Zone        string `json:"zone"`
	From        Time   `json:"from"`
	To          Time   `json:"to"`
	LimitUSD    *usd   `json:"limit_usd"`
	SpentUSD    usd    `json:"spent_usd"`
	HeldUSD     usd    `json:"held_usd"`
	LimitTokens *int64 `json:"limit_tokens"`
	SpentTokens int64  `json:"spent_tokens"`
	HeldTokens  int64  `json:"held_tokens"`
	// Warn is the share from which it is near; Mode is block or warn.
	Warn float64 `json:"warn"`
	Mode string  `json:"mode"`
}

// Money takes a budget's amounts in billionths of a dollar; a limit of 0 is none.
func (b *BudgetGauge) Money(limit, spent, held int64) {
	if limit > 0 {
		l := usd(limit)
		b.LimitUSD = &l
	}
	b.SpentUSD, b.HeldUSD = usd(spent), usd(held)
}

func (a *handler) limits(w http.ResponseWriter, r *http.Request) {
	p := parameters(r, "scope", "name")
	scope, name := p.choice("scope", "", "key", "team", "model", "provider"), p.text("name")
	if p.wrong != nil {
		p.wrong.write(w)
		return
	}
	reply := Limits{Instances: 1}
	if a.sources.Limits != nil {
		reply = a.sources.Limits()
	}
	kept := []LimitedScope{}
	for _, s := range reply.Scopes {
		if (scope == "" || s.Scope == scope) && (name == "" || strings.Contains(s.Name, name)) {
			kept = append(kept, s)
		}
	}
	reply.Scopes = kept
	writeJSON(w, http.StatusOK, reply)
}

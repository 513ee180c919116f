package config

import (
	"math"
	"time"

	"evergate/internal/identity"
	"evergate/internal/quota"
)

type teamFile struct {
	models, providers    given[[]given[string]]
	policy               given[string]
	policies, guardrails given[[]given[string]]
	limits               given[quota.Limits]
	budget               given[budgetFile]
	budgets              given[[]given[budgetFile]]
}

func teamShape() shape[teamFile] {
	return object("team", "What all keys of a team share.", []key[teamFile]{
		field("models", "The models its keys may use; none: all. A key's own list holds too.", list("model names", text("a model name")), func(f *teamFile) *given[[]given[string]] { return &f.models }),
		field("providers", "The providers that may be asked for its keys; none: all. A key's own list holds too.", providerNamesShape(), func(f *teamFile) *given[[]given[string]] { return &f.providers }),
		field("policy", "The policy of its keys' requests, by name.", policyNameShape(), func(f *teamFile) *given[string] { return &f.policy }),
		field("policies", "Several policies, by name; all of them hold.", list("names of policies", text("a policy's name")), func(f *teamFile) *given[[]given[string]] { return &f.policies }),
		field("guardrails", "The guardrails of its keys' requests, by name.", list("names of guardrails", text("a guardrail's name")), func(f *teamFile) *given[[]given[string]] { return &f.guardrails }),
		field("limits", "What all its keys may use together at a time.", limitsShape(), func(f *teamFile) *given[quota.Limits] { return &f.limits }),
		field("budget", "What all its keys may spend together in a period.", budgetShape(), func(f *teamFile) *given[budgetFile] { return &f.budget }),
		field("budgets", "Several budgets; all of them hold.", list("budgets with per and usd or tokens", budgetShape()), func(f *teamFile) *given[[]given[budgetFile]] { return &f.budgets }),
	})
}

func (b *builder) teams() (out []identity.Team) {
	for _, e := range b.file.auth.v.teams.v {
		if !identity.Word(e.name, identity.MaxName) {
			b.problem(e.at, "", "is no name for a team; it must be text of at most %d bytes", identity.MaxName)
		}
		f := &e.v
		out = append(out, identity.Team{
			Name: e.name, Models: texts(f.models), Providers: b.providerNames(f.providers), Policies: b.policyNames(f.policy, f.policies),
			Guardrails: texts(f.guardrails), Limits: f.limits.v, Budgets: b.budgets(f.budget, f.budgets),
		})
	}
	return out
}

type limitsFile struct{ requests, tokens, concurrent given[int] }

// limitsShape is what may be used at a time; 0 is no limit.
func limitsShape() shape[quota.Limits] {
	const most = identity.MaxLimit
	s := object("limits", "What may be used at a time; 0 is no limit.", []key[limitsFile]{
		field("requests_per_minute", "Requests of any 60 seconds.", whole(0, most), func(f *limitsFile) *given[int] { return &f.requests }),
		field("tokens_per_minute", "Tokens of input and output of any 60 seconds, of all attempts.", whole(0, most), func(f *limitsFile) *given[int] { return &f.tokens }),
		field("concurrent", "Requests in flight.", whole(0, most), func(f *limitsFile) *given[int] { return &f.concurrent }),
	})
	return shape[quota.Limits]{keys: s.keys, schema: s.schema, read: func(r *reader, n *node) (quota.Limits, bool) {
		f, ok := s.read(r, n)
		return quota.Limits{RequestsPerMinute: int64(f.requests.v), TokensPerMinute: int64(f.tokens.v), Concurrent: int64(f.concurrent.v)}, ok
	}}
}

type budgetFile struct {
	usd    given[float64]
	tokens given[int]
	per    given[quota.Period]
	zone   given[*time.Location]
	warn   given[float64]
	mode   given[bool] // warn only
}

func budgetShape() shape[budgetFile] {
	return object("budget", "What may be spent in a period of the calendar.", []key[budgetFile]{
		field("usd", "Money, in US dollars, by the catalogue's prices.", number(0, identity.MaxUSD), func(f *budgetFile) *given[float64] { return &f.usd }),
		field("tokens", "Tokens of input and output, of all attempts.", whole(0, identity.MaxLimit), func(f *budgetFile) *given[int] { return &f.tokens }),
		field("per", "The period; without it a day.", periodShape(), func(f *budgetFile) *given[quota.Period] { return &f.per }),
		field("zone", "The time zone of the period, such as Europe/Berlin; without it UTC.", zoneShape(), func(f *budgetFile) *given[*time.Location] { return &f.zone }),
		field("warn", "The share from which it is said to be near; 0: never.", number(0, 1), func(f *budgetFile) *given[float64] { return &f.warn }),
		field("mode", "block refuses what is over the budget, warn tells of it alone.", choice(say("block", false), say("warn", true)), func(f *budgetFile) *given[bool] { return &f.mode }),
	})
}

func periodShape() shape[quota.Period] {
	var words []word[quota.Period]
	for _, w := range []string{"hour", "day", "week", "month"} {
		p, _ := identity.ParsePeriod(w)
		words = append(words, say(w, p))
	}
	return choice(words...)
}

func zoneShape() shape[*time.Location] {
	const want = "a time zone such as UTC or Europe/Berlin"
	return single(want, map[string]any{"type": "string", "minLength": 1}, func(s string) (*time.Location, string, string) {
		zone, err := identity.ParseZone(s)
		if err != nil {
			return nil, "is not known; it must be " + want, ""
		}
		return zone, "", ""
	})
}

// budgets are those of budget: and budgets: together.
func (b *builder) budgets(one given[budgetFile], more given[[]given[budgetFile]]) (out []quota.Budget) {
	all := more.v
	if one.set {
		all = append([]given[budgetFile]{one}, all...)
	}
	if len(all) > identity.MaxBudgets {
		b.problem(more.at, "", "has %d budgets, which is more than %d", len(all), identity.MaxBudgets)
	}
	for _, g := range all {
		f := &g.v
		q := quota.Budget{
			Nano: int64(math.Round(f.usd.v * 1e9)), Tokens: int64(f.tokens.v), Per: f.per.v, Zone: f.zone.v, Warn: f.warn.or(identity.DefaultWarn), WarnOnly: f.mode.v,
		}
		if q.Nano == 0 && q.Tokens == 0 { // as if there were none
			if f.usd.absent() && f.tokens.absent() {
				b.problem(g.at, "", "bounds nothing; add usd: or tokens:")
			}
			continue
		}
		out = append(out, q)
	}
	return out
}

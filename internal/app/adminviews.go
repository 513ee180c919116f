package app

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"evergate/internal/admin"
	"evergate/internal/config"
	"evergate/internal/explain"
	"evergate/internal/route"
	"evergate/internal/sim"
)

// Who reloads, in the audit log, beside those who ask for it.
const (
	bySignal = "signal"
	byFile   = "file"
)

// firstLine is an error in a line of the audit log.
func firstLine(err error) string {
	line, rest, more := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if more {
		line += " (and more: " + strings.Join(strings.Fields(rest[:min(len(rest), 200)]), " ") + ")"
	}
	return line
}

// showViews adds what the admin API shows beside health: of the config in force, of the ledger and of what happens.
func (a *App) showViews(s *admin.Sources) {
	s.Instance, s.Version = a.instance, a.opts.Version
	s.Ledger, s.Dropped, s.Feed = a.book.Store, func() uint64 { return a.book.Stats().Dropped }, a.feed
	s.Targets = func() map[string]float64 { return a.config.Load().Availability }
	s.Config, s.Models, s.Simulate = a.configView(time.Now()), a.modelsView, a.simulate
}

// configView gives Config for the admin API, of the config in force since a time.
func (a *App) configView(since time.Time) func() admin.Config {
	c := a.config.Load()
	return func() admin.Config {
		out := admin.Config{
			File: c.File, LoadedAt: admin.Time(since), YAML: c.Text, Providers: []admin.ConfigProvider{}, Keys: []string{},
			Problems: shownProblems(c.Warnings),
		}
		if a.addr != nil {
			out.DataPlane, out.DataPlaneTLS = a.addr.String(), c.Server.TLS.On()
		}
		for i := range c.Auth.Keys {
			out.Keys = append(out.Keys, c.Auth.Keys[i].Name)
		}
		for i := range c.Providers {
			out.Providers = append(out.Providers, providerView(&c.Providers[i]))
		}
		return out
	}
}

func providerView(p *config.Provider) admin.ConfigProvider {
	out := admin.ConfigProvider{
		Name: p.Options.Name, Type: p.Options.Type, Class: p.Class, BaseURL: p.Options.BaseURL.String(), Disabled: p.Disabled,
		Credentials: []string{}, Settings: []admin.ConfigSetting{},
	}
	for _, k := range p.Options.Credentials {
		out.Credentials = append(out.Credentials, k.Name)
	}
	for _, s := range p.Settings {
		out.Settings = append(out.Settings, admin.ConfigSetting{Name: s.Name, Value: s.Value, From: string(s.From)})
	}
	return out
}

func shownProblems(problems config.Problems) []admin.Problem {
	out := make([]admin.Problem, len(problems))
	for i, p := range problems {
		out[i] = admin.Problem{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message, Suggestion: p.Suggestion}
	}
	return out
}

// modelsView is Models for the admin API.
func (a *App) modelsView(ctx context.Context) (*admin.Models, error) {
	c := a.config.Load()
	out := &admin.Models{Models: []admin.Model{}, Plain: len(a.catalog.Snapshot().ByModel)}
	for _, name := range slices.Sorted(maps.Keys(c.Table.Virtual)) {
		v := c.Table.Virtual[name]
		m := admin.Model{
			Name: name, Strategy: v.Strategy.String(), Targets: targetsView(v), Order: []explain.Candidate{}, Affinity: len(v.Affinity.By) > 0,
			Hedge: "off", Resume: v.Resume, Availability: c.Availability[name],
		}
		if cached, ok := c.Cache.Models[name]; ok {
			m.Cache = cached.TTL.String()
		}
		if v.Mirror != nil {
			m.Mirror = &admin.ModelMirror{Provider: v.Mirror.Target.Provider, Model: v.Mirror.Target.Model, Share: v.Mirror.Share}
		}
		answer, err := a.ingress.Explain(ctx, explain.Question{Model: name})
		var mistaken *explain.QuestionError
		switch {
		case errors.As(err, &mistaken):
			m.Summary = mistaken.Message
		case err != nil:
			return nil, err
		default:
			m.Summary, m.Order = answer.Summary, append(m.Order, answer.Candidates...)
			if answer.Policy != nil {
				m.Hedge = answer.Policy.Hedge
			}
		}
		out.Models = append(out.Models, m)
	}
	return out, nil
}

func targetsView(v *route.Virtual) []admin.Target {
	out := []admin.Target{}
	for _, list := range [][]route.Target{v.Targets, v.On} {
		for i := range list {
			t := &list[i]
			shown := admin.Target{Provider: t.Provider, Model: t.Model, On: t.On.String()}
			if v.Strategy == route.Weighted {
				shown.Weight = cmp.Or(t.Weight, 1)
			}
			if g := int(t.Group); g > 0 && g <= len(v.Groups) {
				shown.Within = v.Groups[g-1].Name
			}
			out = append(out, shown)
		}
	}
	return out
}

// The bounds of a scenario that somebody sends: it is played where requests are served.
const (
	maxPlayed = 7 * 24 * time.Hour
	maxWork   = 5_000_000 // requests
	maxCrowd  = 100_000   // clients, of which each takes room
	maxOpen   = 50_000    // requests under way at once, as above
	maxPoints = 20_000    // of the charts
)

// simulate is Simulate for the admin API.
func (a *App) simulate(ctx context.Context, scenario []byte) (any, []admin.Problem, error) {
	s, err := config.ParseScenarioText(scenario, a.config.Load())
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		return nil, shownProblems(problems), nil
	case err != nil:
		return nil, nil, err
	case s.Duration > maxPlayed || s.Work() > maxWork || waiting(s.Traffic) > maxCrowd || s.Step > 0 && s.Duration/s.Step > maxPoints:
		return nil, nil, admin.ErrTooLong
	}
	playing := sim.New(&s.Scenario, func(stream uint64) func() float64 {
		return rand.New(rand.NewPCG(s.Seed, stream)).Float64 //nolint:gosec // repeatable on purpose
	})
	report, ok := playing.FinishUnless(func() bool { return ctx.Err() != nil || playing.Open() > maxOpen })
	if !ok {
		return nil, nil, admin.ErrTooLong
	}
	report.Seed = s.Seed
	return report, nil, nil
}

// waiting is how many clients there are that wait for their answers.
func waiting(traffic []sim.Traffic) (n int) {
	for i := range traffic {
		n += traffic[i].Clients
	}
	return n
}

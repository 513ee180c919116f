package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"evergate/internal/nearest"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/sim"
)

// Scenario is a scenario file, ready to be played.
type Scenario struct {
	sim.Scenario
	Seed uint64
	// Config is the gateway's.
	Config *Config
}

const (
	defaultScenario = time.Hour
	defaultTokens   = 200
)

// LoadScenario reads a scenario file. configFile, unless empty, is the gateway's configuration in place of what the scenario
// says. Keys are not needed: a variable that is not set and has no default stands for something. The error is of type
// Problems.
func LoadScenario(name, configFile string, env Lookup) (*Scenario, error) {
	data, err := os.ReadFile(name) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, unreadable(name, err)
	}
	return ParseScenario(name, configFile, data, env)
}

// ParseScenario is LoadScenario for a file that was read already. A configuration that the scenario names is looked for
// beside name.
func ParseScenario(name, configFile string, data []byte, env Lookup) (*Scenario, error) {
	return readScenario(name, data, env, func(r *reader, f *scenarioFile, root place, env Lookup) (*Config, error) {
		return scenarioConfig(r, f, root, configFile, env)
	})
}

// ParseScenarioText is ParseScenario for a text that somebody sent: no file is read for it, and no variable. Where it has no
// configuration it is one for c.
func ParseScenarioText(data []byte, c *Config) (*Scenario, error) {
	nothing := func(string) (string, bool) { return "", false }
	return readScenario("scenario", data, nothing, func(r *reader, f *scenarioFile, root place, env Lookup) (*Config, error) {
		switch {
		case f.config.absent():
			return c, nil
		case f.config.set && f.config.v.inline == nil:
			r.problem(f.config.at, "", "names a file, and none is read here; write the configuration under config:, or leave it out to play the one in force")
			return nil, nil
		}
		return scenarioConfig(r, f, root, "", env)
	})
}

func readScenario(name string, data []byte, env Lookup, configOf func(*reader, *scenarioFile, place, Lookup) (*Config, error)) (*Scenario, error) {
	env = standIns(data, env)
	r := &reader{}
	root := readTree(&r.report, name, data, env)
	if root == nil {
		return nil, inOrder(r.problems)
	}
	f, ok := scenarioShape().read(r, root)
	if !ok {
		return nil, inOrder(r.problems)
	}
	c, err := configOf(r, &f, root.at, env)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, inOrder(r.problems)
	}
	b := &scenarioBuilder{reader: r, file: &f, config: c, root: root.at}
	s := b.build()
	if len(r.problems) > 0 {
		return nil, inOrder(r.problems)
	}
	return s, nil
}

// scenarioConfig is the gateway's configuration; nil without an error: the problems are reported.
func scenarioConfig(r *reader, f *scenarioFile, root place, configFile string, env Lookup) (*Config, error) {
	switch {
	case configFile != "":
	case f.config.wrong:
		return nil, nil
	case f.config.absent():
		r.problem(root, "", "has no config; write the gateway's under config:, name its file there, or give it with -c")
		return nil, nil
	case f.config.v.inline != nil:
		b := &builder{reader: r, env: env, file: f.config.v.inline, vars: readVariables(r, env), root: f.config.at}
		if b.file.detect.or(false) {
			b.addDetected()
		}
		return b.finish(root.file)
	default:
		configFile = f.config.v.path
		if !filepath.IsAbs(configFile) {
			configFile = filepath.Join(filepath.Dir(root.file), configFile)
		}
	}
	data, err := os.ReadFile(configFile) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, unreadable(configFile, err)
	}
	return Parse(configFile, data, standIns(data, env))
}

// standIns gives every variable that a text needs a value: nobody is called, so no key has to be there.
func standIns(data []byte, env Lookup) Lookup {
	needed := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`).FindAllSubmatch(data, -1) {
		needed[string(m[1])] = true
	}
	return func(name string) (string, bool) {
		if v, ok := env(name); ok || !needed[name] {
			return v, ok
		}
		return "simulated-" + strings.ToLower(name), true
	}
}

// scenarioBuilder turns what was written into a Scenario.
type scenarioBuilder struct {
	*reader
	file      *scenarioFile
	config    *Config
	root      place
	out       Scenario
	providers []string
	tags      []string
	models    []string // upstream ids
}

func (b *scenarioBuilder) build() *Scenario {
	b.out = Scenario{Config: b.config, Seed: uint64(b.file.seed.or(1))} //nolint:gosec // from 0 on
	b.out.Name, b.out.Duration, b.out.Step = b.file.name.or(b.root.file), b.file.duration.or(defaultScenario), b.file.step.v
	b.gateway()
	for _, e := range b.file.providers.v {
		if !e.wrong && b.known("provider", e.name, e.at, b.providers) {
			b.climate(e)
		}
	}
	if len(b.file.traffic.v) == 0 && !b.file.traffic.wrong {
		b.problem(b.root, "", "has no traffic; add traffic: [{ model: …, rate: 5/s }]")
	}
	for _, t := range b.file.traffic.v {
		b.traffic(&t.v, t.at)
	}
	for _, w := range b.file.weather.v {
		b.weather(&w.v, w.at)
	}
	return &b.out
}

// gateway makes the simulation's part of the configuration. The models of a provider that would be asked for its list are those
// that the configuration names.
func (b *scenarioBuilder) gateway() {
	c := b.config
	inv := &route.Inventory{ByModel: map[string][]string{}}
	for i := range c.Providers {
		p := &c.Providers[i]
		name := p.Options.Name
		g := sim.Guarded{Name: name, Settings: p.Resilience, Strategy: p.KeyStrategy}
		for k, cred := range p.Options.Credentials {
			g.Credentials = append(g.Credentials, resilience.Credential{Name: cred.Name, Weight: cred.Weight, Models: cred.Models, Identity: uint64(k + 1)})
		}
		b.out.Gateway.Providers = append(b.out.Gateway.Providers, g)
		b.providers = append(b.providers, name)
		models := slices.Clone(p.Models)
		if len(models) == 0 {
			models = targetsAt(&c.Table, name)
		}
		slices.Sort(models)
		models = slices.Compact(models)
		b.models = append(b.models, models...)
		inv.Providers = append(inv.Providers, route.ProviderModels{Name: name, Models: models, Disabled: p.Disabled, Status: route.Healthy})
		for _, m := range models {
			if !p.Disabled {
				inv.ByModel[m] = append(inv.ByModel[m], name)
			}
		}
	}
	b.out.Gateway.Table, b.out.Gateway.Inventory = &c.Table, inv
}

// targetsAt are the models that targets name at a provider.
func targetsAt(t *route.Table, provider string) []string {
	var out []string
	take := func(targets []route.Target) {
		for i := range targets {
			if targets[i].Provider == provider {
				out = append(out, targets[i].Model)
			}
		}
	}
	for _, v := range t.Virtual {
		take(v.Targets)
	}
	for _, targets := range t.Failover {
		take(targets)
	}
	return out
}

// known reports a name that is none of those there are.
func (b *scenarioBuilder) known(what, name string, at place, there []string) bool {
	if slices.Contains(there, name) {
		return true
	}
	if near := nearest.Names(name, there, 1); len(near) > 0 {
		b.problem(at, near[0], "there is no %s %q", what, name)
	} else {
		b.problem(at, "", "there is no %s %q; there is %s", what, name, some(there))
	}
	return false
}

func (b *scenarioBuilder) climate(e entry[climateFile]) {
	p := sim.DefaultProvider(e.name)
	f := &e.v
	p.FirstToken, p.Speed = f.firstToken.or(p.FirstToken), f.speed.or(p.Speed)
	p.Errors, p.Cuts, p.Tags = f.errors.v, f.cuts.v, texts(f.tags)
	b.tags = append(b.tags, p.Tags...)
	b.out.Providers = append(b.out.Providers, p)
}

func (b *scenarioBuilder) traffic(f *trafficFile, at place) {
	t := sim.Traffic{
		Model: f.model.v, Rate: f.rate.v, Clients: f.clients.v, Think: f.think.or(sim.Uniform(5e9, 15e9)), Streams: f.streams.or(0.5),
		Tokens: f.tokens.or(sim.Fixed(defaultTokens)), Patience: f.patience.v, From: f.from.v, To: f.to.v,
	}
	switch {
	case f.rate.wrong || f.clients.wrong:
	case f.rate.set == f.clients.set:
		b.problem(at, "", "needs either a rate or a number of clients")
	case f.think.set && f.rate.set:
		b.problem(f.think.at, "", "is for clients; arrivals at a rate do not think")
	case f.spikes.set && f.clients.set:
		b.problem(f.spikes.at, "", "is for a rate; the number of clients stays the same")
	}
	if f.model.absent() {
		b.problem(at, "", "has no model; add model: …")
	} else if f.model.set {
		if _, outcome := b.out.Gateway.Table.Resolve(b.out.Gateway.Inventory, t.Model); outcome != route.Found {
			names := b.out.Gateway.Table.Names(b.out.Gateway.Inventory)
			slices.Sort(names)
			b.known("model", t.Model, f.model.at, names)
		}
	}
	for _, s := range f.spikes.v {
		if s.v.at.absent() || s.v.lasts.absent() || s.v.times.absent() {
			b.problem(s.at, "", "needs at, for and times")
		}
		t.Rate.Spikes = append(t.Rate.Spikes, sim.Spike{At: s.v.at.v, For: s.v.lasts.v, Times: s.v.times.v})
	}
	b.between(f.from, f.to)
	b.out.Traffic = append(b.out.Traffic, t)
}

// between reports an end that is not after its beginning.
func (b *scenarioBuilder) between(from, to given[time.Duration]) {
	if to.set && to.v <= from.v {
		b.problem(to.at, "", "is not after from")
	}
	if from.set && from.v >= b.out.Duration {
		b.problem(from.at, "", "is after the end of the scenario (duration: %s)", formatDuration(b.out.Duration))
	}
}

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"evergate/internal/config"
	"evergate/internal/sim"
	"evergate/internal/sim/show"
)

type simulateCmd struct {
	Scenario string  `arg:"" help:"Scenario file (docs/simulate.md)."`
	Config   string  `short:"c" help:"Config file, in place of the scenario's own." placeholder:"FILE" env:"EVERGATE_SIMULATE_CONFIG"`
	Seed     *uint64 `help:"Seed, in place of the scenario's own. The same seed gives the same report." env:"EVERGATE_SIMULATE_SEED"`
	Format   string  `help:"table, json or html." enum:"table,json,html" default:"table" env:"EVERGATE_SIMULATE_FORMAT"`
	JSON     bool    `help:"Short for --format json." env:"EVERGATE_SIMULATE_JSON"`
	HTML     string  `help:"Also write the report as an HTML page to this file." placeholder:"FILE" env:"EVERGATE_SIMULATE_HTML"`
}

func (k *simulateCmd) Run(*cli) error {
	s, err := config.LoadScenario(k.Scenario, k.Config, os.LookupEnv)
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(os.Stderr, problems.Error())
		return &exitError{1, ""}
	}
	if err != nil {
		return err
	}
	for _, w := range s.Config.Warnings {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	if k.Seed != nil {
		s.Seed = *k.Seed
	}
	report := simulate(s)
	if k.HTML != "" {
		if err := writePage(k.HTML, report); err != nil {
			return err
		}
	}
	write := show.Table
	switch {
	case k.JSON || k.Format == "json":
		write = show.JSON
	case k.Format == "html":
		write = show.HTML
	}
	return write(os.Stdout, report)
}

// simulate plays a scenario with the random numbers of its seed.
func simulate(s *config.Scenario) *sim.Report {
	x := sim.New(&s.Scenario, func(stream uint64) func() float64 {
		return rand.New(rand.NewPCG(s.Seed, stream)).Float64 //nolint:gosec // repeatable on purpose
	})
	report := x.Finish()
	report.Seed = s.Seed
	return report
}

func writePage(name string, report *sim.Report) (err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644) //nolint:gosec // a report to be shown around, where the operator says
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return show.HTML(f, report)
}

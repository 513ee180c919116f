package main

import (
	"errors"
	"fmt"
	"os"

	"evergate/internal/app"
	"evergate/internal/config"
	"evergate/internal/telemetry/traces"
)

type checkCmd struct {
	Config string `short:"c" help:"Config file." default:"evergate.yaml" env:"EVERGATE_CONFIG"`
}

func (k *checkCmd) Run(*cli) error {
	cfg, err := config.Load(k.Config, os.LookupEnv)
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(os.Stderr, problems.Error())
		return &exitError{1, ""}
	}
	if err != nil {
		return err
	}
	if err := app.Verify(cfg); errors.As(err, &problems) && err.Error() == problems.Error() {
		fmt.Fprintln(os.Stderr, problems.Error())
		return &exitError{1, ""}
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", k.Config, err)
		return &exitError{1, ""}
	}
	if _, err := traces.FromEnvironment(os.LookupEnv); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return &exitError{1, ""}
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	fmt.Printf("%s is valid: %s, %s\n\n", k.Config, count(len(cfg.Providers), "provider"), count(len(cfg.Table.Virtual), "virtual model"))
	fmt.Print(cfg.Effective())
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

type schemaCmd struct{}

func (schemaCmd) Run(*cli) error {
	_, err := os.Stdout.Write(config.Schema())
	return err
}

package main

import (
	"errors"
	"fmt"
	"os"

	"evergate/internal/config"
)

type checkCmd struct {
	Config string `short:"c" help:"Config file." default:"evergate.yaml" type:"path" env:"EVERGATE_CONFIG"`
}

func (k *checkCmd) Run() error {
	cfg, err := config.Load(k.Config, os.LookupEnv)
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(os.Stderr, problems.Error())
		return &exitError{1, ""}
	}
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	fmt.Printf("%s is valid: %d providers, %d virtual models\n\n", k.Config, len(cfg.Providers), len(cfg.Table.Virtual))
	fmt.Print(cfg.Effective())
	return nil
}

type schemaCmd struct{}

func (schemaCmd) Run() error {
	_, err := os.Stdout.Write(config.Schema())
	return err
}

// Command evergate is an LLM gateway: applications call one endpoint, it picks a healthy upstream for each request
// and fails over before the caller notices.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	_ "time/tzdata" // budgets have time zones, and a bare container has none

	"evergate/internal/commandline"
)

// Set by the linker (Makefile).
var (
	version = "dev"     //nolint:gochecknoglobals // -X needs a variable
	commit  = "unknown" //nolint:gochecknoglobals // as above
)

// cli is the command line (package commandline); every flag also has an environment variable, EVERGATE_ and its name.
type cli struct {
	LogFormat string `help:"text or json; text when standard error is a terminal, json otherwise" enum:"text,json,auto" default:"auto" env:"EVERGATE_LOG_FORMAT"`
	LogLevel  string `help:"debug, info, warn or error" enum:"debug,info,warn,error,auto" default:"auto" env:"EVERGATE_LOG_LEVEL"`
	CaFile    string `help:"Authorities to trust besides the system's, where --url begins with https." type:"path" env:"EVERGATE_CA_FILE"`
	CertFile  string `help:"Certificate to show there." type:"path" env:"EVERGATE_CERT_FILE"`
	KeyFile   string `help:"Its private key." type:"path" env:"EVERGATE_KEY_FILE"`

	Serve    serveCmd    `cmd:"" help:"Run the gateway."`
	Upgrade  upgradeCmd  `cmd:"" help:"Have a running gateway replaced by a new process on the same listeners, without losing a request."`
	Demo     demoCmd     `cmd:"" help:"Run the gateway with three simulated providers, one of which fails on a schedule. Needs no key."`
	Check    checkCmd    `cmd:"" help:"Validate a config file and print the effective settings of each provider."`
	Status   statusCmd   `cmd:"" help:"Show providers, guards and credentials of a running gateway."`
	Explain  explainCmd  `cmd:"" help:"Say which candidates a request would get, in which order and why; or what became of a past one."`
	Requests requestsCmd `cmd:"" help:"Show what became of the latest requests of a running gateway."`
	Drill    drillCmd    `cmd:"" help:"Inject faults into live traffic on purpose, for a while, to rehearse an outage: drill start, stop, list, report."`
	Keys     keysCmd     `cmd:"" help:"Make, list, change, rotate and revoke the keys of callers in a running gateway: keys create, list, show, change, rotate, revoke."`
	Mock     mockCmd     `cmd:"" help:"Run a simulated provider with faults on demand."`
	Simulate simulateCmd `cmd:"" help:"Play a scripted outage through the engine in virtual time, and report availability, latency and attempts."`
	Import   importCmd   `cmd:"" help:"Turn the configuration of LiteLLM, GoModel, Portkey or Bifrost into one of ours, and say what has no equivalent."`
	Schema   schemaCmd   `cmd:"" help:"Print the JSON Schema of the config file, for editors."`
	Version  versionCmd  `cmd:"" help:"Print version, commit and Go version."`
}

// command is what every field of cli that is tagged cmd does.
type command interface{ Run(c *cli) error }

// exitError carries an exit code; its message was already printed where it is empty.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	program := &commandline.Program{
		Name:    "evergate",
		About:   "An LLM gateway that fails over before the caller notices.",
		Version: "evergate " + version + " (commit " + commit + ", " + runtime.Version() + ")",
		Env:     os.LookupEnv,
		Out:     os.Stdout,
	}
	var c cli
	chosen, err := program.Parse(&c, args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "evergate:", err)
		return 2
	}
	if chosen == nil {
		return 0 // it has printed what was asked for
	}
	err = chosen.(command).Run(&c) //nolint:forcetypeassert // every field of cli tagged cmd is one, as TestHelp sees
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if exit.message != "" {
			within(func() { fmt.Fprintln(os.Stderr, "evergate:", exit.message) })
		}
		return exit.code
	default:
		within(func() { fmt.Fprintln(os.Stderr, "evergate:", err) })
		return 1
	}
}

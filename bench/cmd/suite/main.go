// Command suite measures a built gateway beside bare reverse proxies, in paired rounds of the same run, and prints the
// result as Markdown. It starts the mock upstream, the proxies and the gateway itself, on loopback addresses, pins them
// to cores where there are two or more, and ends them. bench/run builds what it needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

// settings are the flags, with absolute paths.
type settings struct {
	rounds                      int
	evergate, bin, configs, out string
	only                        *regexp.Regexp
	streams                     int
	pinServers, pinLoad         string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("suite", flag.ExitOnError)
	var s settings
	fs.IntVar(&s.rounds, "rounds", 15, "rounds over all targets; medians need an odd number")
	fs.IntVar(&s.streams, "streams", 5000, "streams held open for the memory of one")
	fs.StringVar(&s.evergate, "evergate", "../bin/evergate", "the gateway's binary")
	fs.StringVar(&s.bin, "bin", "out/bin", "folder with mockllm, refproxy and gwbench")
	fs.StringVar(&s.configs, "configs", "configs", "folder with the gateway's configuration")
	fs.StringVar(&s.out, "out", "out", "folder for results")
	only := fs.String("only", "", "run only the measurements whose name matches")
	_ = fs.Parse(args)
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	for _, p := range []*string{&s.evergate, &s.bin, &s.configs, &s.out} {
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	s.pin()
	var doc document
	var errs []error
	for _, m := range measurements {
		if !s.only.MatchString(m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", m.name)
		rows, err := m.measure(ctx, &s)
		if err != nil { // what else was measured is still worth its time
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
			continue
		}
		doc.add(m, rows)
	}
	text := doc.markdown(&s)
	fmt.Print(text)
	if err := os.WriteFile(filepath.Join(s.out, "result.md"), []byte(text), 0o644); err != nil {
		return err
	}
	return errors.Join(append(errs, doc.save(filepath.Join(s.out, "result.json")))...)
}

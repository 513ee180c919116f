// Package commandline reads a program's command line, and its environment, into structs: a command for each field that is
// tagged cmd, a flag for each other one. It also writes the help. It knows no command by name and runs none.
//
// It reflects on fields alone, never on methods: the linker can then leave out every method that nothing calls, which is
// nearly a third of the program.
//
// Tags of a field:
//
//	cmd          a command; the field is the struct of its flags and arguments
//	name         in place of the field's own name in kebab case
//	help         what the help says
//	short        a letter, for -c
//	default      value that holds where none is given
//	env          environment variable that gives the value where the command line does not; an empty one gives none
//	enum         the only values, with commas between
//	placeholder  what the help shows as the value
//	type         path: the value is made absolute, and a leading ~/ is the home directory
//	required     a value must be given
//	arg          a positional argument; optional: it may be left out
package commandline

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/pflag"

	"evergate/internal/nearest"
)

// Program is what the command line belongs to.
type Program struct {
	Name    string
	About   string                           // one sentence for the help
	Version string                           // what --version prints
	Env     func(name string) (string, bool) // the environment
	Out     io.Writer                        // takes the help and the version
}

// errVersion ends the reading at --version, as pflag.ErrHelp does at --help.
var errVersion = errors.New("version asked for")

// Parse reads args into the struct that root points to, and gives a pointer to the field of the command that was chosen;
// nil if the help or the version was asked for, and has been printed. Without any args the help is printed. An error is a
// mistake of the user's and says how to get help. Flags of the program may stand before the command or after it. A field of
// a type that has no reading here panics.
func (p *Program) Parse(root any, args []string) (any, error) {
	top := &command{help: p.About, fields: []*field{
		{name: "help", short: "h", help: "Show help.", isBool: true, set: func(string) error { return pflag.ErrHelp }},
		{name: "version", help: "Print the version and exit.", isBool: true, set: func(string) error { return errVersion }},
	}}
	at := reflect.ValueOf(root).Elem()
	top.fields = append(top.fields, fieldsOf(at)...)
	commands := commandsOf(at)
	if len(args) == 0 {
		return nil, p.printUsage(top, nil, commands)
	}
	words, err := scan(args, false, top.fields)
	if err != nil {
		return nil, p.answer(err, top, nil, commands)
	}
	if len(words) == 0 {
		return nil, p.mistake(top, errors.New("which command?"))
	}
	c, err := choose(words[0], commands)
	if err != nil {
		return nil, p.mistake(top, err)
	}
	if words, err = scan(words[1:], true, top.fields, c.fields); err != nil {
		return nil, p.answer(err, c, top, nil)
	}
	if err := errors.Join(fill(top.fields, nil, p.Env), fill(c.fields, words, p.Env)); err != nil {
		return nil, p.mistake(c, err)
	}
	return c.at, nil
}

// answer gives what was asked for, or says what is wrong.
func (p *Program) answer(err error, c, top *command, commands []*command) error {
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return p.printUsage(c, top, commands)
	case errors.Is(err, errVersion):
		_, err := fmt.Fprintln(p.Out, p.Version)
		return err
	}
	return p.mistake(c, err)
}

// mistake says what is wrong, and where help is.
func (p *Program) mistake(c *command, err error) error {
	return fmt.Errorf("%w\nRun %q for help.", err, strings.Join(strings.Fields(p.Name+" "+c.name+" --help"), " ")) //nolint:staticcheck,revive // whole sentences, for a terminal
}

// choose finds a command by its name.
func choose(name string, commands []*command) (*command, error) {
	var names []string
	for _, c := range commands {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return nil, errors.New("there is no command " + name + meant("", name, names))
}

// scan takes the flags out of args and sets their fields; what is left are words. Unless flags may stand among words, the
// first word ends the reading and stays at the front.
func scan(args []string, among bool, groups ...[]*field) ([]string, error) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Usage = func() {}
	flags.SetInterspersed(among)
	var names []string
	for _, fields := range groups {
		for _, f := range fields {
			switch {
			case f.arg:
				continue
			case f.isBool:
				flags.BoolFuncP(f.name, f.short, "", f.give)
			default:
				flags.FuncP(f.name, f.short, "", f.give)
			}
			names = append(names, f.name)
		}
	}
	err := flags.Parse(args)
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		name := unknown.GetSpecifiedName()
		return nil, errors.New("unknown flag --" + name + meant("--", name, names))
	}
	return flags.Args(), err
}

// meant suggests the nearest name; empty: none is near.
func meant(dashes, name string, names []string) string {
	if near := nearest.Names(name, names, 1); len(near) > 0 {
		return fmt.Sprintf(", did you mean %q?", dashes+near[0])
	}
	return ""
}

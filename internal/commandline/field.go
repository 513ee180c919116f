package commandline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// command is one of the program's; the program's own flags are one without a name.
type command struct {
	name, help string
	at         any // the struct it is read into
	fields     []*field
}

// field is a flag, or a positional argument.
type field struct {
	name, short, help, env, def string
	shown                       string // what the help shows as the value, where there is no default
	isBool, arg, required       bool
	set                         func(string) error
	given                       bool
}

// give sets the value, as the command line has it.
func (f *field) give(value string) error {
	f.given = true
	return f.set(value)
}

func (f *field) String() string {
	if f.arg {
		return "<" + f.name + ">"
	}
	return "--" + f.name
}

// fill gives the arguments their words, and everything that is still without a value that of its variable or default.
func fill(fields []*field, words []string, env func(string) (string, bool)) error {
	for _, f := range fields {
		if f.arg && len(words) > 0 {
			if err := f.give(words[0]); err != nil {
				return fmt.Errorf("%s: %w", f, err)
			}
			words = words[1:]
		}
		if err := f.fallBack(env); err != nil {
			return err
		}
	}
	if len(words) > 0 {
		return errors.New("unexpected argument " + words[0])
	}
	return nil
}

// fallBack takes the value from the variable, or else the default.
func (f *field) fallBack(env func(string) (string, bool)) error {
	if f.given {
		return nil
	}
	if value := f.variable(env); value != "" {
		if err := f.set(value); err != nil {
			return fmt.Errorf("%s=%q: %w", f.env, value, err)
		}
		return nil
	}
	switch {
	case f.required && f.env != "":
		return fmt.Errorf("%s is needed, or %s", f, f.env)
	case f.required:
		return fmt.Errorf("%s is needed", f)
	case f.def != "":
		return f.set(f.def)
	}
	return nil
}

// variable is what the environment has; empty: nothing.
func (f *field) variable(env func(string) (string, bool)) string {
	if f.env == "" {
		return ""
	}
	value, _ := env(f.env)
	return value
}

// commandsOf are the commands among a struct's fields.
func commandsOf(v reflect.Value) []*command {
	var out []*command
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		if _, is := tag.Lookup("cmd"); is {
			out = append(out, &command{nameOf(v.Type().Field(i)), tag.Get("help"), v.Field(i).Addr().Interface(), fieldsOf(v.Field(i))})
		}
	}
	return out
}

// fieldsOf are the flags and arguments among a struct's fields.
func fieldsOf(v reflect.Value) []*field {
	var out []*field
	for i := range v.NumField() {
		of := v.Type().Field(i)
		has := func(key string) bool { _, is := of.Tag.Lookup(key); return is }
		if has("cmd") {
			continue
		}
		f := &field{name: nameOf(of), short: of.Tag.Get("short"), help: of.Tag.Get("help"), env: of.Tag.Get("env"), def: of.Tag.Get("default"), arg: has("arg")}
		f.required = has("required") || f.arg && !has("optional")
		f.set, f.shown = setter(v.Field(i).Addr().Interface(), of.Tag.Get("type") == "path")
		f.isBool = f.shown == ""
		if only := of.Tag.Get("enum"); only != "" {
			f.set = oneOf(strings.Split(only, ","), f.set)
		}
		if placeholder := of.Tag.Get("placeholder"); placeholder != "" {
			f.shown = placeholder
		}
		out = append(out, f)
	}
	return out
}

var hump = regexp.MustCompile(`([a-z])([A-Z])`)

func nameOf(f reflect.StructField) string {
	if name := f.Tag.Get("name"); name != "" {
		return name
	}
	return strings.ToLower(hump.ReplaceAllString(f.Name, "$1-$2"))
}

// oneOf lets only some values through.
func oneOf(values []string, set func(string) error) func(string) error {
	return func(s string) error {
		if !slices.Contains(values, s) {
			return errors.New("must be one of " + strings.Join(values, ", "))
		}
		return set(s)
	}
}

// setter gives what sets a field from a text, and a word for its values; none for a bool, which needs no value.
func setter(field any, path bool) (set func(string) error, shown string) {
	switch to := field.(type) {
	case *string:
		if path {
			return parsed(to, absolute), "FILE"
		}
		return parsed(to, func(s string) (string, error) { return s, nil }), "STRING"
	case *bool:
		return parsed(to, yesNo), ""
	case *time.Duration:
		return parsed(to, duration), "DURATION"
	case **uint64:
		return parsed(to, func(s string) (*uint64, error) {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				return nil, errors.New("must be a whole number, not below 0")
			}
			return &n, nil
		}), "N"
	case *[]string:
		return func(s string) error { *to = append(*to, strings.Split(s, ",")...); return nil }, "STRING,..."
	}
	panic(fmt.Sprintf("BUG: a field of type %T", field)) //nolint:forbidigo // the program's own struct: any test of it sees this
}

// parsed sets a value from a text that has been read.
func parsed[T any](to *T, read func(string) (T, error)) func(string) error {
	return func(s string) error {
		v, err := read(s)
		if err == nil {
			*to = v
		}
		return err
	}
}

func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errors.New("must be a time such as 500ms, 30s or 1m")
	}
	return d, nil
}

func yesNo(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "yes", "1":
		return true, nil
	case "false", "no", "0":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// absolute makes a path absolute; - stays, it is standard input.
func absolute(path string) (string, error) {
	if path == "" || path == "-" {
		return path, nil
	}
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, below)
		}
	}
	return filepath.Abs(path)
}

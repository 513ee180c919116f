package main

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Whatever is tagged as a command can be run.
func TestCommandsRun(t *testing.T) {
	t.Parallel()
	c := reflect.ValueOf(&cli{}).Elem()
	for i := range c.NumField() {
		of := c.Type().Field(i)
		if _, is := of.Tag.Lookup("cmd"); !is {
			continue
		}
		if _, is := c.Field(i).Addr().Interface().(command); !is {
			t.Errorf("%s has no Run", of.Name)
		}
	}
}

// The process says what is wrong with its command line, or what was asked for.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line, env, out, errs string
		code                 int
	}{
		{"", "", "Usage: evergate <command> [flags]\n", "", 0},
		{"serve --help", "", "Usage: evergate serve [flags]\n", "", 0},
		{"--version", "", "evergate dev (commit unknown, go", "", 0},
		{"version", "EVERGATE_LOG_FORMAT=", "evergate dev (commit unknown, go", "", 0},
		{"serv", "", "", "evergate: there is no command serv, did you mean \"serve\"?\nRun \"evergate --help\" for help.\n", 2},
		{"serve --lisen x", "", "", "evergate: unknown flag --lisen, did you mean \"--listen\"?\nRun \"evergate serve --help\" for help.\n", 2},
		{"version", "EVERGATE_LOG_FORMAT=xml", "", "evergate: EVERGATE_LOG_FORMAT=\"xml\": must be one of text, json, auto\n", 2},
		{"upgrade", "", "", "evergate: --pid-file is needed, or EVERGATE_PID_FILE\n", 2},
		{"check", "", "", "evergate.yaml: there is no such file", 1},
	} {
		t.Run(tt.line+tt.env, func(t *testing.T) {
			t.Parallel()
			c := program(t, strings.Fields(tt.line)...)
			c.Env = append(c.Env, "EVERGATE_CONFIG=", "EVERGATE_PID_FILE=", tt.env)
			var out, errs bytes.Buffer
			c.Stdout, c.Stderr = &out, &errs
			_ = c.Run() // its exit code tells
			if c.ProcessState.ExitCode() != tt.code || !begins(out.String(), tt.out) || !begins(errs.String(), tt.errs) {
				t.Errorf("exit code %d\n%s\n%s", c.ProcessState.ExitCode(), out.String(), errs.String())
			}
		})
	}
}

// begins says whether a text begins as it should, or is empty as it should be.
func begins(text, with string) bool {
	return strings.HasPrefix(text, with) && (text == "") == (with == "")
}

// whole is a type whose methods are there to be kept or left out.
type whole struct{ n int }

//go:noinline
func (w *whole) CalledByName() { w.n++ }

//go:noinline
func (w *whole) CalledByNobody() { w.n++ }

// The linker keeps every exported method of every type that is turned into an interface as soon as anything that can be
// reached looks methods up by a name it does not know beforehand, as template engines and some flag parsers do: that made
// the program half as large again. This binary holds the whole program, so it shows whether anything does.
func TestNoMethodIsLookedUpByName(t *testing.T) {
	t.Parallel()
	reflect.ValueOf(any(&whole{})).Interface().(interface{ CalledByName() }).CalledByName()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	there := func(method string) bool { // the whole name is put together here, or the binary would have it for that
		return bytes.Contains(binary, []byte("evergate/cmd/evergate.(*whole)."+method))
	}
	if !there("CalledByName") {
		t.Fatal("the binary does not name its functions: this test shows nothing")
	}
	if there("CalledByNobody") {
		t.Error("some package looks up methods by name, and the linker keeps all of them; " +
			"go build -ldflags=-dumpdep ./cmd/evergate 2>&1 | grep ReflectMethod names it")
	}
}

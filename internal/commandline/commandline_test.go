package commandline

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

type program struct {
	Log string `help:"text or json" enum:"text,json" default:"text" env:"T_LOG"`

	Put    put      `cmd:"" help:"Put a thing somewhere, and say at length, so that the line does not fit, why it was put there."`
	Remove struct{} `cmd:"" help:"Remove it."`
}

type put struct {
	What    string        `arg:"" help:"The thing."`
	Where   string        `arg:"" optional:"" help:"The place."`
	Config  string        `short:"c" help:"Config file." type:"path" env:"T_CONFIG"`
	DryRun  bool          `short:"n" help:"Do nothing." env:"T_DRY_RUN"`
	Loud    bool          `short:"l" help:"Say so."`
	Every   time.Duration `help:"How often" default:"1m" env:"T_EVERY"`
	Seed    *uint64       `help:"Seed." env:"T_SEED"`
	JSON    bool          `help:"As JSON." env:"T_JSON"`
	With    []string      `name:"by" help:"By whom; may be repeated." placeholder:"NAME" env:"T_BY"`
	Address string        `help:"A default that is too long for its column." default:"http://127.0.0.1:8080" env:"T_ADDRESS"`
	Token   string        `help:"Token." required:"" env:"T_TOKEN"`
}

// parse reads a command line, its words parted by spaces.
func parse(line string, env map[string]string) (p *program, chosen any, out string, err error) {
	var b strings.Builder
	p = &program{}
	chosen, err = (&Program{
		Name: "prog", About: "It puts things.", Version: "prog 1.2", Out: &b,
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}).Parse(p, strings.Fields(line))
	return p, chosen, b.String(), err
}

func TestParse(t *testing.T) {
	t.Parallel()
	seven := uint64(7)
	base := func(change func(*put)) put {
		p := put{What: "it", Every: time.Minute, Address: "http://127.0.0.1:8080", Token: "t"}
		change(&p)
		return p
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, line string
		env        map[string]string
		log        string
		want       put
	}{
		{"defaults", "put it --token t", nil, "text", base(func(*put) {})},
		{
			"flags everywhere", "--log json put --every 2s it --token=t there --json", nil, "json",
			base(func(p *put) { p.Where, p.Every, p.JSON = "there", 2*time.Second, true }),
		},
		{"a flag of the program behind the command", "put it --token t --log=json", nil, "json", base(func(*put) {})},
		{"the last one counts", "--log json put it --token s --token t --log text", nil, "text", base(func(*put) {})},
		{
			"letters together, a value joined on", "put it --token t -nlcx/y", nil, "text",
			base(func(p *put) { p.DryRun, p.Loud, p.Config = true, true, filepath.Join(dir, "x/y") }),
		},
		{"a letter with = or a space", "put it --token t -c=x -c y", nil, "text", base(func(p *put) { p.Config = filepath.Join(dir, "y") })},
		{"a path below home", "put it --token t --config ~/x", nil, "text", base(func(p *put) { p.Config = filepath.Join(home, "x") })},
		{"standard input", "put it --token t -c -", nil, "text", base(func(p *put) { p.Config = "-" })},
		{"a list", "put it --token t --by a --by b,c", nil, "text", base(func(p *put) { p.With = []string{"a", "b", "c"} })},
		{"a bool with a value", "put it --token t --json=no", map[string]string{"T_JSON": "1"}, "text", base(func(*put) {})},
		{"words behind --", "put --token t -- --it", nil, "text", base(func(p *put) { p.What = "--it" })},
		{
			"the environment", "put it",
			map[string]string{"T_TOKEN": "t", "T_LOG": "json", "T_DRY_RUN": "yes", "T_SEED": "7", "T_BY": "a,b"},
			"json",
			base(func(p *put) { p.DryRun, p.Seed, p.With = true, &seven, []string{"a", "b"} }),
		},
		{
			"flag before environment", "--log text put it --token t --seed 7 --every 0",
			map[string]string{"T_LOG": "json", "T_SEED": "bad", "T_EVERY": "bad"},
			"text",
			base(func(p *put) { p.Seed, p.Every = &seven, 0 }),
		},
		{"an empty variable is none", "put it --token t", map[string]string{"T_LOG": "", "T_EVERY": "", "T_ADDRESS": ""}, "text", base(func(*put) {})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, chosen, out, err := parse(tt.line, tt.env)
			if err != nil || out != "" || chosen != any(&p.Put) {
				t.Fatalf("%v, %T, %q", err, chosen, out)
			}
			if d := cmp.Diff(tt.want, p.Put); d != "" || p.Log != tt.log {
				t.Errorf("log %s (want %s); want - got +:\n%s", p.Log, tt.log, d)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	const top, below = "\nRun \"prog --help\" for help.", "\nRun \"prog put --help\" for help."
	for line, want := range map[string]string{
		"--log json":                  "which command?" + top,
		"pit":                         `there is no command pit, did you mean "put"?` + top,
		"nonsense":                    "there is no command nonsense" + top,
		"--lig text put it":           `unknown flag --lig, did you mean "--log"?` + top,
		"--log=xml put it":            `invalid argument "xml" for "--log" flag: must be one of text, json` + top,
		"put it --evry 1s":            `unknown flag --evry, did you mean "--every"?` + below,
		"put it --nonsense":           "unknown flag --nonsense" + below,
		"put it -nx":                  "unknown shorthand flag: 'x' in -x" + below,
		"put it --every":              "flag needs an argument: --every" + below,
		"put it --every x":            `invalid argument "x" for "--every" flag: must be a time such as 500ms, 30s or 1m` + below,
		"put it --seed -1":            `invalid argument "-1" for "--seed" flag: must be a whole number, not below 0` + below,
		"put it --json=x":             `invalid argument "x" for "--json" flag: must be true or false` + below,
		"put --token t":               "<what> is needed" + below,
		"put it":                      "--token is needed, or T_TOKEN" + below,
		"put it there then --token t": "unexpected argument then" + below,
	} {
		if _, chosen, out, err := parse(line, nil); err == nil || err.Error() != want || chosen != nil || out != "" {
			t.Errorf("%s: %v, want %s (%v, %q)", line, err, want, chosen, out)
		}
	}
	if _, _, _, err := parse("put it --token t", map[string]string{"T_EVERY": "x"}); err == nil || err.Error() != `T_EVERY="x": must be a time such as 500ms, 30s or 1m`+below {
		t.Errorf("a wrong variable: %v", err)
	}
}

// Help and version are given wherever they are asked for, whatever else is missing.
func TestHelp(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"help.txt":    {"", "--help", "-h", "--log json -h"},
		"put.txt":     {"put --help", "put it -nh", "--log json put --help more"},
		"version.txt": {"--version", "put --version", "--version put"},
		"remove.txt":  {"remove -h"},
	} {
		for _, line := range lines {
			_, chosen, out, err := parse(line, nil)
			if err != nil || chosen != nil {
				t.Errorf("%s: %v, %v", line, chosen, err)
			}
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), out); d != "" {
				t.Errorf("%s: want - got +:\n%s", line, d)
			}
		}
	}
}

package evergate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"evergate/internal/config"
)

// Every error code is documented, and no other.
func TestErrorCodes(t *testing.T) {
	t.Parallel()
	ingress := sources(t, "internal/ingress/*.go")
	there := slices.Concat(found(ingress, `code[A-Z]\w+ += "(\w+)"`), found(ingress, `failure\(http\.\w+, "(\w+)"`))
	same(t, "docs/api.md: codes", column(table(t, "docs/api.md", "codes"), 0), there)
	admin := sources(t, "internal/admin/*.go")
	there = slices.Concat(found(admin, `(?:writeError\(w, |refusal\{\s*)http\.\w+, "(\w+)"`), found(admin, `errorBody\{"[^"]*", "(\w+)"`))
	same(t, "docs/operations.md: codes", column(table(t, "docs/operations.md", "admin codes"), 0), there)
}

// Every word that may stand in a trail is documented, and no other.
func TestTrailWords(t *testing.T) {
	t.Parallel()
	const doc = "docs/failover.md"
	_, classes, _ := strings.Cut(source(t, "internal/fault/fault.go"), "classWords = ")
	classes, _, _ = strings.Cut(classes, "}")
	same(t, doc+": fault words", column(table(t, doc, "fault words"), 0), found(classes, `: "(\w+)"`))
	same(t, doc+": reasons", column(table(t, doc, "block reasons"), 0), found(source(t, "internal/resilience/resilience.go"), `Reason += "(\w+)"`))
	same(t, doc+": why", column(table(t, doc, "why words"), 0), found(source(t, "internal/failover/session.go"), `Why += "(\w+)"`))
}

// The numbers of the classes are those of the table.
func TestClassNumbers(t *testing.T) {
	t.Parallel()
	for _, row := range table(t, "docs/failover.md", "class numbers") {
		class := words(row[0])[0]
		cfg, err := config.Parse(class, []byte("providers: { p: { type: openai, api_key: x, class: "+class+" } }"), keysOnly)
		if err != nil {
			t.Fatal(err)
		}
		b := cfg.Providers[0].Resilience.Breaker
		if timeout, err := time.ParseDuration(row[2]); err != nil || row[1] != strconv.Itoa(b.FailureThreshold) || timeout != b.Timeout {
			t.Errorf("docs/failover.md: %s has %s and %s, the program %d and %v (%v)", class, row[1], row[2], b.FailureThreshold, b.Timeout, err)
		}
	}
}

// command is one of the program's, by its flags.
type command struct{ flags []flagOf }

type flagOf struct{ name, short, env, def string }

// commands reads the command line out of the program's source: the struct tags of package commandline.
func commands(t *testing.T) map[string]command {
	t.Helper()
	structs := map[string]*ast.StructType{}
	files, err := parser.ParseDir(token.NewFileSet(), "cmd/evergate", nil, 0) //nolint:staticcheck // build tags do not matter here
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(files["main"], func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			if st, ok := s.Type.(*ast.StructType); ok {
				structs[s.Name.Name] = st
			}
		}
		return true
	})
	out := map[string]command{}
	var global []flagOf
	for _, f := range structs["cli"].Fields.List {
		tag := tagOf(t, f)
		if _, is := tag.Lookup("cmd"); !is {
			global = append(global, flag(f, tag))
			continue
		}
		var c command
		for _, ff := range structs[f.Type.(*ast.Ident).Name].Fields.List {
			if _, is := tagOf(t, ff).Lookup("arg"); !is {
				c.flags = append(c.flags, flag(ff, tagOf(t, ff)))
			}
		}
		out[strings.ToLower(f.Names[0].Name)] = c
	}
	out["all"] = command{flags: global}
	return out
}

func tagOf(t *testing.T, f *ast.Field) reflect.StructTag {
	t.Helper()
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		t.Fatal(err)
	}
	return reflect.StructTag(text)
}

func flag(f *ast.Field, tag reflect.StructTag) flagOf {
	name := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(f.Names[0].Name, "$1-$2")
	return flagOf{name: strings.ToLower(name), short: tag.Get("short"), env: tag.Get("env"), def: tag.Get("default")}
}

// Every command and flag is documented, with its variable and default, and no other.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	const doc = "docs/operations.md"
	var names, flags, documented []string
	for name, c := range commands(t) {
		if name != "all" {
			names = append(names, name)
		}
		for _, f := range c.flags {
			flags = append(flags, strings.Join([]string{name, f.short, f.name, f.env, f.def}, " "))
		}
	}
	same(t, doc+": commands", column(table(t, doc, "commands"), 0), names)
	for _, row := range table(t, doc, "flags") {
		name, short, flag := strings.Trim(row[0], "`"), "", words(row[1])
		if len(flag) == 2 {
			short = strings.TrimPrefix(flag[0], "-")
		}
		documented = append(documented, strings.Join([]string{name, short, strings.TrimPrefix(flag[len(flag)-1], "--"), words(row[2])[0], strings.Trim(row[3], "`")}, " "))
	}
	same(t, doc+": flags", documented, flags)
}

var called = regexp.MustCompile("(?m)(?:^|[`/ ])evergate ([a-z]+)((?: [^`#\n]*)?)")

// Every command that the documents tell a reader to run exists, with its flags.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	all := commands(t)
	seen := 0
	check := func(place, text string) {
		for _, m := range called.FindAllStringSubmatch(text, -1) {
			c, ok := all[m[1]]
			if !ok {
				t.Errorf("%s: there is no command evergate %s", place, m[1])
				continue
			}
			seen++
			for _, word := range strings.Fields(m[2]) {
				word, _, _ = strings.Cut(word, "=")
				is := func(f flagOf) bool { return word == "--"+f.name || word == "-"+f.short }
				if strings.HasPrefix(word, "-") && !slices.ContainsFunc(c.flags, is) && !slices.ContainsFunc(all["all"].flags, is) {
					t.Errorf("%s: evergate %s has no flag %s", place, m[1], word)
				}
			}
		}
	}
	for doc, text := range pages(t) {
		for _, b := range blocks(doc, text) {
			if b.lang == "sh" || b.lang == "ini" {
				check(b.place, b.text)
			}
		}
		for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
			check(doc, "`"+span[1])
		}
	}
	if seen < 15 {
		t.Errorf("only %d commands found", seen)
	}
}

// Every header of the gateway's own that the documents name is one that it sends.
func TestDocumentedHeaders(t *testing.T) {
	t.Parallel()
	const pattern = `(?i)["\x60 \n](x-(?:evergate|should|request|accel|admin|mock)-[a-z-]*[a-z])`
	there := found(strings.ToLower(sources(t, "internal/*/*.go")), pattern)
	for doc, text := range pages(t) {
		for _, name := range found(strings.ToLower(text), pattern) {
			if strings.HasPrefix(name, "x-evergate-key-") { // a provider's name follows
				name = "x-evergate-key"
			}
			if !slices.Contains(there, name) {
				t.Errorf("%s names the header %s, which the program does not know", doc, name)
			}
		}
	}
	for _, name := range found(strings.ToLower(sources(t, "internal/ingress/*.go")), `(?:header\["|\.set\(")(x-[a-z-]+)"`) {
		if !slices.Contains(column(table(t, "docs/api.md", "reply headers"), 0), name) && name != "x-accel-buffering" {
			t.Errorf("docs/api.md does not name the header %s", name)
		}
	}
}

// The words for a client's dialect in logs and metrics are the documented ones.
func TestDialectWords(t *testing.T) {
	t.Parallel()
	const doc = "docs/operations.md"
	var there []string
	for _, room := range []string{"openaichat", "responses", "anthropic", "gemini"} {
		for _, name := range found(sources(t, "internal/wire/"+room+"/*.go"), `Name\(\) string \{ return "(\w+)"`) {
			if name != "vertex_embed" { // no client speaks it
				there = append(there, name)
			}
		}
	}
	there = append(there, found(source(t, "internal/wire/openaichat/side.go"), `Aside\{name: "(\w+)"`)...)
	for _, row := range table(t, doc, "log request") {
		if row[0] == "`dialect`" {
			same(t, doc+": dialects", words(row[1]), there)
			return
		}
	}
	t.Errorf("%s: the log line has no dialect", doc)
}

// Every message that the gateway logs beside its facts is documented, and no other.
func TestLogMessages(t *testing.T) {
	t.Parallel()
	there := slices.Concat(
		found(sources(t, "internal/app/*.go"), `\.log\.(?:Debug|Info|Warn|Error)\("([^"]+)"`),
		found(sources(t, "internal/alert/*.go"), `\.Log\.(?:Debug|Info|Warn|Error)\("([^"]+)"`),
		found(sources(t, "internal/telemetry/traces/*.go"), `\.log\.(?:Info|Warn)\("([^"]+)"`),
		found(sources(t, "internal/front/*.go"), `\blog\.(?:Info|Warn)\("([^"]+)"`),
		found(sources(t, "internal/telemetry/handler.go"), `slog\.LevelWarn, "([^"]+)"`),
		found(sources(t, "cmd/evergate/*.go"), `\blog(?:ger)?\.(?:Debug|Info|Warn|Error)\("([^"]+)"`),
	)
	same(t, "docs/operations.md: log messages", column(table(t, "docs/operations.md", "log messages"), 0), there)
}

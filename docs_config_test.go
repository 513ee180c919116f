package evergate_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evergate/internal/config"
	"evergate/internal/mock"
)

// keysOnly is an environment in which every credential has a value of its own and nothing else is set.
func keysOnly(name string) (string, bool) {
	if strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_SECRET") || strings.HasSuffix(name, "_REFRESH_TOKEN") {
		return "value-of-" + name, true
	}
	if strings.HasSuffix(name, "_HOOK_URL") {
		return "https://hooks.example/" + name, true
	}
	return "", false
}

// onePart is what a part of a config needs to be a whole one.
const onePart = "\nproviders: { some: { type: openai, api_key: x } }\n"

// Every block of YAML in the documents is what it says it is, and is sound: a config, a part of one, a scenario, or a
// mock's script.
func TestDocumentedFilesAreSound(t *testing.T) {
	t.Parallel()
	configs := 0
	for doc, text := range pages(t) {
		all := blocks(doc, text)
		for i, b := range all {
			switch {
			case b.lang != "yaml":
			case b.marker == "mock":
				if _, err := mock.ParseScript([]byte(b.text)); err != nil {
					t.Errorf("%s: %v", b.place, err)
				}
			case b.marker == "scenario":
				if _, err := config.ParseScenario(b.place, "", []byte(b.text), keysOnly); err != nil {
					t.Errorf("%v", err)
				}
			case strings.HasPrefix(b.marker, "config"):
				configs++
				text := b.text
				if b.marker == "config part" {
					text += onePart
				}
				cfg, err := config.Parse(b.place, []byte(text), keysOnly)
				if err != nil {
					t.Errorf("%v", err)
					continue
				}
				if len(cfg.Warnings) > 0 {
					t.Errorf("%v", cfg.Warnings)
				}
				if b.marker == "config check" && (i+1 == len(all) || all[i+1].text != cfg.Effective()) {
					t.Errorf("%s: the block after it is not what evergate check prints:\n%s", b.place, cfg.Effective())
				}
			default:
				t.Errorf("%s: a block of YAML needs <!-- config -->, <!-- config part -->, <!-- scenario --> or <!-- mock --> before it", b.place)
			}
		}
	}
	if configs < 10 {
		t.Errorf("only %d configs found", configs)
	}
}

// schemaObject is one definition of the JSON Schema.
type schemaObject struct {
	Properties map[string]struct {
		Description string
		Enum        []any
		AnyOf       []struct{ Enum []any }
	}
}

func schema(t *testing.T) map[string]schemaObject {
	t.Helper()
	var s struct {
		Defs map[string]schemaObject `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	return s.Defs
}

var builtIn = regexp.MustCompile(` Default: (.*)\.$`)

// Every key that the config knows is in the reference, with its default and its words, and no other.
func TestConfigReference(t *testing.T) {
	t.Parallel()
	const doc = "docs/config.md"
	defs := schema(t)
	markers := found(source(t, doc), `(?m)^<!-- keys: (.*) -->$`)
	var described []string
	for _, m := range markers {
		name, base, _ := strings.Cut(m, " like ")
		described = append(described, name)
		rows := table(t, doc, "keys: "+m)
		var there []string
		for key := range defs[name].Properties {
			if _, inherited := defs[base].Properties[key]; !inherited {
				there = append(there, key)
			}
		}
		same(t, doc+", "+name, column(rows, 0), there)
		for _, row := range rows {
			checkKey(t, name, row, defs)
		}
	}
	var there []string
	for name := range defs {
		there = append(there, name)
	}
	same(t, doc+": sections", described, there)
}

// checkKey looks at a row's type and default.
func checkKey(t *testing.T, section string, row []string, defs map[string]schemaObject) {
	t.Helper()
	key := strings.Trim(row[0], "`")
	p := defs[section].Properties[key]
	if m := builtIn.FindStringSubmatch(p.Description); m != nil && !slices.Contains(words(row[2]), m[1]) {
		t.Errorf("%s.%s: the default is %s, the reference says %q", section, key, m[1], row[2])
	}
	if key == "type" { // docs/providers.md has them
		return
	}
	enum := p.Enum
	for _, alternative := range p.AnyOf {
		enum = append(enum, alternative.Enum...)
	}
	enum = slices.DeleteFunc(enum, func(v any) bool { return v == false }) // "off" as older YAML writes it
	if len(enum) == 0 {
		return
	}
	var there []string
	for _, v := range enum {
		there = append(there, fmt.Sprint(v))
	}
	same(t, section+"."+key, words(row[1]), there)
}

// Every variable that the program reads is documented, and no other.
func TestVariables(t *testing.T) {
	t.Parallel()
	documented := column(table(t, "docs/config.md", "variables"), 0)
	same(t, "docs/config.md: variables", documented,
		found(sources(t, "internal/config/environment.go")+sources(t, "internal/config/build.go"), `"([A-Z]+(?:_[A-Z]+)+)"`))

	presets := table(t, "docs/providers.md", "presets")
	documented = append(column(presets, 3), column(presets, 4)...)
	same(t, "docs/providers.md: variables", documented, found(sources(t, "internal/config/presets.go"), `(?:keyEnv|urlEnv): "([A-Z_]+)"`))
}

// The table of presets says what the presets are.
func TestPresets(t *testing.T) {
	t.Parallel()
	rows := table(t, "docs/providers.md", "presets")
	var types []string
	for _, v := range schema(t)["provider"].Properties["type"].AnyOf[0].Enum {
		types = append(types, fmt.Sprint(v))
	}
	same(t, "docs/providers.md: types", column(rows, 0), types)
	for _, row := range rows {
		name := words(row[0])[0]
		if strings.Contains(row[1], "required") || strings.Contains(row[1], "{") { // no base URL of its own, or one for each region
			continue
		}
		text := fmt.Sprintf("server: { listen: 127.0.0.1:0 }\nproviders: { p: { type: %s, api_key: x } }", name)
		cfg, err := config.Parse(name, []byte(text), keysOnly)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		p := cfg.Providers[0]
		if got := p.Options.BaseURL.String(); got != words(row[1])[0] {
			t.Errorf("%s: base URL %s, documented %s", name, got, row[1])
		}
		if p.Class != words(row[2])[0] {
			t.Errorf("%s: class %s, documented %s", name, p.Class, row[2])
		}
		variable := words(row[3])[0]
		if p.Class == "local" {
			variable = words(row[4])[0]
		}
		checkDetected(t, name, variable, !strings.Contains(row[3], "not detected"))
	}
}

func checkDetected(t *testing.T, name, variable string, want bool) {
	t.Helper()
	_, got, err := config.Detect(func(v string) (string, bool) {
		if v == variable {
			return "http://127.0.0.1:9/v1", true
		}
		return "", false
	})
	if is := slices.Contains(got, name+" ("+variable+")"); err != nil || is != want {
		t.Errorf("with %s set, %s found is %t, want %t (%v, %v)", variable, name, is, want, got, err)
	}
}

// The types that are asked for usage are those of the text.
func TestUsageTypes(t *testing.T) {
	t.Parallel()
	_, text, ok := strings.Cut(source(t, "docs/providers.md"), "<!-- usage types -->")
	if !ok {
		t.Fatal("docs/providers.md has no <!-- usage types -->")
	}
	text, _, _ = strings.Cut(text, "and `openai-compatible`")
	same(t, "docs/providers.md: usage", words(text), found(sources(t, "internal/config/presets.go"), `\{name: "([a-z-]+)".*streamUsage: true`))
}

// Every key of a mock's script is documented, and no other. The parser itself says which there are.
func TestMockReference(t *testing.T) {
	t.Parallel()
	const doc = "docs/mock.md"
	known := func(script string) []string {
		_, err := mock.ParseScript([]byte(script))
		if err == nil {
			t.Fatalf("%s: no error", script)
		}
		_, list, _ := strings.Cut(err.Error(), "known are ")
		return strings.Split(list, ", ")
	}
	same(t, doc+": rule", column(table(t, doc, "mock rule"), 0), known("rules: [{q: 1}]"))
	same(t, doc+": behaviour", column(table(t, doc, "mock behaviour"), 0), known("defaults: {q: 1}"))
	for _, key := range known("q: 1") {
		if !regexp.MustCompile(`(?m)^` + key + `:`).MatchString(source(t, doc)) {
			t.Errorf("%s: %s exists and is not documented", doc, key)
		}
	}
	choose, _, _ := strings.Cut(source(t, "internal/mock/choose.go"), "func (p *Provider) choose")
	var models []string
	for _, cases := range found(choose, `case ((?:"[a-z-]+",? ?)+):`) {
		for _, name := range found(cases, `"([a-z-]+)"`) {
			models = append(models, "mock-"+name)
		}
	}
	same(t, doc+": models", column(table(t, doc, "mock models"), 0), append(models, "mock-NNN"))
}

package importer

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samples are the sources of testdata, by format.
func samples(t testing.TB) map[string][]Source {
	t.Helper()
	out := map[string][]Source{}
	for _, format := range Formats() {
		files, err := filepath.Glob(filepath.Join("testdata", format, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.Contains(file, ".golden.") {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out[format] = append(out[format], Source{Format: format, Name: filepath.Base(file), Data: data})
		}
	}
	return out
}

// What comes of each sample, and what is said of it, is what stands in the golden files. Neither holds a secret of the source.
func TestSamples(t *testing.T) {
	t.Parallel()
	for format, sources := range samples(t) {
		for _, src := range sources {
			t.Run(format+"/"+src.Name, func(t *testing.T) {
				t.Parallel()
				result, err := Convert(src)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", format, src.Name+".golden.yaml"), result.YAML)
				golden(t, filepath.Join("testdata", format, src.Name+".golden.txt"), []byte(result.Report.Text()))
				asJSON, err := json.Marshal(result.Report)
				if err != nil {
					t.Fatal(err)
				}
				for name, text := range map[string]string{"the configuration": string(result.YAML), "the report": result.Report.Text(), "the report in JSON": string(asJSON)} {
					if strings.Contains(text, "LITERAL-SECRET") {
						t.Errorf("%s holds a secret of the source", name)
					}
				}
				if r := result.Report; r.Keys != r.Carried+r.Approximated+r.Left || r.Keys == 0 {
					t.Errorf("%d values are not %d carried, %d approximated and %d left out", r.Keys, r.Carried, r.Approximated, r.Left)
				}
			})
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it):\n%s", name, diff)
	}
}

// The variables that the report lists are those that the configuration names, and with them set, and no others, it loads.
func TestVariables(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`[^$]\$\{([A-Z_a-z0-9]+)`)
	for format, sources := range samples(t) {
		for _, src := range sources {
			result, err := Convert(src)
			if err != nil {
				t.Fatal(err)
			}
			listed := map[string]bool{}
			for _, v := range result.Report.Variables {
				listed[v.Name] = false
			}
			body := result.YAML[bytes.Index(result.YAML, []byte("\n\n")):]
			for _, m := range named.FindAllSubmatch(body, -1) {
				if _, ok := listed[string(m[1])]; !ok {
					t.Errorf("%s/%s: the report does not list %s", format, src.Name, m[1])
				}
				listed[string(m[1])] = true
			}
			for name, used := range listed {
				if !used {
					t.Errorf("%s/%s: the report lists %s, which the configuration does not name", format, src.Name, name)
				}
			}
			if _, err := config.Parse("converted.yaml", result.YAML, func(string) (string, bool) { return "", false }); err == nil {
				t.Errorf("%s/%s loads without its variables", format, src.Name)
			}
		}
	}
}

// A setting that no line of the importer knows, put wherever a mapping stands, is reported, unless it is carried over by its name or stands in what is
// left out as a whole.
func TestNothingIsDroppedInSilence(t *testing.T) {
	t.Parallel()
	for format, sources := range samples(t) {
		for _, src := range sources {
			if strings.HasSuffix(src.Name, ".env") {
				continue
			}
			root, err := readSource(src)
			if err != nil {
				t.Fatal(err)
			}
			var places []*node
			var walk func(n *node)
			walk = func(n *node) {
				if n.kind == mappingNode {
					places = append(places, n)
				}
				n.children(walk)
			}
			walk(root)
			for _, at := range places {
				at.pairs = append(at.pairs, pair{key: "zzz_unheard", value: &node{kind: scalarNode, text: "1", typed: true}})
				text := asJSON(root)
				at.pairs = at.pairs[:len(at.pairs)-1]
				c, err := read(Source{Format: format, Name: "x.json", Data: []byte(text)})
				if err != nil {
					t.Fatal(err)
				}
				report := c.finish()
				if !told(&report, c.write(), at.path) {
					t.Errorf("%s/%s: a key that nobody knows, below %q, is in neither the report nor the configuration", format, src.Name, at.path)
				}
			}
		}
	}
}

// told says whether the unheard key below path is in the report, or in the configuration.
func told(report *Report, text, path string) bool {
	if strings.Contains(text, "zzz_unheard") {
		return true
	}
	for _, n := range report.Notes {
		whole := n.Path == path || n.Path != "" && (strings.HasPrefix(path, n.Path+".") || strings.HasPrefix(path, n.Path+"["))
		if strings.Contains(n.Path, "zzz_unheard") || whole && n.Kind != Secret {
			return true
		}
	}
	return false
}

// asJSON writes a source as JSON, which is YAML, too.
func asJSON(n *node) string {
	var b strings.Builder
	switch n.kind {
	case nullNode:
		return "null"
	case scalarNode:
		if n.typed && json.Valid([]byte(n.text)) {
			return n.text
		}
		out, _ := json.Marshal(n.text)
		return string(out)
	case listNode:
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(asJSON(item))
		}
		return "[" + b.String() + "]"
	case mappingNode:
		for i, p := range n.pairs {
			if i > 0 {
				b.WriteString(",\n")
			}
			key, _ := json.Marshal(p.key)
			b.WriteString(string(key) + ": " + asJSON(p.value))
		}
	}
	return "{" + b.String() + "}"
}

// Each word for a provider names a type that the checker knows.
func TestKinds(t *testing.T) {
	t.Parallel()
	providers := &mapping{}
	for word, k := range kinds() {
		m := &mapping{}
		m.set("type", text(k.typ))
		switch k.typ {
		case "openai-compatible", "azure-openai":
			m.set("base_url", text("https://x.example.com"))
		case "bedrock":
			m.set("region", text("us-east-1"))
		case "vertex":
			m.set("project", text("p"))
			m.set("location", text("global"))
		}
		if k.key != "" {
			m.set("api_key", text("k"))
		}
		if k.base != "" && !webAddress(k.base) {
			t.Errorf("%s: %s is no address", word, k.base)
		}
		providers.set(word, m)
	}
	var w writer
	w.WriteString("server: { listen: \"127.0.0.1:9999\" }\n")
	w.mapping(&mapping{pairs: []field{{key: "providers", value: providers}}}, "")
	if _, err := config.Parse("c", []byte(w.String()), func(string) (string, bool) { return "", false }); err != nil {
		t.Error(err)
	}
}

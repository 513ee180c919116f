package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
)

// documented are the values whose default the README tells in words, and which it does not take apart.
var documented = map[string]string{
	"config":    "one provider, one model, one key",
	"resources": "250m CPU and 128Mi, limit 512Mi",
}

// The README has a line for each value, with its default.
func TestChartsValuesAreDocumented(t *testing.T) {
	defaults := map[string]string{}
	flatten(chartValues(t), "", defaults)
	line := regexp.MustCompile("(?m)^\\| `([a-zA-Z.]+)` \\| (.+?) \\|")
	for _, m := range line.FindAllStringSubmatch(text(t, chart+"/README.md"), -1) {
		want, ok := defaults[m[1]]
		if !ok {
			t.Errorf("README: %s is no value", m[1])
		}
		if words := documented[m[1]]; words != "" {
			want = words
		}
		if m[2] != want {
			t.Errorf("README: the default of %s is %s, not %s", m[1], want, m[2])
		}
		delete(defaults, m[1])
	}
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		t.Errorf("README: %s is missing", name)
	}
}

// The schema knows each value, and no other.
func TestChartsSchemaHasEachValue(t *testing.T) {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(text(t, chart+"/values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	properties(schema.Properties, "", known)
	delete(known, "global") // Helm's own
	defaults := map[string]string{}
	flatten(chartValues(t), "", defaults)
	for name := range defaults {
		if !known[name] {
			t.Errorf("the schema lacks %s", name)
		}
		delete(known, name)
	}
	for name := range known {
		if !strings.HasPrefix(name, "resources.") {
			t.Errorf("%s of the schema is no value", name)
		}
	}
}

func chartValues(t *testing.T) map[string]any {
	t.Helper()
	v, err := common.ReadValues([]byte(text(t, chart+"/values.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// flatten gives each value by its path, as the README writes it.
func flatten(v map[string]any, path string, out map[string]string) {
	for key, value := range v {
		name := path + key
		sub, isMap := value.(map[string]any)
		switch {
		case isMap && len(sub) > 0 && documented[name] == "":
			flatten(sub, name+".", out)
		default:
			text, err := json.Marshal(value)
			if err != nil {
				text = fmt.Append(nil, err)
			}
			if s, ok := value.(string); ok && s != "" {
				text = []byte(s)
			}
			out[name] = "`" + string(text) + "`"
		}
	}
}

// properties gives each leaf of a schema by its path.
func properties(of map[string]any, path string, out map[string]bool) {
	for name, p := range of {
		p, _ := p.(map[string]any)
		if sub, ok := p["properties"].(map[string]any); ok && documented[path+name] == "" {
			properties(sub, path+name+".", out)
			continue
		}
		out[path+name] = true
	}
}

// The values that the documentation shows are right, and so is what it says of the defaults.
func TestDocumentedValuesAreRight(t *testing.T) {
	page := text(t, "docs/deploying.md")
	m := regexp.MustCompile(`(?s)cat > values.yaml <<'EOF'\n(.*?)\nEOF\n`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("it shows no values")
	}
	checkConfig(t, rendered(t, m[1]).config)

	defaults := rendered(t)
	for what, want := range map[string]string{
		"the grace period": fmt.Sprintf("%d s by default", *defaults.deploy.Spec.Template.Spec.TerminationGracePeriodSeconds),
		"the client port":  fmt.Sprintf("port %d.", defaults.service["evergate"].Spec.Ports[0].Port),
		"the admin port":   fmt.Sprintf("have port %d", defaults.service["evergate-admin"].Spec.Ports[0].Port),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: docs/deploying.md does not say %q", what, want)
		}
	}
}

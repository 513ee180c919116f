package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	grafana "github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// strict reads JSON into one of Grafana's own types, which know each of their fields and no other.
type strict interface {
	UnmarshalJSONStrict(raw []byte) error
	Validate() error
}

// misfits are what Grafana's schema has against a piece of JSON.
func misfits(where string, raw []byte, into strict) (out []string) {
	for _, err := range []error{into.UnmarshalJSONStrict(raw), into.Validate()} {
		var many cog.BuildErrors
		switch {
		case errors.As(err, &many): // none of them is an error, too
			for _, one := range many {
				out = append(out, where+": "+one.Error())
			}
		case err != nil:
			out = append(out, where+": "+err.Error())
		}
	}
	return out
}

// misfit are what it has against a dashboard, its variables, its panels with their queries and options, and how their fields are drawn.
func misfit(t *testing.T, file string) (out []string) {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	var d struct{ Panels []json.RawMessage }
	if err := json.Unmarshal([]byte(file), &d); err != nil {
		t.Fatal(err)
	}
	out = misfits("dashboard", []byte(file), &grafana.Dashboard{}) //nolint:staticcheck // the schema of what is imported as JSON; the new one is of resources
	for _, raw := range d.Panels {
		var p struct {
			Type, Title string
			FieldConfig json.RawMessage
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatal(err)
		}
		if p.Type == "row" {
			continue
		}
		where := fmt.Sprintf("panel %q", p.Title)
		if _, known := cog.ConfigForPanelcfgVariant(p.Type); !known {
			out = append(out, where+": Grafana has no panel of type "+p.Type)
		}
		out = append(out, misfits(where+", fieldConfig", p.FieldConfig, &grafana.FieldConfigSource{})...) // a panel takes any
	}
	return out
}

// The dashboard is one by Grafana's own schema: no field that it does not know, none that is missing, none of another type.
func TestGrafanasSchema(t *testing.T) {
	good := text(t, dashboardFile)
	for _, wrong := range misfit(t, good) {
		t.Error(wrong)
	}
	for what, change := range map[string][2]string{
		"a field of a panel that is none":   {`"type": "stat",`, `"type": "stat", "titel": "x",`},
		"a type of panel that is none":      {`"type": "stat",`, `"type": "stats",`},
		"an option that is none":            {`"colorMode": "`, `"colourMode": "`},
		"an option of another type":         {`"graphMode": "area"`, `"graphMode": 3`},
		"a field of a query that is none":   {`"expr": "`, `"exprs": "`},
		"a field's setting that is none":    {`"unit": "`, `"units": "`},
		"a drawing's setting that is none":  {`"lineWidth": `, `"lineWidths": `},
		"a place that is no number":         {`"w": 24,`, `"w": "24",`},
		"a variable's setting that is none": {`"includeAll": `, `"includeEverything": `},
	} {
		if !strings.Contains(good, change[0]) {
			t.Errorf("%s: the dashboard has no %s", what, change[0])
		} else if len(misfit(t, strings.Replace(good, change[0], change[1], 1))) == 0 {
			t.Errorf("%s goes through", what)
		}
	}
}

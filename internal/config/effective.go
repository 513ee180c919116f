package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// headline are the settings in the first table of Effective, with the words over them.
var headline = [][2]string{
	{"retry.max_retries", "max_retries"},
	{"circuit_breaker.failure_threshold", "failure_threshold"},
	{"circuit_breaker.timeout", "cb timeout"},
}

// Effective says what is in force, for people: a table with a row per provider, then for each provider every other
// setting that is not built in, with where it came from. It shows no secret.
func (c *Config) Effective() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	header := []string{"provider", "type", "class", "base url", "keys"}
	for _, h := range headline {
		header = append(header, h[1])
	}
	row(w, header)
	for _, p := range c.Providers {
		cells := []string{p.Options.Name, p.Options.Type, p.Class, p.Options.BaseURL.String(), keyCount(p)}
		if p.Disabled {
			cells[0] += " (disabled)"
		}
		for _, h := range headline {
			cells = append(cells, p.setting(h[0]))
		}
		row(w, cells)
	}
	_ = w.Flush() // a strings.Builder takes everything
	for _, p := range c.Providers {
		p.rest(&b)
	}
	return b.String()
}

func row(w *tabwriter.Writer, cells []string) { _, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) }

// keyCount is the number of real keys, or whose account pays without one.
func keyCount(p Provider) string {
	n := 0
	for _, k := range p.Options.Credentials {
		if k.Value != "" || k.OAuth != nil {
			n++
		}
	}
	switch {
	case n > 0:
		return fmt.Sprint(n)
	case p.Options.Type == bedrock:
		return "AWS"
	case p.Options.Type == vertex:
		return "Google"
	case p.Options.Entra.ClientID != "":
		return "Entra"
	}
	return "none"
}

// setting is one value with its origin, such as 5 (override).
func (p Provider) setting(name string) string {
	for _, s := range p.Settings {
		if s.Name == name {
			return fmt.Sprintf("%s (%s)", s.Value, s.From)
		}
	}
	return ""
}

func (p Provider) rest(b *strings.Builder) {
	first := true
	for _, s := range p.Settings {
		if s.From == FromBuiltIn || slices.ContainsFunc(headline, func(h [2]string) bool { return h[0] == s.Name }) {
			continue
		}
		if first {
			fmt.Fprintf(b, "\n%s:\n", p.Options.Name)
			first = false
		}
		fmt.Fprintf(b, "  %s: %s (%s)\n", s.Name, s.Value, s.From)
	}
}

// Format keeps secrets out of every print, even those that Options holds as plain text (headers, a proxy's password).
func (p Provider) Format(f fmt.State, _ rune) {
	names := make([]string, 0, len(p.Options.Credentials))
	for _, k := range p.Options.Credentials {
		names = append(names, k.Name)
	}
	_, _ = fmt.Fprintf(f, "{%s %s %s keys:%v}", p.Options.Name, p.Options.Type, p.Class, names)
}

// MarshalJSON gives the same as Format, with the settings.
func (p Provider) MarshalJSON() ([]byte, error) { return marshalProvider(p) }

func marshalProvider(p Provider) ([]byte, error) {
	names := make([]string, 0, len(p.Options.Credentials))
	for _, k := range p.Options.Credentials {
		names = append(names, k.Name)
	}
	base := ""
	if p.Options.BaseURL != nil {
		base = p.Options.BaseURL.String()
	}
	return json.Marshal(struct {
		Name     string    `json:"name"`
		Type     string    `json:"type"`
		Class    string    `json:"class"`
		Disabled bool      `json:"disabled"`
		BaseURL  string    `json:"base_url"`
		Keys     []string  `json:"keys"`
		Models   []string  `json:"models"`
		Settings []Setting `json:"settings"`
	}{p.Options.Name, p.Options.Type, p.Class, p.Disabled, base, names, p.Models, p.Settings})
}

package modelfacts

import (
	"bytes"
	_ "embed" // the file below
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed models.json
var models string

// document is the file: where its facts were read, and one entry for each model.
type document struct {
	Sources map[string]string `json:"sources"`
	Models  []record          `json:"models"`
}

// record is one entry. Host is the provider type at which it holds; empty: it is its maker's own, and holds wherever
// the maker's model is served. Sources are those that were compared for it.
type record struct {
	ID   string `json:"id"`
	Host string `json:"host,omitempty"`
	Override
	AsOf    string   `json:"as_of"`
	Sources []string `json:"sources"`
}

// Catalogue finds models' facts. It is frozen once made, and safe for concurrent use.
type Catalogue struct{ entries map[key]*entry }

type key struct{ host, id string }

// entry has the facts twice: what a model can do is the same everywhere, what it costs is not.
type entry struct {
	whole, unpriced *Facts
	read            *entry // the same where files are read for it; nil: it takes them, or nobody knows
}

func newEntry(whole Facts) *entry {
	unpriced := whole
	unpriced.Prices = Prices{}
	return &entry{whole: &whole, unpriced: &unpriced}
}

// Embedded reads the catalogue that was built in. An error is a bug: a test reads it first.
func Embedded() (*Catalogue, error) { return parse([]byte(models)) }

func parse(file []byte) (*Catalogue, error) {
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	var doc document
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("the model catalogue: %w", err)
	}
	c := &Catalogue{entries: make(map[key]*entry, 2*len(doc.Models))}
	for i := range doc.Models {
		r := &doc.Models[i]
		whole := r.over(Facts{ID: r.ID, AsOf: r.AsOf, Sources: strings.Join(r.Sources, ", ")})
		e := newEntry(whole)
		if whole.Input != 0 && whole.Input&File == 0 {
			whole.Input |= File
			e.read = newEntry(whole)
		}
		c.entries[key{r.Host, r.ID}] = e
		if dotted := dotted(r.ID); dotted != r.ID {
			c.entries[key{r.Host, dotted}] = e
		}
	}
	return c, nil
}

// dotted is a Claude's id as OpenRouter and others write it: claude-sonnet-4.5 for claude-sonnet-4-5.
func dotted(id string) string {
	if !strings.HasPrefix(id, "claude-") {
		return id
	}
	digit := func(i int) bool { return i >= 0 && i < len(id) && id[i] >= '0' && id[i] <= '9' }
	for i := range id {
		if id[i] == '-' && digit(i-1) && !digit(i-2) && digit(i+1) && !digit(i+2) {
			return id[:i] + "." + id[i+1:]
		}
	}
	return id
}

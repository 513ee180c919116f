// Package importer turns the configuration of another gateway into one of ours, and says what it could not carry over.
//
// It owns the reading of those formats, the names of variables that secrets are put into, and the report. Each format fills the same draft, which is
// written in one place and then loaded by the checker that `evergate check` uses. Nothing of a source is dropped in silence: what no line of code looked
// at is found when the source is walked at the end, and reported. A secret that stands in a source is never written anywhere. The package opens no file and
// reads no environment; it must not know how a gateway is run.
package importer

import (
	"errors"
	"fmt"
	"strings"

	"evergate/internal/config"
)

// Formats are the gateways whose configurations can be read.
func Formats() []string { return []string{"litellm", "gomodel", "portkey", "bifrost"} }

// Result is what became of a source.
type Result struct {
	// YAML is the configuration, with comments. It passes the checker.
	YAML   []byte
	Report Report
}

// Source is the file of another gateway.
type Source struct {
	// Format is one of Formats.
	Format string
	// Name stands in the report.
	Name string
	Data []byte
	// Model is what the virtual model of a format without model names is called (Portkey); empty: default.
	Model string
}

// Convert reads a source. The error says where the source is broken, or which mistakes the checker found in what came of it.
func Convert(src Source) (*Result, error) {
	c, err := read(src)
	if err != nil {
		return nil, err
	}
	report := c.finish()
	if len(c.providers) == 0 {
		return nil, fmt.Errorf("%s names no provider that Evergate can ask:\n%s", src.Name, report.Text())
	}
	text := c.write()
	if c.leaks(text) || c.leaks(report.Text()) {
		return nil, errors.New("a secret of the source would have been written out; please report this with the names of the fields, not with their values")
	}
	if _, err := config.Parse("converted.yaml", []byte(text), c.placeholder); err != nil {
		return nil, fmt.Errorf("what came of %s does not pass the checker; change the source at these places, or report this:\n%w", src.Name, err)
	}
	return &Result{YAML: []byte(text), Report: report}, nil
}

// read fills the draft.
func read(src Source) (*conversion, error) {
	fill := map[string]func(*conversion){"litellm": (*conversion).litellm, "gomodel": (*conversion).gomodel, "portkey": (*conversion).portkey, "bifrost": (*conversion).bifrost}[src.Format]
	if fill == nil {
		return nil, fmt.Errorf("there is no format %q: it is one of %s", src.Format, strings.Join(Formats(), ", "))
	}
	root, err := readSource(src)
	if err != nil {
		return nil, err
	}
	if root.kind != mappingNode || len(root.pairs) == 0 {
		return nil, fmt.Errorf("%s holds no settings; give the configuration file of %s", src.Name, src.Format)
	}
	c := &conversion{src: src, root: root, kinds: kinds(), named: map[string]bool{}}
	c.refers(root)
	fill(c)
	return c, nil
}

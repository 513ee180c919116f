package wire

import "slices"

// Table is the dialects that exist, by name. Not changed after it was made, so it may be shared.
type Table struct{ byName map[string]Dialect }

// NewTable lists dialects; a name that comes twice is a mistake of the program.
func NewTable(dialects ...Dialect) *Table {
	t := &Table{byName: map[string]Dialect{}}
	for _, d := range dialects {
		if t.byName[d.Name()] != nil {
			panic("BUG: two dialects are called " + d.Name()) //nolint:forbidigo // an impossible state
		}
		t.byName[d.Name()] = d
	}
	return t
}

// Named is the dialect of a name; nil: there is none.
func (t *Table) Named(name string) Dialect { return t.byName[name] }

// Choose finds the dialect in which a client's request is asked, of those that a provider speaks, its favourite first:
// the client's own where that is one of them, else the first that its requests can be translated to; nil if there is none.
func (t *Table) Choose(client Dialect, speaks []string) Dialect {
	if slices.Contains(speaks, client.Name()) {
		return client
	}
	for _, name := range speaks {
		if d := t.byName[name]; d != nil && CanTranslate(client, d) {
			return d
		}
	}
	return nil
}

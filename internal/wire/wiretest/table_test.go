package wiretest_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// update has TestTable write the tables of the document; without it they are compared.
var update = flag.Bool("update", false, "write the tables of docs/dialects.md")

// document is the page whose tables are made here.
var document = filepath.Join("..", "..", "..", "docs", "dialects.md")

// Marks around what is made; the page's own words stand outside of them.
func begin(block string) []byte {
	return []byte("<!-- begin " + block + ": go test ./internal/wire/wiretest -run TestTable -update -->\n")
}

func end(block string) []byte { return []byte("<!-- end " + block + " -->\n") }

// column is an upstream of the tables.
type column struct {
	title string
	to    upstream
}

// columns are the upstreams, Azure left out, which is OpenAI's chat, and Bedrock twice: models of two makers.
func columns() []column {
	var out []column
	titles := map[string]string{
		"chat": "OpenAI chat", "responses": "OpenAI Responses", "anthropic": "Anthropic", "gemini": "Gemini", "converse": "Bedrock, Nova", "cohere": "Cohere",
	}
	for _, to := range upstreams() {
		title := titles[to.name]
		if title == "" {
			continue
		}
		if to.name == "converse" {
			claude := to
			claude.model = claude.thinker
			out = append(out, column{"Bedrock, Claude", claude})
			to = novaToo()
		}
		out = append(out, column{title, to})
	}
	return out
}

// TestTable keeps the tables of docs/dialects.md true.
func TestTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []struct {
		name string
		make func(t *testing.T) []byte
	}{{"features", features}, {"effort", efforts}, {"stops", stops}} {
		before, rest, ok := bytes.Cut(page, begin(block.name))
		was, after, closed := bytes.Cut(rest, end(block.name))
		if !ok || !closed {
			t.Fatalf("%s has no place for %s", document, block.name)
		}
		is := slices.Concat([]byte("\n"), block.make(t), []byte("\n"))
		if !*update && !bytes.Equal(was, is) {
			t.Errorf("%s: %s are not what the codecs do; write them with -update\n%s", document, block.name, is)
		}
		page = slices.Concat(before, begin(block.name), is, end(block.name), after)
	}
	if *update {
		if err := os.WriteFile(document, page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// features are the tables of what of each feature reaches each upstream.
func features(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	for i, from := range clients() {
		var shown []column
		titles := []string{"what", "field"}
		for _, col := range columns() {
			if col.to.dialect.Name() != from.dialect.Name() {
				shown = append(shown, col)
				titles = append(titles, col.title)
			}
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "### From %s\n\n", map[string]string{"chat": "chat completions", "messages": "Messages", "responses": "Responses", "gemini": "Gemini"}[from.name])
		row(&b, titles...)
		row(&b, slices.Repeat([]string{"---"}, len(titles))...)
		for _, p := range probes() {
			if p.client != from.name {
				continue
			}
			cells := []string{p.feature, "`" + p.field + "`"}
			for _, col := range shown {
				cells = append(cells, fate(t, &p, &from, &col))
			}
			row(&b, cells...)
		}
	}
	return b.Bytes()
}

func row(b *bytes.Buffer, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// fate is what becomes of a feature on its way, in a word.
func fate(t *testing.T, p *probe, from *client, col *column) string {
	t.Helper()
	model := col.to.model
	if p.thinks {
		model = col.to.thinker
	}
	a, err := ask(t, from, &col.to, model, []byte(p.body), false)
	if err != nil {
		return "refused"
	}
	reached := p.marker == "" || strings.Contains(string(a.sent), p.marker)
	lost := a.dropped()
	names := ": `" + strings.Join(lost, "`, `") + "`"
	switch {
	case len(lost) == 0 && !reached:
		t.Errorf("%s, %s for %s: lost in silence: %s", p.client, p.feature, col.title, a.sent)
		return "?"
	case len(lost) == 0:
		return "yes"
	case len(a.translation.Unsaid()) > 0:
		return "not asked" + names
	case reached && p.marker != "":
		return "in part" + names
	}
	return "no" + names
}

package config

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Document parses YAML that is not a configuration of ours, within the bounds that one has: 256 KiB, 64 levels. What it gives is the parser's own tree,
// with aliases that are not followed. The error of a mistake in the syntax begins with name:line:column.
func Document(name string, data []byte) (*ast.File, error) {
	if len(data) > maxFile {
		return nil, errors.New("is larger than 256 KiB: that is no configuration")
	}
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	f, err := parse(data)
	if err != nil {
		return nil, &documentError{syntaxProblem(place{file: name, line: 1, column: 1}, err, data)}
	}
	return f, nil
}

// documentError is a mistake of syntax in a document of others.
type documentError struct{ problem Problem }

func (e *documentError) Error() string { return e.problem.String() }

// Position gives the line and the column that a value begins at; both count from 1.
func Position(n ast.Node) (line, column int) { return position(n) }

// KeyText gives a mapping's key as it is written, and whether it is plain text.
func KeyText(n ast.MapKeyNode) (string, bool) { return keyText(n) }

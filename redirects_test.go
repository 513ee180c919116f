package evergate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// No client of the program follows a redirect: it would take prompts and credentials to wherever an answer says. A transport follows none; a client must
// say so where it is made.
func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	files, made := token.NewFileSet(), 0
	for _, root := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, filepath.Join("internal", "testkit")) {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					if isHTTP(n.Type, "Client") {
						if made++; !sets(n, "CheckRedirect") {
							t.Errorf("%s: a client that follows redirects; set CheckRedirect", files.Position(n.Pos()))
						}
					}
				case *ast.SelectorExpr:
					if isHTTP(n, "DefaultClient", "Get", "Head", "Post", "PostForm") {
						t.Errorf("%s: http.%s follows redirects; make a client that does not", files.Position(n.Pos()), n.Sel.Name)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if made < 3 {
		t.Errorf("only %d clients found", made)
	}
}

func isHTTP(e ast.Expr, names ...string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := s.X.(*ast.Ident)
	if !ok || from.Name != "http" {
		return false
	}
	for _, name := range names {
		if s.Sel.Name == name {
			return true
		}
	}
	return false
}

func sets(lit *ast.CompositeLit, field string) bool {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == field {
				return true
			}
		}
	}
	return false
}

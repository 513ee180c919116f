package testkit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// UpdateGolden is the environment variable that, set to 1, has Golden write files. It is no flag, so that it works for
// many packages at once and no test package can collide with it.
const UpdateGolden = "UPDATE_GOLDEN"

// Golden compares got with testdata/name, or writes the file when UPDATE_GOLDEN=1.
func Golden(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv(UpdateGolden) == "1" {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path) //nolint:gosec // a test's own file
	if err != nil {
		t.Fatalf("%v (write it with %s=1)", err, UpdateGolden)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (accept with %s=1)\n%s", path, UpdateGolden, firstDifference(want, got))
	}
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(want, got []byte) string {
	w, g := bytes.Split(want, []byte("\n")), bytes.Split(got, []byte("\n"))
	for i := 0; ; i++ {
		switch {
		case i >= len(w) && i >= len(g):
			return "no line differs"
		case i >= len(w):
			return lineReport(i, "nothing", string(g[i]))
		case i >= len(g):
			return lineReport(i, string(w[i]), "nothing")
		case !bytes.Equal(w[i], g[i]):
			return lineReport(i, string(w[i]), string(g[i]))
		}
	}
}

func lineReport(i int, want, got string) string {
	return fmt.Sprintf("line %d\nwant: %s\n got: %s", i+1, want, got)
}

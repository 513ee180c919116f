package testkit_test

import (
	"fmt"
	"strings"
	"testing"

	"evergate/internal/testkit"
)

// recorder is a testing.TB that keeps its complaints.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

func golden(t *testing.T, name, got string) (said string) {
	r := &recorder{TB: t}
	defer func() {
		if v := recover(); v != nil && v != any(r) {
			panic(v)
		}
		said = strings.Join(r.said, "\n")
	}()
	testkit.Golden(r, name, []byte(got))
	return ""
}

func TestGolden(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(testkit.UpdateGolden, "")
	if said := golden(t, "a/b.txt", "one\ntwo\n"); !strings.Contains(said, testkit.UpdateGolden) {
		t.Errorf("a missing file: %q", said)
	}
	t.Setenv(testkit.UpdateGolden, "1")
	if said := golden(t, "a/b.txt", "one\ntwo\n"); said != "" {
		t.Errorf("writing: %q", said)
	}
	t.Setenv(testkit.UpdateGolden, "")
	if said := golden(t, "a/b.txt", "one\ntwo\n"); said != "" {
		t.Errorf("the same: %q", said)
	}
	if said := golden(t, "a/b.txt", "one\n2\n"); !strings.Contains(said, "line 2\nwant: two\n got: 2") {
		t.Errorf("a difference: %q", said)
	}
}

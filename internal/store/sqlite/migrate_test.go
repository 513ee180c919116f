package sqlite

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// schema gives migrations as files.
func schema(t *testing.T, texts map[string]string) []migration {
	t.Helper()
	fs := fstest.MapFS{}
	for name, text := range texts {
		fs["migrations/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	all, err := load(fs)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func tables(t *testing.T, db *DB) []string {
	t.Helper()
	var out []string
	rows, err := db.reader.QueryContext(t.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func userVersion(t *testing.T, db *DB) (n int) {
	t.Helper()
	if err := db.reader.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	first := map[string]string{"1001_a.sql": "CREATE TABLE a (x)"}
	second := map[string]string{"1001_a.sql": "no longer run", "1002_b.sql": "CREATE TABLE b (x); CREATE TABLE c (x)"}
	broken := map[string]string{"1001_a.sql": "no longer run", "1002_b.sql": "CREATE TABLE b (x)", "1003_c.sql": "CREATE TABLE d (x); nonsense"}
	path := newPath(t)
	as := func(texts map[string]string) (*DB, error) {
		s := defaults(t)
		s.migrate = schema(t, texts)
		return open(t.Context(), path, s)
	}
	for _, step := range []struct {
		name    string
		texts   map[string]string
		fails   string
		version int
		tables  []string
	}{
		{name: "a new file", texts: first, version: 1001, tables: []string{"a"}},
		{name: "again", texts: first, version: 1001, tables: []string{"a"}},
		{name: "one that fails leaves nothing", texts: broken, fails: "migration 1003"},
		{name: "and the program of before goes on", texts: first, version: 1001, tables: []string{"a"}},
		{name: "what is new runs, once", texts: second, version: 1002, tables: []string{"a", "b", "c"}},
		{name: "an older program goes on with the same major", texts: first, version: 1002, tables: []string{"a", "b", "c"}},
		{name: "the next major", texts: map[string]string{"1002_b.sql": "no longer run", "2001_c.sql": "DROP TABLE a"}, version: 2001, tables: []string{"b", "c"}},
		{name: "an older program stops at the next major", texts: second, fails: "newer Evergate (schema 2.001"},
	} {
		db, err := as(step.texts)
		if step.fails != "" {
			if err == nil || !strings.Contains(err.Error(), step.fails) {
				t.Errorf("%s: %v", step.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := tables(t, db); userVersion(t, db) != step.version || !slices.Equal(got, step.tables) {
			t.Errorf("%s: version %d with %v, want %d with %v", step.name, userVersion(t, db), got, step.version, step.tables)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNumbersOfMigrations(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"none":      {},
		"no number": {"pages.sql"},
		"too low":   {"1_pages.sql"},
		"twice":     {"1001_a.sql", "1001_b.sql"},
	} {
		fs := fstest.MapFS{}
		for _, n := range texts {
			fs["migrations/"+n] = &fstest.MapFile{}
		}
		if _, err := load(fs); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := load(files); err != nil {
		t.Error(err)
	}
}

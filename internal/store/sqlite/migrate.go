package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// files are the migrations: NUMBER_what.sql, run in the order of their numbers, each once. A number is 1000 × major + minor, and the
// file's user_version is that of the last one that ran. A change with which an older program can go on (a new table, a
// new column with a default) is the next minor; any other one is the next major. A file that was released is never changed.
//
//go:embed migrations/*.sql
var files embed.FS

// applicationID marks a file as ours ("EvGt"): neither do we write into another program's database, nor may it take ours for its own.
const applicationID = 0x45764774

type migration struct {
	version int
	text    string
}

// version says a schema's number as people read it: 1.001.
func version(n int) string { return fmt.Sprintf("%d.%03d", n/1000, n%1000) }

// load reads migrations, in order.
func load(from fs.FS) ([]migration, error) {
	names, err := fs.Glob(from, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var out []migration
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1001 {
			return nil, fmt.Errorf("BUG: %s does not begin with a number from 1001", name)
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		out = append(out, migration{n, string(text)})
	}
	slices.SortFunc(out, func(a, b migration) int { return cmp.Compare(a.version, b.version) })
	for i := range out {
		if i > 0 && out[i].version == out[i-1].version {
			return nil, fmt.Errorf("BUG: two migrations have the number %d", out[i].version)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("BUG: no migrations")
	}
	return out, nil
}

// querier is a transaction or a connection.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// inspect gives the schema that a file has: 0 for one that is new. Other programs' files and those of a newer major are errors.
func inspect(ctx context.Context, q querier, last int) (have int, err error) {
	var id, tables int
	// One statement, so that it sees the file either before or after what another process makes of it.
	err = q.QueryRowContext(ctx, `
		SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version`).Scan(&id, &have, &tables)
	if err != nil {
		return 0, err
	}
	switch {
	case id == 0 && have == 0 && tables == 0:
		return 0, nil
	case id != applicationID:
		return 0, plain("is a SQLite database of another program: name another file")
	case have/1000 > last/1000:
		return 0, plain(fmt.Sprintf("was written by a newer Evergate (schema %s, this program knows up to %s): use that version, or name another file", version(have), version(last)))
	}
	return have, nil
}

// migrate brings the schema up to date, whole or not at all. Of several processes that start at once one does it, the others wait for it.
func (db *DB) migrate(ctx context.Context, all []migration) error {
	last := all[len(all)-1].version
	have, err := inspect(ctx, db.writer, last)
	if err != nil || have >= last {
		return err
	}
	return db.write(ctx, func(tx *sql.Tx) error {
		have, err := inspect(ctx, tx, last) // again: another may have been faster
		if err != nil || have >= last {
			return err
		}
		for _, m := range all {
			if m.version <= have {
				continue
			}
			if _, err := tx.ExecContext(ctx, m.text); err != nil {
				return fmt.Errorf("migration %d: %w", m.version, err)
			}
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, last))
		return err
	})
}

package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migration brings the schema from the one before to a version.
type migration struct {
	version int // three digits
	sql     string
}

// ordered reads the embedded migrations, by their versions.
func ordered(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted, and all have three digits
	if err != nil {
		return nil, err
	}
	out := make([]migration, len(names))
	for i, name := range names {
		digits, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		version, err := strconv.Atoi(digits)
		if err != nil || len(digits) != 3 {
			return nil, fmt.Errorf("BUG: %s has no version of three digits", name)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		out[i] = migration{version, string(text)}
	}
	return out, nil
}

// migrationBound is how long a migration may take: longer than any call.
const migrationBound = time.Hour

// prepared gives the statements. The first call has the schema migrated if it must be; it and others wait for that, as long as their contexts let them.
func (s *Store) prepared(ctx context.Context, conn *pgx.Conn) (*sql, error) {
	if q := s.sql.Load(); q != nil {
		return q, nil
	}
	select {
	case s.preparing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	done := func() { <-s.preparing }
	if q := s.sql.Load(); q != nil {
		done()
		return q, nil
	}
	all, err := ordered(migrations)
	if err != nil {
		done()
		return nil, err
	}
	schema, stands, err := s.standing(ctx, conn, all[len(all)-1].version)
	if err != nil || stands {
		defer done()
		return s.know(schema, err)
	}
	type result struct {
		q   *sql
		err error
	}
	migrated := make(chan result, 1)
	go func() { // it goes on when the call ends that began it: each next one would begin it anew
		defer done()
		q, err := s.know(schema, s.migrate(schema, all))
		migrated <- result{q, err}
	}()
	select {
	case r := <-migrated:
		return r.q, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// know keeps the statements for a schema, if there is nothing wrong with it.
func (s *Store) know(schema string, err error) (*sql, error) {
	if err != nil {
		return nil, err
	}
	q := statements(schema)
	s.sql.Store(q)
	return q, nil
}

// migrate brings a schema up to date, on a connection of its own, until Close.
func (s *Store) migrate(schema string, all []migration) error {
	ctx, cancel := context.WithTimeout(s.ctx, migrationBound)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		_ = conn.Close(closing)
	}()
	return migrate(ctx, conn, schema, all)
}

// standing gives the schema of the tables, and whether they are those of a version, or of a newer one that this program may use.
func (s *Store) standing(ctx context.Context, conn *pgx.Conn, latest int) (schema string, stands bool, err error) {
	schema = s.address.schema
	if schema == "" {
		var current *string // null: there is none
		if err := conn.QueryRow(ctx, `SELECT current_schema()::text`).Scan(&current); err != nil {
			return "", false, err
		}
		if current == nil {
			return "", false, errors.New("no schema of the search path exists: make one (CREATE SCHEMA x AUTHORIZATION role) and name it (?schema=x)")
		}
		schema = *current
	}
	at, err := version(ctx, conn, schema)
	if err == nil {
		err = understood(at, latest)
	}
	return schema, at >= latest, err
}

// understood says whether a program of one version may use a schema of a newer one.
func understood(at, latest int) error {
	if at/100 > latest/100 {
		return fmt.Errorf("the schema has version %d, this program knows %d: it is too old for it", at, latest)
	}
	return nil
}

// version is that of the tables; 0: there are none.
func version(ctx context.Context, conn *pgx.Conn, schema string) (int, error) {
	// Not to_regclass: in a transaction that waited for a lock it goes by what was cached before.
	const find = `SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1::text AND c.relname = 'evergate_schema')`
	var stands bool
	if err := conn.QueryRow(ctx, find, schema).Scan(&stands); err != nil || !stands {
		return 0, err
	}
	var at int
	err := conn.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM `+pgx.Identifier{schema, "evergate_schema"}.Sanitize()).Scan(&at)
	return at, err
}

// lockOf is the number of the advisory lock of a schema: locks are the database's.
func lockOf(schema string) int64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte("evergate migrations of " + schema))
	return int64(sum.Sum64()) //nolint:gosec // any number does
}

// migrate runs what is missing in one transaction, one program at a time.
func migrate(ctx context.Context, conn *pgx.Conn, schema string, all []migration) error {
	name := pgx.Identifier{schema}.Sanitize()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lockOf(schema)); err != nil {
		return fmt.Errorf("waiting for another program's migration: %w", err)
	}
	at, err := version(ctx, tx.Conn(), schema)
	latest := all[len(all)-1].version
	if err != nil || at >= latest {
		return errors.Join(err, understood(at, latest))
	}
	run := func(statement string, args ...any) {
		if err == nil {
			_, err = tx.Exec(ctx, statement, args...)
		}
	}
	var stands bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1::text)`, schema).Scan(&stands); err != nil {
		return err
	}
	if !stands {
		run(`CREATE SCHEMA ` + name)
	}
	run(`SET LOCAL statement_timeout = 0`)
	run(`SET LOCAL search_path TO ` + name)
	run(`CREATE TABLE IF NOT EXISTS ` + name + `.evergate_schema (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT clock_timestamp())`)
	for _, m := range all {
		if m.version <= at {
			continue
		}
		if err == nil {
			_, err = tx.Conn().PgConn().Exec(ctx, m.sql).ReadAll() // several statements
		}
		run(`INSERT INTO evergate_schema (version) VALUES ($1)`, m.version)
	}
	if err != nil {
		return fmt.Errorf("migrating schema %s to version %d: %w", schema, latest, err)
	}
	return tx.Commit(ctx)
}

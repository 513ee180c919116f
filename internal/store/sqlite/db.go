package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// DB is an open file. One connection writes, so that writers wait for each other here and not by polling the file's lock; a few
// others read, and wait for nobody. Safe for concurrent use.
type DB struct {
	path   string // absolute
	now    func() time.Time
	writer *sql.DB
	reader *sql.DB
	// crowded says that there was no room for a write, and that the log takes some since.
	crowded atomic.Bool

	closing sync.Once
	closed  chan struct{}
	closeBy error
}

// settings are what tests choose otherwise.
type settings struct {
	now      func() time.Time
	busy     time.Duration // how long a call waits for another process's lock, if its context is not shorter
	maxPages int           // of 4 KiB, how long the file may get; 0: as long as the disk has room
	migrate  []migration
}

// readers is how many connections may read at once; one of them stays open.
const readers = 4

// Open opens the file at path, makes it (readable by its owner alone) if it is not there, and brings its schema up to date. It waits for
// another process's lock up to 5 s or until ctx ends. Errors name the file and a way out; to try again later is right.
func Open(ctx context.Context, path string) (*DB, error) {
	all, err := load(files)
	if err != nil {
		return nil, err
	}
	return open(ctx, path, settings{now: time.Now, busy: 5 * time.Second, migrate: all})
}

func open(ctx context.Context, path string, s settings) (*DB, error) {
	path, err := prepare(path)
	if err != nil {
		return nil, explain(ctx, path, err)
	}
	db := &DB{path: path, now: s.now, closed: make(chan struct{})}
	if db.writer, err = connect(path, s, false); err != nil {
		return nil, explain(ctx, path, err)
	}
	if db.reader, err = connect(path, s, true); err != nil {
		return nil, explain(ctx, path, errors.Join(err, db.writer.Close()))
	}
	if err := db.start(ctx, s); err != nil {
		_ = db.Close() // nothing was written that matters
		return nil, explain(ctx, path, err)
	}
	return db, nil
}

// connect gives the writer or the readers of a file. It does not open it yet.
func connect(path string, s settings, readOnly bool) (*sql.DB, error) {
	q := url.Values{
		"mode":          {"rw"}, // prepare made the file, with the rights it shall have
		"_busy_timeout": {strconv.FormatInt(s.busy.Milliseconds(), 10)},
		"_txlock":       {"immediate"}, // a transaction that reads first and writes then would fail instead of waiting
		"_defensive":    {"true"},
		"_dqs":          {"false"},
	}
	pragmas := []string{
		"synchronous = NORMAL", // with WAL: the end of the process loses nothing, that of the machine the last seconds at most
		"foreign_keys = ON",
		"trusted_schema = OFF",
		"cell_size_check = ON", // a damaged file is told from a sound one before its numbers are believed
		"cache_size = -256",    // KiB for each connection: an idle gateway is small
		"soft_heap_limit = 8388608",
		"wal_autocheckpoint = 250", // pages of 4 KiB: on a small disk the log must not take what the file needs
		"journal_size_limit = 2097152",
	}
	if s.maxPages > 0 {
		pragmas = append(pragmas, "max_page_count = "+strconv.Itoa(s.maxPages))
	}
	if readOnly {
		q.Set("_txlock", "deferred")
		pragmas = append(pragmas, "query_only = ON")
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	c, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector{c, "PRAGMA " + strings.Join(pragmas, "; PRAGMA ")})
	pool.SetMaxOpenConns(1)
	pool.SetMaxIdleConns(1)
	if readOnly {
		pool.SetMaxOpenConns(readers)
	}
	return pool, nil
}

// connector prepares each connection. Pragmas of an address would do it too, but wait for another process's lock without
// regard to the context.
type connector struct {
	driver.Connector
	pragmas string
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	e, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("BUG: the driver executes nothing with a context"), conn.Close())
	}
	if _, err := e.ExecContext(ctx, c.pragmas, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// start looks whether the file is ours before anything is written into it.
func (db *DB) start(ctx context.Context, s settings) error {
	if _, err := inspect(ctx, db.writer, s.migrate[len(s.migrate)-1].version); err != nil {
		return err
	}
	if err := db.writeAhead(ctx, s.busy); err != nil {
		return err
	}
	return db.migrate(ctx, s.migrate)
}

// writeAhead has the file written by a log ahead of it. Two processes that switch a new file over at once may refuse each other without waiting, so it tries
// again for a while.
func (db *DB) writeAhead(ctx context.Context, patience time.Duration) error {
	end := time.Now().Add(patience)
	for {
		var mode string
		err := db.writer.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return plain("the file system cannot share memory among processes, which a write-ahead log needs: put it on a local disk")
		case resultOf(err) != lib.SQLITE_BUSY || time.Now().After(end):
			return err
		}
		timer := time.NewTimer(10 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// write does work in a transaction that has the file's write lock from its beginning on. What work put in is there when write gives nil.
// Where there was no room it brings the log into the file first, which may make some, and so it may do work twice.
func (db *DB) write(ctx context.Context, work func(tx *sql.Tx) error) error {
	if db.crowded.Load() {
		db.shrink(ctx)
	}
	err := db.try(ctx, work)
	if resultOf(err) == lib.SQLITE_FULL {
		db.crowded.Store(true)
		if db.shrink(ctx) {
			err = db.try(ctx, work)
		}
	}
	return explain(ctx, db.path, err)
}

// shrink brings the log into the file and gives its room back; false: it could not.
func (db *DB) shrink(ctx context.Context) bool {
	var busy, pages, moved int
	err := db.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	if err != nil || busy != 0 {
		return false
	}
	db.crowded.Store(false)
	return true
}

func (db *DB) try(ctx context.Context, work func(tx *sql.Tx) error) error {
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback() // work's error says more
		return err
	}
	return tx.Commit()
}

// clock gives the store's clock, that of the machine, in the unit that tables have.
func (db *DB) clock() int64 { return db.now().UnixMicro() }

// moment is the time that clock said.
func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// Path gives the file's absolute path.
func (db *DB) Path() string { return db.path }

// Close lets go of the file. Calls under way end first; later ones fail. Closing twice is nothing.
func (db *DB) Close() error {
	db.closing.Do(func() {
		close(db.closed)
		db.closeBy = errors.Join(db.reader.Close(), db.writer.Close()) // the writer last: it brings the log into the file
	})
	return db.closeBy
}

package sqlite

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// plain is an error whose text says all that an operator needs, but for the file's name.
type plain string

func (p plain) Error() string { return string(p) }

// errClosed ends a watch whose file was closed.
var errClosed = plain("is closed")

// explain says what is wrong with a file in words that name it and a way out. A call that its context
// ended says so and not how it was cut off.
func explain(ctx context.Context, path string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("sqlite store %s: %w", path, ctx.Err())
	}
	if p, ok := errors.AsType[plain](err); ok {
		return fmt.Errorf("sqlite store %s: %w", path, p)
	}
	said := words(resultOf(err))
	if said == "" {
		return fmt.Errorf("sqlite store %s: %w", path, err)
	}
	return fmt.Errorf("sqlite store %s: %s: %w", path, said, err)
}

// resultOf gives SQLite's result behind an error, without what particularizes it; 0 if it has none.
func resultOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// words says a result of SQLite for an operator, "" where its own words must do.
func words(result int) string {
	switch result {
	case lib.SQLITE_FULL:
		return "there is no room on the disk: make some, and it goes on by itself"
	case lib.SQLITE_IOERR:
		return "the disk failed, or has no room: make sure that the file and its directory can be read and written"
	case lib.SQLITE_READONLY, lib.SQLITE_PERM:
		return "it may not be written: give the user that runs the gateway the file and the right to write into its directory"
	case lib.SQLITE_CANTOPEN:
		return "it cannot be opened: give the user that runs the gateway the file and the right to write into its directory"
	case lib.SQLITE_NOTADB:
		return "the file is no SQLite database: name another one, or move it away"
	case lib.SQLITE_CORRUPT:
		return "the file is damaged: stop the gateway, move the file away together with its -wal and -shm, and start with an empty one"
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return "another program holds its lock: end that program, or name another file"
	case lib.SQLITE_PROTOCOL:
		return "its locks do not work: put it on a local disk, not on a network's"
	}
	return ""
}

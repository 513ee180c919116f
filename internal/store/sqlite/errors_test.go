package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	lib "modernc.org/sqlite/lib"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cause := errors.New("cause")
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		is   error
		want string
	}{
		{"a cause", t.Context(), cause, cause, "sqlite store /p: cause"},
		{"cut off by the context", ended, sql.ErrTxDone, context.Canceled, "sqlite store /p: context canceled"},
		{"plain words", t.Context(), plain("is a directory"), plain("is a directory"), "sqlite store /p: is a directory"},
	} {
		if err := explain(tt.ctx, "/p", tt.err); !errors.Is(err, tt.is) || err.Error() != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := explain(ended, "/p", nil); err != nil {
		t.Errorf("nothing wrong: %v", err)
	}
}

// TestWords: whatever an operator can mend has words that say how.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, result := range []int{
		lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN, lib.SQLITE_NOTADB,
		lib.SQLITE_CORRUPT, lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL,
	} {
		if _, mend, _ := strings.Cut(words(result), ": "); mend == "" {
			t.Errorf("result %d: %q", result, words(result))
		}
	}
	if words(lib.SQLITE_CONSTRAINT) != "" {
		t.Error("a mistake of ours has words for an operator")
	}
}

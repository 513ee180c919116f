package sqlite_test

import (
	"path/filepath"
	"testing"

	"evergate/internal/ledger"
	"evergate/internal/store/storetest"
)

func TestLedgerContract(t *testing.T) {
	t.Parallel()
	storetest.RunLedger(t, func(t *testing.T) (one, peer ledger.Store) {
		path := filepath.Join(t.TempDir(), "evergate.db")
		return openPages(t, path).Ledger(), openPages(t, path).Ledger()
	}, storetest.LedgerOptions{})
}

// Numbers that an upstream made up are not kept from being written, and keep nothing else from it.
func TestLedgerLargeSums(t *testing.T) {
	t.Parallel()
	storetest.LargeSums(t, openPages(t, filepath.Join(t.TempDir(), "evergate.db")).Ledger())
}

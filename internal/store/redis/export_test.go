package redis

import "evergate/internal/ledger"

// LedgerOf is a ledger with so much room, in bytes.
func (s *Store) LedgerOf(room int) ledger.Store { return ledgerStore{s, room} }

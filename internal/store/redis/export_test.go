package redis

import "evergate/internal/ledger"

// LedgerOf is a ledger with so much room, in bytes.
func (s *Store) LedgerOf(room int) ledger.Store { return ledgerStore{store: s, room: room} }

// LedgerOfGroups is a ledger with so many groups in each series of sums.
func (s *Store) LedgerOfGroups(n int) ledger.Store {
	return ledgerStore{store: s, room: LedgerBytes, groups: n}
}

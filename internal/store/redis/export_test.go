package redis

import "evergate/internal/ledger"

// Degraded says whether an error is that of a replica that was to be written.
var Degraded = degraded

// LedgerOf is a ledger with so much room, in bytes.
func (s *Store) LedgerOf(room int) ledger.Store { return ledgerStore{store: s, room: room} }

// LedgerOfGroups is a ledger with so many groups in each series of sums.
func (s *Store) LedgerOfGroups(n int) ledger.Store {
	return ledgerStore{store: s, room: LedgerBytes, groups: n}
}

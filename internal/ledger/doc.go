// Package ledger keeps what became of every request: rows with their trails, the timeline of guards, orders and changes, and sums by minute and hour that
// reconcile with the rows to the last token. It owns what a row is, how rows are summed, how they are written in batches within bounds, for how long they are
// kept, and what may be asked of them. Where they are kept is a Store's business, one package for each technology.
//
// It must not know HTTP, SQL or the JSON of the admin API. No row holds a credential; prompts and replies are there only where the config says so.
package ledger

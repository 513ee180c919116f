// Package postgres keeps replication's pages, kept answers and the ledger in PostgreSQL 12 or newer (UTF-8 databases). It owns the tables and their migrations, the
// connections and what a failure of theirs says; it must not know what a page means or when anybody puts one.
//
// Tables (evergate_…) stand in one schema: the one that the URL names (?schema=), else the first of the role's search path that exists. A role needs
// CREATE and USAGE on that schema and nothing else; once the tables stand, SELECT, INSERT, UPDATE and DELETE on them are enough. Migrations run at the first call
// that meets an older schema, under an advisory lock, so that many instances may start at once; one that takes long goes on when that call ends. Versions are three digits, the first of which grows when
// an older program could do harm: it then refuses to work.
//
// Times are the server's clock_timestamp(), as µs since 1970. A page is stamped before its transaction ends: a Read right then does not show it yet, and
// one since a later time never does. Whoever reads on from where it stopped must overlap by the time that a Put may take.
//
// Commits do not wait for the disk (synchronous_commit off, for their own transaction): a crash of the server loses the last moments, which instances lay
// down again; those of the ledger do wait. Pages are told by NOTIFY: whole if they fit in the 8000 bytes that it carries, else by name, and the watch reads them. Where
// the server's queue for that is full, since some other session never takes from it, they are put untold, and found by reading.
//
// At most 4 connections for calls, 2 of them for the ledger's, and one for each Watch. Statements are not prepared, so that a pooler in transaction mode (PgBouncer) may stand
// between with ?pooler=true; LISTEN does not work through one: Watch notices and ends with an error, and instances find pages by reading.
package postgres

package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"evergate/internal/ledger"
)

// ledgerSQL are the ledger's statements for tables of one schema. Those that depend on what is asked for are put together then.
type ledgerSQL struct {
	requests, words, timeline, sums string // the tables

	putRequests, putEntries, addSums     string
	expireRequests, expireEntries        string
	edgeRequests, edgeEntries, expireSum string
	byRow, byID                          string
}

func ledgerStatements(schema string) ledgerSQL {
	table := func(name string) string { return pgx.Identifier{schema, "evergate_" + name}.Sanitize() }
	q := ledgerSQL{requests: table("requests"), words: table("request_words"), timeline: table("timeline"), sums: table("sums")}
	fill := strings.NewReplacer(
		"{requests}", q.requests, "{words}", q.words, "{timeline}", q.timeline, "{sums}", q.sums,
		"{now}", `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
	).Replace
	q.putRequests = fill(`WITH
given AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::bool[], $11::bool[],
	$12::bool[], $13::bytea[]) AS g (row_id, request_id, kind, key, route, provider, model, code, status, failed, rescued, drilled, body)),
put AS (
	INSERT INTO {requests} (row_id, request_id, kind, key, route, provider, model, code, status, failed, rescued, drilled, body)
	SELECT row_id::uuid, request_id, kind, key, route, provider, model, code, status, failed, rescued, drilled, body FROM given ORDER BY 1
	ON CONFLICT (row_id) DO NOTHING RETURNING row_id),
worded AS (
	INSERT INTO {words} (word, row_id)
	SELECT w.word, put.row_id FROM unnest($14::text[], $15::text[]) AS w (row_id, word) JOIN put ON put.row_id = w.row_id::uuid
	ON CONFLICT DO NOTHING)
SELECT replace(row_id::text, '-', '') FROM put`)
	q.putEntries = fill(`INSERT INTO {timeline} (row_id, kind, provider, request_id, body)
SELECT row_id::uuid, kind, provider, request_id, body FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
	AS g (row_id, kind, provider, request_id, body) ORDER BY 1 ON CONFLICT (row_id) DO NOTHING`)
	q.addSums = fill(addSums())
	// The words go in the same step as their rows. Of two that take away at once each leaves the other its rows.
	q.expireRequests = fill(`WITH
old AS (SELECT row_id FROM {requests} WHERE row_id < $1::uuid ORDER BY row_id LIMIT $2::int FOR UPDATE SKIP LOCKED),
gone AS (DELETE FROM {requests} r USING old WHERE r.row_id = old.row_id RETURNING r.row_id),
words AS (DELETE FROM {words} w USING gone WHERE w.row_id = gone.row_id)
SELECT count(*) FROM gone`)
	q.expireEntries = fill(`WITH
old AS (SELECT row_id FROM {timeline} WHERE row_id < $1::uuid ORDER BY row_id LIMIT $2::int FOR UPDATE SKIP LOCKED),
gone AS (DELETE FROM {timeline} t USING old WHERE t.row_id = old.row_id RETURNING t.row_id)
SELECT count(*) FROM gone`)
	q.expireSum = fill(`WITH
old AS (SELECT step, at, key, route, model, provider FROM {sums} WHERE step = $1::smallint AND at < {now} - $2::bigint ORDER BY at LIMIT $3::int FOR UPDATE SKIP LOCKED),
gone AS (DELETE FROM {sums} s USING old WHERE (s.step, s.at, s.key, s.route, s.model, s.provider) = (old.step, old.at, old.key, old.route, old.model, old.provider) RETURNING 1)
SELECT count(*) FROM gone`)
	q.edgeRequests = fill(`SELECT replace(row_id::text, '-', '') FROM {requests} ORDER BY row_id DESC OFFSET $1::bigint LIMIT 1`)
	q.edgeEntries = fill(`SELECT replace(row_id::text, '-', '') FROM {timeline} ORDER BY row_id DESC OFFSET $1::bigint LIMIT 1`)
	q.byRow = fill(`SELECT body FROM {requests} WHERE row_id = $1::uuid`)
	q.byID = fill(`SELECT body FROM {requests} WHERE request_id = $1::text ORDER BY row_id DESC LIMIT 1`)
	return q
}

// most is the largest number that a column takes.
const most = "9223372036854775807"

// addSums adds to sums, in the order of their key, so that two of them never wait for each other. It is one statement for minutes and hours.
func addSums() string {
	names := ledger.SumNames()
	columns := "step, at, key, route, model, provider, " + strings.Join(names[:], ", ")
	arrays := "$1::int[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[]"
	var added strings.Builder
	for i, n := range names {
		arrays += fmt.Sprintf(", $%d::bigint[]", 7+i)
		if i > 0 {
			added.WriteString(", ")
		}
		fmt.Fprintf(&added, "%[1]s = least(s.%[1]s::numeric + excluded.%[1]s, %[2]s)::bigint", n, most)
	}
	return `INSERT INTO {sums} AS s (` + columns + `) SELECT * FROM unnest(` + arrays + `) AS g (` + columns + `) ORDER BY 1, 2, 3, 4, 5, 6
ON CONFLICT (step, at, key, route, model, provider) DO UPDATE SET ` + added.String()
}

package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"evergate/internal/threads"
)

// sql are the statements for tables of one schema.
type sql struct {
	channel string // of NOTIFY

	put, read, one, beat, members, drop, claim, yield, echo string
	keep, ended, makeRoom, chain, forget                    string // of answers
	layTallies, endTallies, tallies                         string // of counts
	ledger                                                  ledgerSQL
}

// unhurried has the transaction's commit not wait for the disk, and its waiting for locks end. A statement must select from it.
const unhurried = `quick AS (SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '5s', true))`

func statements(schema string) *sql {
	sum := sha256.Sum256([]byte(schema))
	channel := "evergate_" + hex.EncodeToString(sum[:6]) // channels are the database's: another fleet's schema has another
	fill := strings.NewReplacer(
		"{pages}", pgx.Identifier{schema, "evergate_pages"}.Sanitize(),
		"{members}", pgx.Identifier{schema, "evergate_members"}.Sanitize(),
		"{leases}", pgx.Identifier{schema, "evergate_leases"}.Sanitize(),
		"{tallies}", pgx.Identifier{schema, "evergate_tallies"}.Sanitize(),
		"{answers}", pgx.Identifier{schema, "evergate_answers"}.Sanitize(),
		"{channel}", channel,
		"{unhurried}", unhurried,
		"{cost}", strconv.Itoa(threads.RecordCost),
		"{now}", `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
	).Replace
	return &sql{
		channel: channel, ledger: ledgerStatements(schema),
		// In the order of the key, so that two of them never wait for each other.
		put: fill(`WITH {unhurried},
given AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[]) AS g (instance, topic, key, sequence, body, notice)),
put AS (
	INSERT INTO {pages} AS p (instance, topic, key, sequence, at, body)
	SELECT instance, topic, key, sequence::numeric, {now}, body FROM given, quick ORDER BY 1, 2, 3
	ON CONFLICT (instance, topic, key) DO UPDATE SET sequence = excluded.sequence, at = {now}, body = excluded.body WHERE p.sequence < excluded.sequence
	RETURNING instance, topic, key, at)
SELECT count(pg_notify('{channel}', put.at || ' ' || notice)) FROM put JOIN given USING (instance, topic, key) WHERE notice <> ''`),
		read: fill(`SELECT instance, key, sequence::text, at, body FROM {pages} WHERE topic = $1 AND at >= $2 ORDER BY at DESC LIMIT $3`),
		one:  fill(`SELECT instance, key, sequence::text, at, body FROM {pages} WHERE instance = $1 AND topic = $2 AND key = $3`),
		beat: fill(`WITH {unhurried}
INSERT INTO {members} (id, version, started, seen, has_left) SELECT $1::text, $2::text, $3::bigint, {now}, $4::boolean FROM quick
ON CONFLICT (id) DO UPDATE SET version = excluded.version, started = excluded.started, seen = {now}, has_left = excluded.has_left
RETURNING seen`),
		members: fill(`SELECT id, version, started, seen, has_left FROM {members} ORDER BY seen`),
		drop:    fill(`WITH {unhurried}, gone AS (DELETE FROM {members} WHERE id = $1) DELETE FROM {pages} USING quick WHERE instance = $1`),
		// Leases have names that do not come again: what ended a while ago goes.
		claim: fill(`WITH {unhurried},
gone AS (DELETE FROM {leases} WHERE name IN (SELECT name FROM {leases} WHERE until < {now} - 60000000 AND name <> $1 LIMIT 100 FOR UPDATE SKIP LOCKED))
INSERT INTO {leases} AS l (name, holder, until) SELECT $1::text, $2::text, {now} + $3::bigint FROM quick
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = {now} + $3::bigint WHERE l.holder = excluded.holder OR l.until <= {now}
	OR l.until > {now} + $3::bigint + 86400000000`), // of a clock that was set back since
		yield: fill(`DELETE FROM {leases} WHERE name = $1 AND holder = $2`),
		echo:  `SELECT pg_notify($1::text, '')`,
		keep: fill(`WITH {unhurried},
given AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS g (owner, id, previous, body))
INSERT INTO {answers} AS a (owner, id, previous, at, until, size, body)
SELECT owner, id, previous, {now}, {now} + $5::bigint, octet_length(body) + $6::bigint, body FROM given, quick ORDER BY 1, 2
ON CONFLICT (owner, id) DO UPDATE SET previous = excluded.previous, at = excluded.at, until = excluded.until, size = excluded.size, body = excluded.body`),
		// Of two that take away at once each leaves the other its rows.
		ended: fill(`WITH {unhurried}
DELETE FROM {answers} WHERE (owner, id) IN (SELECT owner, id FROM {answers} AS a, quick WHERE until <= {now} ORDER BY until LIMIT $1::integer FOR UPDATE OF a SKIP LOCKED)`),
		makeRoom: fill(`WITH {unhurried},
older AS (SELECT at, size, sum(size) OVER (ORDER BY at DESC, size) AS run FROM {answers}),
edge AS (SELECT max(at) AS at FROM older WHERE run > $1::bigint)
DELETE FROM {answers} USING quick WHERE at <= (SELECT at FROM edge)`),
		chain: fill(`WITH RECURSIVE chain AS (
	SELECT id, previous, 1 AS n, size - {cost} AS total FROM {answers} WHERE owner = $1::text AND id = $2::text AND until > {now}
	UNION ALL
	SELECT a.id, a.previous, c.n + 1, c.total + a.size - {cost} FROM chain c JOIN {answers} a ON a.owner = $1::text AND a.id = c.previous AND a.until > {now}
	WHERE c.previous <> '' AND c.n < $3::integer AND c.total < $4::bigint)
SELECT a.id, a.previous, a.body FROM chain c JOIN {answers} a ON a.owner = $1::text AND a.id = c.id ORDER BY c.n`),
		layTallies: fill(`WITH {unhurried},
given AS (SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[]) AS g (meter, instance, version, life, body))
INSERT INTO {tallies} AS t (meter, instance, version, at, until, body)
SELECT meter, instance, version, {now}, {now} + life, body FROM given, quick ORDER BY 1, 2
ON CONFLICT (meter, instance) DO UPDATE SET version = excluded.version, at = excluded.at, until = excluded.until, body = excluded.body
	WHERE t.version <= excluded.version`),
		// Of two that take away at once each leaves the other its rows.
		endTallies: fill(`WITH {unhurried}
DELETE FROM {tallies} WHERE (meter, instance) IN (SELECT meter, instance FROM {tallies} AS t, quick WHERE until < {now} ORDER BY until LIMIT 5000 FOR UPDATE OF t SKIP LOCKED)`),
		tallies: fill(`SELECT meter, instance, version, {now} - at, body FROM {tallies} WHERE meter = ANY($1::text[]) AND until >= {now}`),
		forget:  fill(`DELETE FROM {answers} WHERE owner = $1 AND id = $2`),
	}
}

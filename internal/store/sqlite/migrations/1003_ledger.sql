-- The ledger. row is the bytes of a ledger.Row, which begin with the time in microseconds since 1970; body is a row as package ledger writes it.

CREATE TABLE requests (
  row  BLOB NOT NULL PRIMARY KEY,
  body BLOB NOT NULL
) STRICT;

-- What requests are found by (see ledger.Request.Words).
CREATE TABLE request_words (
  word TEXT NOT NULL,
  row  BLOB NOT NULL,
  PRIMARY KEY (word, row)
) STRICT, WITHOUT ROWID;

CREATE TABLE entries (
  row      BLOB NOT NULL PRIMARY KEY,
  kind     TEXT NOT NULL,
  provider TEXT NOT NULL,
  request  TEXT NOT NULL, -- '' for none
  body     BLOB NOT NULL
) STRICT;

CREATE INDEX entries_by_kind ON entries (kind, row);
CREATE INDEX entries_by_provider ON entries (provider, row) WHERE provider <> '';
CREATE INDEX entries_by_request ON entries (request, row) WHERE request <> '';

-- Sums of the requests' attempts by the beginning of a minute, of an hour and of a day in UTC (see ledger.Sums).
CREATE TABLE minutes (
  at       INTEGER NOT NULL,
  key      TEXT    NOT NULL,
  route    TEXT    NOT NULL,
  model    TEXT    NOT NULL,
  provider TEXT    NOT NULL,
  requests INTEGER NOT NULL DEFAULT 0,
  ok INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  rescued INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  failovers INTEGER NOT NULL DEFAULT 0,
  asides INTEGER NOT NULL DEFAULT 0,
  input INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  cached_input INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  reasoning INTEGER NOT NULL DEFAULT 0,
  audio_input INTEGER NOT NULL DEFAULT 0,
  audio_output INTEGER NOT NULL DEFAULT 0,
  estimated_tokens INTEGER NOT NULL DEFAULT 0,
  cost_nano INTEGER NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0,
  added_ms INTEGER NOT NULL DEFAULT 0,
  added_cost_nano INTEGER NOT NULL DEFAULT 0,
  duration_ms INTEGER NOT NULL DEFAULT 0,
  overhead_us INTEGER NOT NULL DEFAULT 0,
  firsts INTEGER NOT NULL DEFAULT 0,
  first_ms INTEGER NOT NULL DEFAULT 0,
  first_100 INTEGER NOT NULL DEFAULT 0,
  first_200 INTEGER NOT NULL DEFAULT 0,
  first_400 INTEGER NOT NULL DEFAULT 0,
  first_800 INTEGER NOT NULL DEFAULT 0,
  first_1600 INTEGER NOT NULL DEFAULT 0,
  first_3200 INTEGER NOT NULL DEFAULT 0,
  first_6400 INTEGER NOT NULL DEFAULT 0,
  first_12800 INTEGER NOT NULL DEFAULT 0,
  first_more INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (at, key, route, model, provider)
) STRICT, WITHOUT ROWID;

CREATE TABLE hours (
  at       INTEGER NOT NULL,
  key      TEXT    NOT NULL,
  route    TEXT    NOT NULL,
  model    TEXT    NOT NULL,
  provider TEXT    NOT NULL,
  requests INTEGER NOT NULL DEFAULT 0,
  ok INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  rescued INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  failovers INTEGER NOT NULL DEFAULT 0,
  asides INTEGER NOT NULL DEFAULT 0,
  input INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  cached_input INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  reasoning INTEGER NOT NULL DEFAULT 0,
  audio_input INTEGER NOT NULL DEFAULT 0,
  audio_output INTEGER NOT NULL DEFAULT 0,
  estimated_tokens INTEGER NOT NULL DEFAULT 0,
  cost_nano INTEGER NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0,
  added_ms INTEGER NOT NULL DEFAULT 0,
  added_cost_nano INTEGER NOT NULL DEFAULT 0,
  duration_ms INTEGER NOT NULL DEFAULT 0,
  overhead_us INTEGER NOT NULL DEFAULT 0,
  firsts INTEGER NOT NULL DEFAULT 0,
  first_ms INTEGER NOT NULL DEFAULT 0,
  first_100 INTEGER NOT NULL DEFAULT 0,
  first_200 INTEGER NOT NULL DEFAULT 0,
  first_400 INTEGER NOT NULL DEFAULT 0,
  first_800 INTEGER NOT NULL DEFAULT 0,
  first_1600 INTEGER NOT NULL DEFAULT 0,
  first_3200 INTEGER NOT NULL DEFAULT 0,
  first_6400 INTEGER NOT NULL DEFAULT 0,
  first_12800 INTEGER NOT NULL DEFAULT 0,
  first_more INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (at, key, route, model, provider)
) STRICT, WITHOUT ROWID;

CREATE TABLE days (
  at       INTEGER NOT NULL,
  key      TEXT    NOT NULL,
  route    TEXT    NOT NULL,
  model    TEXT    NOT NULL,
  provider TEXT    NOT NULL,
  requests INTEGER NOT NULL DEFAULT 0,
  ok INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  rescued INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  failovers INTEGER NOT NULL DEFAULT 0,
  asides INTEGER NOT NULL DEFAULT 0,
  input INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  cached_input INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  reasoning INTEGER NOT NULL DEFAULT 0,
  audio_input INTEGER NOT NULL DEFAULT 0,
  audio_output INTEGER NOT NULL DEFAULT 0,
  estimated_tokens INTEGER NOT NULL DEFAULT 0,
  cost_nano INTEGER NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0,
  added_ms INTEGER NOT NULL DEFAULT 0,
  added_cost_nano INTEGER NOT NULL DEFAULT 0,
  duration_ms INTEGER NOT NULL DEFAULT 0,
  overhead_us INTEGER NOT NULL DEFAULT 0,
  firsts INTEGER NOT NULL DEFAULT 0,
  first_ms INTEGER NOT NULL DEFAULT 0,
  first_100 INTEGER NOT NULL DEFAULT 0,
  first_200 INTEGER NOT NULL DEFAULT 0,
  first_400 INTEGER NOT NULL DEFAULT 0,
  first_800 INTEGER NOT NULL DEFAULT 0,
  first_1600 INTEGER NOT NULL DEFAULT 0,
  first_3200 INTEGER NOT NULL DEFAULT 0,
  first_6400 INTEGER NOT NULL DEFAULT 0,
  first_12800 INTEGER NOT NULL DEFAULT 0,
  first_more INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (at, key, route, model, provider)
) STRICT, WITHOUT ROWID;

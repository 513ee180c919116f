-- Rows of requests in blocks, and the sums of a bucket in one line. The tables of 1003 that these take the place of were never in a release: what a file has
-- in them goes.

DROP TABLE request_words;
DROP TABLE requests;
DROP TABLE minutes;
DROP TABLE hours;
DROP TABLE days;

-- id is the time of the newest row in microseconds since 1970, times 256, and a number that is free.
CREATE TABLE blocks (
  id     INTEGER NOT NULL PRIMARY KEY,
  oldest INTEGER NOT NULL, -- microseconds
  rows   INTEGER NOT NULL,
  bytes  INTEGER NOT NULL
) STRICT;

CREATE INDEX blocks_by_oldest ON blocks (oldest);

CREATE TABLE block_bodies (
  id    INTEGER NOT NULL PRIMARY KEY,
  ids   BLOB    NOT NULL, -- of the requests, cut short
  names BLOB    NOT NULL, -- of the rows, 16 bytes each
  words BLOB    NOT NULL, -- that are in block_words
  body  BLOB    NOT NULL  -- the rows, as package ledger writes them
) STRICT;

-- What rows are found by (see ledger.Request.EachWord), and which rows of the block have it.
CREATE TABLE block_words (
  word  TEXT    NOT NULL,
  block INTEGER NOT NULL,
  which BLOB    NOT NULL,
  PRIMARY KEY (word, block)
) STRICT, WITHOUT ROWID;

-- Sums by the beginning of a minute, of an hour and of a day in UTC (see ledger.Bundle).
CREATE TABLE minutes (at INTEGER NOT NULL PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE hours   (at INTEGER NOT NULL PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE days    (at INTEGER NOT NULL PRIMARY KEY, body BLOB NOT NULL) STRICT;

-- Sums of minutes that are not yet in those.
CREATE TABLE fresh_sums (
  id   INTEGER NOT NULL PRIMARY KEY,
  at   INTEGER NOT NULL,
  body BLOB    NOT NULL
) STRICT;

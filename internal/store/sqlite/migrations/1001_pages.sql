-- Times are microseconds since 1970 by the clock of the machine.

CREATE TABLE members (
  id      TEXT    NOT NULL PRIMARY KEY,
  version TEXT    NOT NULL,
  started INTEGER NOT NULL,
  seen    INTEGER NOT NULL,
  gone    INTEGER NOT NULL -- 1: it stopped in order
) STRICT, WITHOUT ROWID;

CREATE TABLE pages (
  instance TEXT    NOT NULL, -- '' for the fleet's
  topic    TEXT    NOT NULL,
  key      TEXT    NOT NULL,
  sequence INTEGER NOT NULL, -- 64 bits without a sign: a negative one is higher than any positive one
  at       INTEGER NOT NULL,
  body     BLOB    NOT NULL,
  PRIMARY KEY (instance, topic, key)
) STRICT;

CREATE INDEX pages_by_time ON pages (topic, at);

CREATE TABLE leases (
  name   TEXT    NOT NULL PRIMARY KEY,
  holder TEXT    NOT NULL,
  until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What instances have counted of limits and budgets (see meters.Tally). at and until are microseconds since 1970 by the clock of the machine.

CREATE TABLE tallies (
  meter    TEXT    NOT NULL,
  instance TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  until    INTEGER NOT NULL,
  body     BLOB    NOT NULL,
  PRIMARY KEY (meter, instance)
) STRICT, WITHOUT ROWID;

CREATE INDEX tallies_by_end ON tallies (until);

-- Answers that clients may continue by id (see threads.Record). until and at are microseconds since 1970 by the clock of the machine.

CREATE TABLE answers (
  owner    TEXT    NOT NULL,
  id       TEXT    NOT NULL,
  previous TEXT    NOT NULL, -- '' for none
  at       INTEGER NOT NULL,
  until    INTEGER NOT NULL,
  size     INTEGER NOT NULL, -- of the body, and what a row takes beside it
  body     BLOB    NOT NULL,
  PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX answers_by_time ON answers (at, size);
CREATE INDEX answers_by_end ON answers (until);

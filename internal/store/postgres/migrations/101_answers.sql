-- Answers that clients may continue by id (see threads.Record). Times are µs since 1970; size is that of the body and what a row takes beside it.
CREATE TABLE evergate_answers (
    owner    text NOT NULL,
    id       text NOT NULL,
    previous text NOT NULL,
    at       bigint NOT NULL,
    until    bigint NOT NULL,
    size     bigint NOT NULL,
    body     bytea NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX evergate_answers_at ON evergate_answers (at, size);
CREATE INDEX evergate_answers_until ON evergate_answers (until);

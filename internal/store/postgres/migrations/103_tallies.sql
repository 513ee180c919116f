-- What instances have counted of limits and budgets (see meters.Tally). Times are µs since 1970.
CREATE TABLE evergate_tallies (
    meter    text NOT NULL,
    instance text NOT NULL,
    version  bigint NOT NULL,
    at       bigint NOT NULL,
    until    bigint NOT NULL,
    body     bytea NOT NULL,
    PRIMARY KEY (meter, instance)
) WITH (fillfactor = 50);

CREATE INDEX evergate_tallies_until ON evergate_tallies (until);

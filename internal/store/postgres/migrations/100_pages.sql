-- What instances say (see replica.Page). Strings are text where they can be, else \x and hexadecimal digits; times are µs since 1970.
CREATE TABLE evergate_pages (
    instance text NOT NULL,
    topic    text NOT NULL,
    key      text NOT NULL,
    sequence numeric(20, 0) NOT NULL,
    at       bigint NOT NULL,
    body     bytea NOT NULL,
    PRIMARY KEY (instance, topic, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

CREATE INDEX evergate_pages_topic_at ON evergate_pages (topic, at);

CREATE TABLE evergate_members (
    id       text PRIMARY KEY,
    version  text NOT NULL,
    started  bigint NOT NULL,
    seen     bigint NOT NULL,
    has_left boolean NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

CREATE TABLE evergate_leases (
    name   text PRIMARY KEY,
    holder text NOT NULL,
    until  bigint NOT NULL
);

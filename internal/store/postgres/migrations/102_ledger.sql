-- The ledger (see ledger.Store). A row_id is the time of the row, its instance and a counter, so that its order is that of time. Texts are text where they
-- can be, else \x and hexadecimal digits, and cut after 256 characters; what is in body is true. There are no partitions: rows go by row_id.
CREATE TABLE evergate_requests (
    row_id     uuid PRIMARY KEY,
    request_id text NOT NULL,
    kind       text NOT NULL,
    key        text NOT NULL,
    route      text NOT NULL,
    provider   text NOT NULL,
    model      text NOT NULL,
    code       text NOT NULL,
    status     integer NOT NULL,
    failed     boolean NOT NULL,
    rescued    boolean NOT NULL,
    drilled    boolean NOT NULL,
    body       bytea NOT NULL
);

CREATE INDEX evergate_requests_request_id ON evergate_requests (request_id text_pattern_ops, row_id);
CREATE INDEX evergate_requests_key ON evergate_requests (key, row_id);
CREATE INDEX evergate_requests_route ON evergate_requests (route, row_id);
CREATE INDEX evergate_requests_provider ON evergate_requests (provider, row_id);
CREATE INDEX evergate_requests_model ON evergate_requests (model, row_id);
CREATE INDEX evergate_requests_code ON evergate_requests (code, row_id) WHERE code <> '';
CREATE INDEX evergate_requests_status ON evergate_requests ((status / 100), row_id) WHERE status >= 400;
CREATE INDEX evergate_requests_kind ON evergate_requests (kind, row_id) WHERE kind <> 'request';
CREATE INDEX evergate_requests_failed ON evergate_requests (row_id) WHERE failed;
CREATE INDEX evergate_requests_rescued ON evergate_requests (row_id) WHERE rescued;
CREATE INDEX evergate_requests_drilled ON evergate_requests (row_id) WHERE drilled;

-- What can be asked for and is not in a column: providers and models of attempts that did not answer, and the rules of drills.
CREATE TABLE evergate_request_words (
    word   text NOT NULL,
    row_id uuid NOT NULL,
    PRIMARY KEY (word, row_id)
);

-- For taking them away with their rows; not for reading in the order of rows, in which words of all kinds are.
CREATE INDEX evergate_request_words_row ON evergate_request_words USING hash (row_id);

CREATE TABLE evergate_timeline (
    row_id     uuid PRIMARY KEY,
    kind       text NOT NULL,
    provider   text NOT NULL,
    request_id text NOT NULL,
    body       bytea NOT NULL
);

CREATE INDEX evergate_timeline_kind ON evergate_timeline (kind, row_id);
CREATE INDEX evergate_timeline_provider ON evergate_timeline (provider, row_id) WHERE provider <> '';
CREATE INDEX evergate_timeline_request_id ON evergate_timeline (request_id, row_id) WHERE request_id <> '';

-- What requests came to, by minutes (step 1) and hours (step 2) that begin at a time in µs since 1970.
CREATE TABLE evergate_sums (
    step             smallint NOT NULL,
    at               bigint NOT NULL,
    key              text NOT NULL,
    route            text NOT NULL,
    model            text NOT NULL,
    provider         text NOT NULL,
    requests         bigint NOT NULL,
    ok               bigint NOT NULL,
    failed           bigint NOT NULL,
    rescued          bigint NOT NULL,
    attempts         bigint NOT NULL,
    failovers        bigint NOT NULL,
    asides           bigint NOT NULL,
    input            bigint NOT NULL,
    output           bigint NOT NULL,
    cached_input     bigint NOT NULL,
    cache_write      bigint NOT NULL,
    reasoning        bigint NOT NULL,
    audio_input      bigint NOT NULL,
    audio_output     bigint NOT NULL,
    estimated_tokens bigint NOT NULL,
    cost_nano        bigint NOT NULL,
    unpriced         bigint NOT NULL,
    added_ms         bigint NOT NULL,
    added_cost_nano  bigint NOT NULL,
    duration_ms      bigint NOT NULL,
    overhead_us      bigint NOT NULL,
    firsts           bigint NOT NULL,
    first_ms         bigint NOT NULL,
    first_100        bigint NOT NULL,
    first_200        bigint NOT NULL,
    first_400        bigint NOT NULL,
    first_800        bigint NOT NULL,
    first_1600       bigint NOT NULL,
    first_3200       bigint NOT NULL,
    first_6400       bigint NOT NULL,
    first_12800      bigint NOT NULL,
    first_more       bigint NOT NULL,
    PRIMARY KEY (step, at, key, route, model, provider)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

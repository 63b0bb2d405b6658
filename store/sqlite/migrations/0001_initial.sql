-- Times are UTC milliseconds. Ids are the 16 bytes of a UUIDv7.

-- One row for each webhook as it was received.
--
-- seq is the place in the order of receipt: received_at * 2^20 + a counter, so
-- that a range of times is a range of rowids and "newest first" needs no index
-- of its own.
CREATE TABLE events (
    seq               INTEGER PRIMARY KEY,
    id                BLOB    NOT NULL CHECK (length(id) = 16),
    source            TEXT    NOT NULL,
    key               TEXT    NOT NULL,
    key_from          TEXT    NOT NULL,
    received_at       INTEGER NOT NULL,
    -- The first half of a SHA-256 that names (source, key). Null without a
    -- key, and once the key has been given to a later event.
    dedupe            BLOB    CHECK (length(dedupe) = 16),
    size              INTEGER NOT NULL CHECK (size >= 0),
    sha256            BLOB    NOT NULL CHECK (length(sha256) = 32),
    duplicates        INTEGER NOT NULL DEFAULT 0,
    last_duplicate_at INTEGER,
    conflict_of       BLOB    CHECK (length(conflict_of) = 16)
) STRICT;

CREATE UNIQUE INDEX events_id ON events (id);
CREATE UNIQUE INDEX events_dedupe ON events (dedupe) WHERE dedupe IS NOT NULL;
CREATE INDEX events_source ON events (source, seq);
CREATE INDEX events_conflict ON events (conflict_of) WHERE conflict_of IS NOT NULL;

-- Headers and body, apart from the event because they leave earlier. An event
-- without a row here has lost them to retention.
CREATE TABLE payloads (
    seq    INTEGER PRIMARY KEY,
    header BLOB NOT NULL,
    body   BLOB NOT NULL
) STRICT;

CREATE TABLE deliveries (
    seq         INTEGER NOT NULL,
    destination TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
    reason      TEXT    CHECK (reason IN ('rejected', 'too_large', 'misdirected',
                                          'exhausted', 'expired', 'cancelled')),
    detail      TEXT    NOT NULL DEFAULT '',
    attempts    INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    spent       INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
    misdirected INTEGER NOT NULL DEFAULT 0 CHECK (misdirected >= 0),
    next_at     INTEGER NOT NULL,
    age_from    INTEGER NOT NULL,
    finished_at INTEGER,
    forced      INTEGER NOT NULL DEFAULT 0 CHECK (forced IN (0, 1)),
    PRIMARY KEY (seq, destination),
    CHECK ((state = 'dead') = (reason IS NOT NULL)),
    CHECK ((state = 'pending') = (finished_at IS NULL))
) STRICT, WITHOUT ROWID;

-- Partial indexes hold what is unfinished only: the cost of looking for work
-- follows what waits, not what is stored.
CREATE INDEX deliveries_first ON deliveries (destination, next_at, seq)
    WHERE state = 'pending' AND attempts = 0;
CREATE INDEX deliveries_retry ON deliveries (destination, next_at, seq)
    WHERE state = 'pending' AND attempts > 0;
CREATE INDEX deliveries_age ON deliveries (destination, age_from, seq)
    WHERE state = 'pending';
CREATE INDEX deliveries_open ON deliveries (state, destination, seq)
    WHERE state <> 'delivered';

CREATE TABLE attempts (
    seq         INTEGER NOT NULL,
    destination TEXT    NOT NULL,
    number      INTEGER NOT NULL CHECK (number >= 1),
    at          INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    sent_to     TEXT    NOT NULL,
    outcome     TEXT    NOT NULL,
    status      INTEGER NOT NULL,
    spent       INTEGER NOT NULL CHECK (spent IN (0, 1)),
    probe       INTEGER NOT NULL CHECK (probe IN (0, 1)),
    hint_ns     INTEGER NOT NULL,
    hint_from   TEXT    NOT NULL,
    rule        TEXT    NOT NULL,
    evidence    TEXT    NOT NULL,
    decision    TEXT    NOT NULL CHECK (decision IN ('pending', 'delivered', 'dead')),
    next_at     INTEGER,
    PRIMARY KEY (seq, destination, number)
) STRICT, WITHOUT ROWID;

-- The gates of each destination, as JSON, with what fences them.
CREATE TABLE destinations (
    name  TEXT    PRIMARY KEY,
    epoch INTEGER NOT NULL,
    rev   INTEGER NOT NULL,
    gates TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- Single facts about the store: clean (1 between a clean stop and the next
-- start), ping (counts the commits made only to prove that commits work).
CREATE TABLE facts (
    name  TEXT    PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO facts (name, value) VALUES ('clean', 1), ('ping', 0);

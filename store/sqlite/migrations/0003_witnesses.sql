-- What one answer alone cannot decide: attempts say whether only the status
-- suggested their outcome, whether their signature was renewed, and which event's
-- refusal they were to confirm or to refute. Deliveries count the refusals since
-- they were set aside alone, and have a reason more to die of.
ALTER TABLE attempts ADD COLUMN presumed INTEGER NOT NULL DEFAULT 0 CHECK (presumed IN (0, 1));
ALTER TABLE attempts ADD COLUMN renewed INTEGER NOT NULL DEFAULT 0 CHECK (renewed IN (0, 1));
ALTER TABLE attempts ADD COLUMN witness_for BLOB CHECK (length(witness_for) = 16);

-- A CHECK cannot be changed in place: the table is written anew.
CREATE TABLE deliveries_anew (
    seq         INTEGER NOT NULL,
    destination TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
    reason      TEXT    CHECK (reason IN ('rejected', 'refused', 'too_large', 'misdirected',
                                          'exhausted', 'expired', 'cancelled')),
    detail      TEXT    NOT NULL DEFAULT '',
    attempts    INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    spent       INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
    misdirected INTEGER NOT NULL DEFAULT 0 CHECK (misdirected >= 0),
    next_at     INTEGER NOT NULL,
    age_from    INTEGER NOT NULL,
    finished_at INTEGER,
    forced      INTEGER NOT NULL DEFAULT 0 CHECK (forced IN (0, 1)),
    refusals    INTEGER NOT NULL DEFAULT 0 CHECK (refusals >= 0),
    PRIMARY KEY (seq, destination),
    CHECK ((state = 'dead') = (reason IS NOT NULL)),
    CHECK ((state = 'pending') = (finished_at IS NULL))
) STRICT, WITHOUT ROWID;

INSERT INTO deliveries_anew (seq, destination, state, reason, detail, attempts, spent, misdirected,
        next_at, age_from, finished_at, forced)
    SELECT seq, destination, state, reason, detail, attempts, spent, misdirected,
        next_at, age_from, finished_at, forced FROM deliveries;

DROP TABLE deliveries;
ALTER TABLE deliveries_anew RENAME TO deliveries;

CREATE INDEX deliveries_first ON deliveries (destination, next_at, seq)
    WHERE state = 'pending' AND attempts = 0;
CREATE INDEX deliveries_retry ON deliveries (destination, next_at, seq)
    WHERE state = 'pending' AND attempts > 0;
CREATE INDEX deliveries_age ON deliveries (destination, age_from, seq)
    WHERE state = 'pending';
CREATE INDEX deliveries_open ON deliveries (state, destination, seq)
    WHERE state <> 'delivered';
-- What is set aside is rare, and counted apart from what waits otherwise.
CREATE INDEX deliveries_refused ON deliveries (destination, next_at)
    WHERE state = 'pending' AND refusals > 0;

-- Names of keys are random: in an index each new one changes a page of its own.
-- So the names of the newest events are only in events, from where a start
-- reads them, and go into this table sorted, many at a time.
CREATE TABLE keys (
    name BLOB    PRIMARY KEY CHECK (length(name) = 16),
    seq  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO keys (name, seq)
    SELECT dedupe, seq FROM events WHERE dedupe IS NOT NULL ORDER BY dedupe;

-- keys_to is the place up to which the names of all events are in keys.
-- keys_round is the place up to which they are moving now, 0 when none are, and
-- keys_moved the beginning of the last name that has moved.
INSERT INTO facts (name, value)
    SELECT 'keys_to', coalesce(max(seq), 0) FROM events
    UNION ALL VALUES ('keys_round', 0), ('keys_moved', 0);

DROP INDEX events_dedupe;

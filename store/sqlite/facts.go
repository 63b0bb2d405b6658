package sqlite

import (
	"errors"
	"fmt"
)

// load reads what the connection keeps in memory. Nothing in it grows with what is
// stored.
func (c *writeConn) load() error {
	var err error
	if c.pageSize, err = c.number(`PRAGMA page_size`); err != nil {
		return fmt.Errorf("reading the page size: %w", err)
	}
	// The counter goes on behind the last event, so that a seq is not used
	// twice even where the clock was set back.
	if c.counter, err = c.number(`SELECT coalesce(max(seq), 0) FROM events`); err != nil {
		return fmt.Errorf("reading the last place: %w", err)
	}
	c.newestAt = c.counter >> counterBits
	c.counter &= counterMask
	return c.loadMemtable()
}

const setFact = `UPDATE facts SET value = ?2 WHERE name = +?1`

// markStarted takes the mark of a clean stop away and reports whether it was
// there.
func (c *writeConn) markStarted() (bool, error) {
	clean, err := c.number(`SELECT value FROM facts WHERE name = 'clean'`)
	if err != nil {
		return false, err
	}
	if clean == 0 {
		return false, nil // nothing is written, for which there may be no space
	}
	return true, c.mark(0)
}

// markStopped sets the mark and empties the log, so that a copy of the
// database file alone is complete from now on.
func (c *writeConn) markStopped() error {
	if err := c.mark(1); err != nil {
		return fmt.Errorf("marking the clean stop: %w", err)
	}
	return c.checkpoint(`PRAGMA wal_checkpoint(TRUNCATE)`)
}

// mark writes whether the last stop was clean. On a full volume the log begins
// again, as in [writer.makeSpace].
func (c *writeConn) mark(clean int64) error {
	_, err := c.exec(setFact, "clean", clean)
	if isFullDatabase(err) {
		if err := c.checkpoint(`PRAGMA wal_checkpoint(RESTART)`); err != nil {
			return err
		}
		_, err = c.exec(setFact, "clean", clean)
	}
	return err
}

// checkpoint copies the log into the database as far as readers allow. Its
// answer has to be read: a statement that was left half read would keep every
// later transaction from being committed.
func (c *writeConn) checkpoint(pragma string) error {
	var busy, log, moved int
	if _, err := c.row(pragma, nil, &busy, &log, &moved); err != nil {
		return fmt.Errorf("emptying the log: %w", err)
	}
	return nil
}

// close closes the statements and the connection.
func (c *writeConn) close() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

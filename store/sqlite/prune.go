package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"weir/store"
)

// The size of one step of pruning: small enough that an event that comes in
// meanwhile waits a few milliseconds.
const (
	vacuumPages = 100
	// reservePages stay free for the next events instead of being returned:
	// a high-water mark of 2 MiB above what is stored.
	reservePages = 256
	// nearlyFullShare is the part of MaxBytes: below it the space left, without
	// what the log may take, is little, and payloads of delivered events are
	// removed before their retention has passed.
	nearlyFullShare = 16
)

// Prune takes one small step of housekeeping and must be asked again while More
// is set, then from time to time. It removes payloads and attempts of events
// whose deliveries are all finished and past their retention (near MaxBytes
// those of delivered ones at once), then events that nothing needs: without a
// payload, and past the dedupe window. Then it returns free pages to the
// file system. It removes nothing of an event that is not finished everywhere.
func (s *Store) Prune(ctx context.Context, query store.PruneQuery) (store.PruneResult, error) {
	if query.Limit <= 0 {
		query.Limit = store.DefaultPruneLimit
	}
	var result store.PruneResult
	err := s.writer.do(ctx, 0, func(conn *writeConn) (err error) {
		result, err = conn.prune(query)
		if err == nil && s.counts.advance(query.Now.UnixMilli()) {
			// If it fails, rows are counted until the next step tries again.
			_ = s.recount(query.Now.UnixMilli()>>slotBits - pivotLag)
		}
		return err
	})
	if err != nil {
		return store.PruneResult{}, fmt.Errorf("pruning: %w", err)
	}
	return result, nil
}

// pass is how far pruning has come in a table. The next pass begins at the
// oldest row.
type pass struct{ after int64 }

// pruning is how far it has come in both tables, and how many events have arrived
// since the last step.
type pruning struct {
	payloads, events pass
	arrived          int
}

// advance notes what a step looked at, and reports whether the pass goes on.
func (w *pass) advance(rows []prunable, limit int) bool {
	if len(rows) < limit {
		w.after = 0
		return false
	}
	w.after = rows[len(rows)-1].seq
	return true
}

// prunable is a row that was looked at.
type prunable struct {
	seq int64
	due bool
}

func (c *writeConn) prune(query store.PruneQuery) (store.PruneResult, error) {
	result := store.PruneResult{NearlyFull: c.nearlyFull(), Arrived: c.pruning.arrived}
	if result.NearlyFull {
		query.DeliveredBefore = query.Now
	}
	c.pruning.arrived = 0
	morePayloads, err := c.prunePayloads(query, &result)
	if err != nil {
		return result, err
	}
	moreEvents, err := c.pruneEvents(query, &result)
	if err != nil {
		return result, err
	}
	morePages, err := c.vacuum(&result)
	result.More = morePayloads || moreEvents || morePages
	if err == nil {
		err = c.measure() // so that it is known at once when the store is not full any more
	}
	return result, err
}

const payloadCandidates = `SELECT p.seq, NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = p.seq AND NOT (
		d.state = 'delivered' AND d.finished_at <= ?3 OR d.state = 'dead' AND d.finished_at <= ?4))
	FROM payloads p WHERE p.seq > ?1 AND p.seq < ?2 ORDER BY p.seq LIMIT +?5`

// prunePayloads looks at the next payloads that can be past retention. What is
// finished was received before, so younger ones need no look.
func (c *writeConn) prunePayloads(query store.PruneQuery, result *store.PruneResult) (more bool, err error) {
	delivered, dead := query.DeliveredBefore.UnixMilli(), query.DeadBefore.UnixMilli()
	rows, err := c.prunable(payloadCandidates, c.pruning.payloads.after, seqAt(max(delivered, dead)+1), delivered, dead, query.Limit)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if !row.due {
			continue
		}
		if err := c.remove(row.seq, `attempts`, `payloads`); err != nil {
			return false, err
		}
		result.Payloads++
	}
	return c.pruning.payloads.advance(rows, query.Limit), nil
}

const eventCandidates = `SELECT e.seq,
		NOT EXISTS (SELECT 1 FROM payloads p WHERE p.seq = e.seq) AND
		NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = e.seq AND d.state = 'pending') AND
		NOT EXISTS (SELECT 1 FROM events c WHERE c.conflict_of = e.id)
	FROM events e WHERE e.seq > ?1 AND e.seq < ?2 ORDER BY e.seq LIMIT +?3`

// pruneEvents looks at the next events whose keys are past the window. One that
// others were kept in addition to stays as long as they do, so that their repeats are
// still compared.
func (c *writeConn) pruneEvents(query store.PruneQuery, result *store.PruneResult) (more bool, err error) {
	rows, err := c.prunable(eventCandidates, c.pruning.events.after, seqAt(query.Now.UnixMilli()-c.window), query.Limit)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if !row.due {
			continue
		}
		if err := c.removeEvent(row.seq); err != nil {
			return false, err
		}
		result.Events++
	}
	return c.pruning.events.advance(rows, query.Limit), nil
}

func (c *writeConn) prunable(text string, args ...any) ([]prunable, error) {
	var list []prunable
	err := c.each(text, args, func(rows *sql.Rows) error {
		var row prunable
		err := rows.Scan(&row.seq, &row.due)
		list = append(list, row)
		return err
	})
	return list, err
}

// removeEvent deletes an event that has no payload, and forgets its key.
func (c *writeConn) removeEvent(seq int64) error {
	var name []byte
	if _, err := c.row(`SELECT dedupe FROM events WHERE seq = +?1`, []any{seq}, &name); err != nil {
		return err
	}
	if err := c.deleteKey(name, seq); err != nil {
		return err
	}
	if err := c.removeDeliveries(seq); err != nil {
		return err
	}
	return c.remove(seq, `attempts`, `events`)
}

// removeDeliveries deletes the deliveries of an event, which are finished.
func (c *writeConn) removeDeliveries(seq int64) error {
	const query = `DELETE FROM deliveries WHERE seq = +?1 RETURNING destination, state, attempts, next_at`
	return c.each(query, []any{seq}, func(rows *sql.Rows) error {
		var destination string
		var d currentDelivery
		err := rows.Scan(&destination, &d.state, &d.attempts, &d.nextAt)
		c.counts.add(destination, d.class(), d.nextAt, -1)
		return err
	})
}

// remove deletes the rows of an event from tables.
func (c *writeConn) remove(seq int64, tables ...string) error {
	for _, table := range tables {
		if _, err := c.exec(`DELETE FROM `+table+` WHERE seq = +?1`, seq); err != nil {
			return err
		}
	}
	return nil
}

// vacuum returns some free pages to the file system, beyond the reserve. The pragma frees one
// page for each row that is read from it.
func (c *writeConn) vacuum(result *store.PruneResult) (more bool, err error) {
	const count = `PRAGMA freelist_count`
	free, err := c.number(count)
	if err != nil || free <= reservePages {
		return false, err
	}
	release := fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, vacuumPages)
	if err := c.each(release, nil, func(*sql.Rows) error { return nil }); err != nil {
		return false, err
	}
	left, err := c.number(count)
	result.Pages = int(free - left)
	return left > reservePages && left < free, err
}

package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// The size of one step of pruning: small enough that an event that comes in
// meanwhile waits a few milliseconds.
const (
	DefaultPruneLimit = 100 // rows looked at in each table
	vacuumPages       = 100
	// reservePages stay free for the next events instead of being given back:
	// a high-water mark of 2 MiB above what is stored.
	reservePages = 256
	// tightShare is the part of MaxBytes below which the room, beside that
	// which the log may take, counts as short, so that delivered payloads go
	// before their time.
	tightShare = 16
)

// PruneQuery says what may go.
type PruneQuery struct {
	// Now decides which keys are past the dedupe window.
	Now time.Time
	// DeliveredBefore and DeadBefore are the times of finishing up to which
	// payloads and attempts are removed.
	DeliveredBefore, DeadBefore time.Time
	// Limit bounds the rows that are looked at. 0 is DefaultPruneLimit.
	Limit int
}

// PruneResult tells what one step did.
type PruneResult struct {
	Payloads int // payloads removed, with their attempts
	Events   int // events removed altogether
	Pages    int // pages given back to the file system
	// Tight says that the room below Config.MaxBytes is short, as in [Commit].
	Tight bool
	// More says that the next step may be asked for at once; otherwise
	// everything has been looked at.
	More bool
}

// Prune takes one small step of housekeeping and must be asked again while More
// is set, then from time to time. It removes payloads and attempts of events
// whose deliveries are all finished and past their retention (near MaxBytes
// those of delivered ones at once), then events that nothing needs: without a
// payload, and past the dedupe window. Then it gives free pages back to the
// file system. It removes nothing of an event that is not finished everywhere.
func (s *Store) Prune(ctx context.Context, query PruneQuery) (PruneResult, error) {
	if query.Limit <= 0 {
		query.Limit = DefaultPruneLimit
	}
	var result PruneResult
	err := s.writer.do(ctx, 0, func(session *session) (err error) {
		result, err = session.prune(query)
		return err
	})
	if err != nil {
		return PruneResult{}, fmt.Errorf("pruning: %w", err)
	}
	return result, nil
}

// sweep is how far a round through a table has come. Rounds begin again at the
// oldest row.
type sweep struct{ after int64 }

// advance notes what a step looked at, and reports whether the round goes on.
func (w *sweep) advance(rows []prunable, limit int) bool {
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

func (s *session) prune(query PruneQuery) (PruneResult, error) {
	result := PruneResult{Tight: s.tight()}
	if result.Tight {
		query.DeliveredBefore = query.Now
	}
	morePayloads, err := s.prunePayloads(query, &result)
	if err != nil {
		return result, err
	}
	moreEvents, err := s.pruneEvents(query, &result)
	if err != nil {
		return result, err
	}
	morePages, err := s.vacuum(&result)
	result.More = morePayloads || moreEvents || morePages
	return result, err
}

const payloadCandidates = `SELECT p.seq, NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = p.seq AND NOT (
		d.state = 'delivered' AND d.finished_at <= ?3 OR d.state = 'dead' AND d.finished_at <= ?4))
	FROM payloads p WHERE p.seq > ?1 AND p.seq < ?2 ORDER BY p.seq LIMIT +?5`

// prunePayloads looks at the next payloads that can be past retention. What is
// finished was received before, so younger ones need no look.
func (s *session) prunePayloads(query PruneQuery, result *PruneResult) (more bool, err error) {
	delivered, dead := query.DeliveredBefore.UnixMilli(), query.DeadBefore.UnixMilli()
	rows, err := s.prunable(payloadCandidates, s.payloads.after, place(max(delivered, dead)+1), delivered, dead, query.Limit)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if !row.due {
			continue
		}
		if err := s.remove(row.seq, `attempts`, `payloads`); err != nil {
			return false, err
		}
		result.Payloads++
	}
	return s.payloads.advance(rows, query.Limit), nil
}

const eventCandidates = `SELECT e.seq,
		NOT EXISTS (SELECT 1 FROM payloads p WHERE p.seq = e.seq) AND
		NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = e.seq AND d.state = 'pending') AND
		NOT EXISTS (SELECT 1 FROM events c WHERE c.conflict_of = e.id)
	FROM events e WHERE e.seq > ?1 AND e.seq < ?2 ORDER BY e.seq LIMIT +?3`

// pruneEvents looks at the next events whose keys are past the window. One that
// others were kept beside stays as long as they do, so that their repeats are
// still compared.
func (s *session) pruneEvents(query PruneQuery, result *PruneResult) (more bool, err error) {
	rows, err := s.prunable(eventCandidates, s.events.after, place(query.Now.UnixMilli()-s.window), query.Limit)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if !row.due {
			continue
		}
		if err := s.removeEvent(row.seq); err != nil {
			return false, err
		}
		result.Events++
	}
	return s.events.advance(rows, query.Limit), nil
}

func (s *session) prunable(text string, args ...any) ([]prunable, error) {
	var list []prunable
	err := s.each(text, args, func(rows *sql.Rows) error {
		var row prunable
		err := rows.Scan(&row.seq, &row.due)
		list = append(list, row)
		return err
	})
	return list, err
}

// removeEvent deletes an event that has no payload, and forgets its key.
func (s *session) removeEvent(seq int64) error {
	var name []byte
	if _, err := s.row(`SELECT dedupe FROM events WHERE seq = +?1`, []any{seq}, &name); err != nil {
		return err
	}
	if err := s.release(name, seq); err != nil {
		return err
	}
	return s.remove(seq, `attempts`, `deliveries`, `events`)
}

// remove deletes the rows of an event from tables.
func (s *session) remove(seq int64, tables ...string) error {
	for _, table := range tables {
		if _, err := s.exec(`DELETE FROM `+table+` WHERE seq = +?1`, seq); err != nil {
			return err
		}
	}
	return nil
}

// vacuum gives some free pages back, beyond the reserve. The pragma frees one
// page for each row that is read from it.
func (s *session) vacuum(result *PruneResult) (more bool, err error) {
	const count = `PRAGMA freelist_count`
	free, err := s.number(count)
	if err != nil || free <= reservePages {
		return false, err
	}
	release := fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, vacuumPages)
	if err := s.each(release, nil, func(*sql.Rows) error { return nil }); err != nil {
		return false, err
	}
	left, err := s.number(count)
	result.Pages = int(free - left)
	return left > reservePages && left < free, err
}

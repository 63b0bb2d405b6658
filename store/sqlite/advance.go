package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"weir/webhook"
)

// advancing lists what waits beyond a time, by kind.
const (
	advanceFirsts = `SELECT seq, attempts, next_at FROM deliveries INDEXED BY deliveries_first
		WHERE state = 'pending' AND attempts = 0 AND destination = +?1 AND next_at > ?2
		ORDER BY next_at, seq LIMIT +?3`
	advanceBackoffs = `SELECT seq, attempts, next_at FROM deliveries INDEXED BY deliveries_retry
		WHERE state = 'pending' AND attempts > 0 AND destination = +?1 AND next_at > ?2 AND refusals = 0
		ORDER BY next_at, seq LIMIT +?3`
	advanceRefused = `SELECT seq, attempts, next_at FROM deliveries INDEXED BY deliveries_refused
		WHERE state = 'pending' AND refusals > 0 AND destination = +?1 AND next_at > ?2
		ORDER BY next_at LIMIT +?3`
)

// Advance makes deliveries due whose own next time lies ahead, and returns how
// many it has changed: fewer than the limit of a kind when nothing of it is left.
// It touches the writer only when there is something to change.
func (s *Store) Advance(ctx context.Context, query webhook.AdvanceQuery) (int, error) {
	waits, err := s.anyBeyond(ctx, query)
	if err != nil || !waits {
		return 0, wrapAdvance(query, err)
	}
	changed := 0
	err = s.writer.do(ctx, 0, func(conn *writeConn) (err error) {
		changed, err = conn.advance(query)
		return err
	})
	return changed, wrapAdvance(query, err)
}

func wrapAdvance(query webhook.AdvanceQuery, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("making deliveries of %s due: %w", query.Destination, err)
}

// advanceKind is one kind of an advance: its statement and its time.
type advanceKind struct {
	list   string
	beyond time.Time
}

// kindsOf returns the kinds that a query asks for.
func kindsOf(query webhook.AdvanceQuery) []advanceKind {
	var kinds []advanceKind
	for _, kind := range []advanceKind{
		{advanceFirsts, query.Firsts}, {advanceBackoffs, query.Backoffs}, {advanceRefused, query.Refused},
	} {
		if !kind.beyond.IsZero() {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// anyBeyond reports whether there is something to change.
func (s *Store) anyBeyond(ctx context.Context, query webhook.AdvanceQuery) (bool, error) {
	for _, kind := range kindsOf(query) {
		found := false
		args := []any{query.Destination, millis(kind.beyond), 1}
		err := s.reads.each(ctx, kind.list, args, func(*sql.Rows) error {
			found = true
			return nil
		})
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

func (c *writeConn) advance(query webhook.AdvanceQuery) (int, error) {
	changed := 0
	for _, kind := range kindsOf(query) {
		var list []currentDelivery
		args := []any{query.Destination, millis(kind.beyond), query.Limit}
		err := c.each(kind.list, args, func(rows *sql.Rows) error {
			d := currentDelivery{state: webhook.Pending}
			err := rows.Scan(&d.seq, &d.attempts, &d.nextAt)
			list = append(list, d)
			return err
		})
		if err != nil {
			return changed, err
		}
		for _, d := range list {
			if err := c.makeDue(d, query.Destination, millis(query.Now)); err != nil {
				return changed, err
			}
		}
		changed += len(list)
	}
	return changed, nil
}

// makeDue changes the next time of a pending delivery. Its age cannot have begun
// later than that.
func (c *writeConn) makeDue(d currentDelivery, destination string, at int64) error {
	c.counts.move(destination, d.class(), d.nextAt, d.class(), at)
	_, err := c.exec(`UPDATE deliveries SET next_at = ?3, age_from = min(age_from, ?3)
		WHERE seq = +?1 AND destination = +?2`, d.seq, destination, at)
	return err
}

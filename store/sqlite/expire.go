package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"weir/webhook"
)

const oldestAge = `SELECT min(age_from) FROM deliveries INDEXED BY deliveries_age
	WHERE state = 'pending' AND destination = +?1`

// Expire ends pending deliveries of a destination that are too old: they are
// dead, expired, with the query's sentence. It touches the writer only when
// there is something to end.
func (s *Store) Expire(ctx context.Context, query webhook.ExpireQuery) (webhook.Expired, error) {
	var done webhook.Expired
	err := s.expire(ctx, query, &done)
	if err != nil {
		return webhook.Expired{}, fmt.Errorf("expiring deliveries of %s: %w", query.Destination, err)
	}
	return done, nil
}

func (s *Store) expire(ctx context.Context, query webhook.ExpireQuery, done *webhook.Expired) error {
	var oldest sql.NullInt64
	if err := s.reads.row(ctx, oldestAge, []any{query.Destination}, &oldest); err != nil {
		return err
	}
	done.Oldest = optionalTime(oldest)
	if !oldest.Valid || oldest.Int64 > query.AgeBefore.UnixMilli() {
		return nil
	}
	return s.writer.do(ctx, 0, func(conn *writeConn) (err error) {
		*done, err = conn.expire(query)
		return err
	})
}

func (c *writeConn) expire(query webhook.ExpireQuery) (webhook.Expired, error) {
	var done webhook.Expired
	old, err := c.tooOld(query)
	if err != nil {
		return done, err
	}
	const end = `UPDATE deliveries SET state = 'dead', reason = 'expired', detail = ?3, finished_at = ?4
		WHERE seq = +?1 AND destination = +?2`
	for _, d := range old {
		c.counts.move(query.Destination, d.class(), d.nextAt, dead, d.nextAt)
		if _, err := c.exec(end, d.seq, query.Destination, query.Detail, millis(query.Now)); err != nil {
			return done, err
		}
	}
	done.Count = len(old)
	var oldest sql.NullInt64
	if _, err := c.row(oldestAge, []any{query.Destination}, &oldest); err != nil {
		return done, err
	}
	done.Oldest = optionalTime(oldest)
	return done, nil
}

const expireCandidates = `SELECT d.seq, d.attempts, d.next_at, e.id FROM deliveries d INDEXED BY deliveries_age
	CROSS JOIN events e ON e.seq = d.seq
	WHERE d.state = 'pending' AND d.destination = +?1 AND d.age_from <= ?2
	ORDER BY d.age_from, d.seq LIMIT +?3`

// tooOld returns what the query ends, oldest first.
func (c *writeConn) tooOld(query webhook.ExpireQuery) ([]currentDelivery, error) {
	var list []currentDelivery
	args := []any{query.Destination, query.AgeBefore.UnixMilli(), query.Limit + len(query.Except)}
	err := c.each(expireCandidates, args, func(rows *sql.Rows) error {
		d := currentDelivery{state: webhook.Pending}
		var id []byte
		if err := rows.Scan(&d.seq, &d.attempts, &d.nextAt, &id); err != nil {
			return err
		}
		if len(list) < query.Limit && !slices.Contains(query.Except, webhook.ID(id)) {
			list = append(list, d)
		}
		return nil
	})
	return list, err
}

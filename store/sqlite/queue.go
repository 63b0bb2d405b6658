package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/webhook"
)

const queueQuery = `SELECT
	(SELECT count(*) FROM deliveries INDEXED BY deliveries_age
		WHERE state = 'pending' AND destination = +?1),
	(SELECT count(*) FROM deliveries INDEXED BY deliveries_open
		WHERE state = 'dead' AND state <> 'delivered' AND destination = +?1),
	(SELECT count(*) FROM deliveries INDEXED BY deliveries_retry
		WHERE state = 'pending' AND attempts > 0 AND destination = +?1),
	(SELECT count(*) FROM deliveries INDEXED BY deliveries_first
		WHERE state = 'pending' AND attempts = 0 AND destination = +?1 AND next_at <= ?2),
	(SELECT count(*) FROM deliveries INDEXED BY deliveries_retry
		WHERE state = 'pending' AND attempts > 0 AND destination = +?1 AND next_at <= ?2),
	(SELECT min(next_at) FROM deliveries INDEXED BY deliveries_first
		WHERE state = 'pending' AND attempts = 0 AND destination = +?1 AND next_at <= ?2),
	(SELECT min(next_at) FROM deliveries INDEXED BY deliveries_retry
		WHERE state = 'pending' AND attempts > 0 AND destination = +?1 AND next_at <= ?2),
	(SELECT min(age_from) FROM deliveries INDEXED BY deliveries_age
		WHERE state = 'pending' AND destination = +?1)`

// Queue counts what waits for a destination, and what has died for it. Its cost
// follows these counts.
func (s *Store) Queue(ctx context.Context, destination string, now time.Time) (webhook.Queue, error) {
	var (
		queue                        webhook.Queue
		oldest, oldestRetries, begun sql.NullInt64
	)
	err := s.reads.row(ctx, queueQuery, []any{destination, now.UnixMilli()},
		&queue.Pending, &queue.Dead, &queue.Retries, &queue.Due, &queue.DueRetries, &oldest, &oldestRetries, &begun)
	if err != nil {
		return webhook.Queue{}, fmt.Errorf("counting the queue of %s: %w", destination, err)
	}
	queue.Due += queue.DueRetries
	if !oldest.Valid || oldestRetries.Valid && oldestRetries.Int64 < oldest.Int64 {
		oldest = oldestRetries
	}
	queue.OldestDue, queue.Oldest = optionalMoment(oldest), optionalMoment(begun)
	return queue, nil
}

// Owned names every destination that has ever been taken over, in order.
func (s *Store) Owned(ctx context.Context) ([]string, error) {
	var names []string
	err := s.reads.each(ctx, `SELECT name FROM destinations ORDER BY name`, nil, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the destinations: %w", err)
	}
	return names, nil
}

const newestOfSource = `SELECT received_at FROM events INDEXED BY events_source
	WHERE source = +?1 ORDER BY seq DESC LIMIT 1`

// LastAccepted tells for each source when its newest event was received. A
// source without any is left out.
func (s *Store) LastAccepted(ctx context.Context, sources []string) (map[string]time.Time, error) {
	last := map[string]time.Time{}
	for _, source := range sources {
		var ms int64
		err := s.reads.row(ctx, newestOfSource, []any{source}, &ms)
		if errors.Is(err, webhook.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the newest event of source %s: %w", source, err)
		}
		last[source] = moment(ms)
	}
	return last, nil
}

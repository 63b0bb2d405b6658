package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"weir/webhook"
)

// The parts of the queries below. What falls due between two times is counted by
// rows; all else is counted as it changes, see counts.
const (
	firstsBetween = `(SELECT count(*) FROM deliveries INDEXED BY deliveries_first
		WHERE state = 'pending' AND attempts = 0 AND destination = +?1 AND next_at >= ?3 AND next_at <= ?4)`
	retriesBetween = `(SELECT count(*) FROM deliveries INDEXED BY deliveries_retry
		WHERE state = 'pending' AND attempts > 0 AND destination = +?1 AND next_at >= ?3 AND next_at <= ?4)`
	oldestAndRefused = `(SELECT min(next_at) FROM deliveries INDEXED BY deliveries_first
		WHERE state = 'pending' AND attempts = 0 AND destination = +?1 AND next_at <= ?2),
	(SELECT min(next_at) FROM deliveries INDEXED BY deliveries_retry
		WHERE state = 'pending' AND attempts > 0 AND destination = +?1 AND next_at <= ?2),
	(SELECT min(age_from) FROM deliveries INDEXED BY deliveries_age
		WHERE state = 'pending' AND destination = +?1),
	(SELECT count(*) FROM deliveries INDEXED BY deliveries_refused
		WHERE state = 'pending' AND refusals > 0 AND destination = +?1 AND next_at > ?2)`
)

// queueQuery reads what is not in counts. Its cost does not depend on how much
// waits.
const queueQuery = `SELECT ` + firstsBetween + `, ` + retriesBetween + `, ` + oldestAndRefused

// countedQuery counts rows, as long as counts is not ready.
const countedQuery = `SELECT
	(SELECT count(*) FROM deliveries INDEXED BY deliveries_age
		WHERE state = 'pending' AND destination = +?1),
	(SELECT count(*) FROM deliveries INDEXED BY deliveries_open
		WHERE state = 'dead' AND state <> 'delivered' AND destination = +?1),
	(SELECT count(*) FROM deliveries INDEXED BY deliveries_retry
		WHERE state = 'pending' AND attempts > 0 AND destination = +?1),
	` + firstsBetween + `, ` + retriesBetween + `, ` + oldestAndRefused

// queueRow is what both queries read.
type queueRow struct {
	firsts, retries, refused     int
	oldest, oldestRetries, begun sql.NullInt64
}

func (r *queueRow) dest() []any {
	return []any{&r.firsts, &r.retries, &r.oldest, &r.oldestRetries, &r.begun, &r.refused}
}

// fill writes what needs no counts into a queue.
func (r *queueRow) fill(queue *webhook.Queue) {
	queue.Refused = r.refused
	oldest := r.oldest
	if !oldest.Valid || r.oldestRetries.Valid && r.oldestRetries.Int64 < oldest.Int64 {
		oldest = r.oldestRetries
	}
	queue.OldestDue, queue.Oldest = optionalTime(oldest), optionalTime(r.begun)
}

// Queue returns how much waits for a destination, and how much is dead. The
// counts are kept, so that its cost does not depend on them, but for the first
// moments after Open. While other calls change deliveries, the counts and times
// may be those of two moments.
func (s *Store) Queue(ctx context.Context, destination string, now time.Time) (webhook.Queue, error) {
	queue, err := s.queue(ctx, destination, now.UnixMilli())
	if err != nil {
		return webhook.Queue{}, fmt.Errorf("counting the queue of %s: %w", destination, err)
	}
	return queue, nil
}

func (s *Store) queue(ctx context.Context, destination string, now int64) (webhook.Queue, error) {
	known, ok := s.counts.queue(destination, now)
	if !ok {
		return s.countQueue(ctx, destination, now)
	}
	from, to, sign := known.bound, now, 1
	if now < known.bound {
		from, to, sign = now+1, known.bound-1, -1
	}
	var row queueRow
	if err := s.reads.row(ctx, queueQuery, []any{destination, now, from, to}, row.dest()...); err != nil {
		return webhook.Queue{}, err
	}
	queue := webhook.Queue{Pending: known.pending, Dead: known.dead, Retries: known.retries}
	queue.DueRetries = min(max(known.retriesBefore+sign*row.retries, 0), known.retries)
	firsts := min(max(known.firstsBefore+sign*row.firsts, 0), known.pending-known.retries)
	queue.Due = firsts + queue.DueRetries
	row.fill(&queue)
	return queue, nil
}

// countQueue counts rows.
func (s *Store) countQueue(ctx context.Context, destination string, now int64) (webhook.Queue, error) {
	var queue webhook.Queue
	var row queueRow
	dest := append([]any{&queue.Pending, &queue.Dead, &queue.Retries}, row.dest()...)
	if err := s.reads.row(ctx, countedQuery, []any{destination, now, int64(math.MinInt64), now}, dest...); err != nil {
		return webhook.Queue{}, err
	}
	queue.DueRetries, queue.Due = row.retries, row.firsts+row.retries
	row.fill(&queue)
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

// LastAccepted returns for each source when its newest event was received. A
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
		last[source] = timeAt(ms)
	}
	return last, nil
}

// dueQueries read one kind of due work. Its queries name their index: what
// the planner would choose depends on statistics that nobody keeps.
type dueQueries struct {
	due  string // destination, now, limit
	next string // destination, now
}

func newDueQueries(index, attempts, order string) dueQueries {
	from := ` INDEXED BY ` + index
	where := ` WHERE d.state = 'pending' AND ` + attempts + ` AND d.destination = +?1`
	return dueQueries{
		due: `SELECT ` + deliveryColumns + ` FROM deliveries d` + from + ` CROSS JOIN events e ON e.seq = d.seq` +
			where + ` AND d.next_at <= ?2 ORDER BY ` + order + ` LIMIT +?3`,
		next: `SELECT min(d.next_at) FROM deliveries d` + from + where + ` AND d.next_at > ?2`,
	}
}

var (
	firsts       = newDueQueries("deliveries_first", "d.attempts = 0", "d.next_at, d.seq")
	newestFirsts = newDueQueries("deliveries_first", "d.attempts = 0", "d.next_at DESC, d.seq DESC")
	retries      = newDueQueries("deliveries_retry", "d.attempts > 0", "d.next_at, d.seq")
)

func dueQueriesOf(which webhook.DueWhich) dueQueries {
	switch which {
	case webhook.Retries:
		return retries
	case webhook.NewestFirsts:
		return newestFirsts
	default:
		return firsts
	}
}

// Due lists pending deliveries whose own next time is reached, and when the
// next of the same kind falls due. It claims nothing, and its cost follows what
// it returns.
func (s *Store) Due(ctx context.Context, query webhook.DueQuery) (webhook.DueList, error) {
	var list webhook.DueList
	lane := dueQueriesOf(query.Which)
	now := query.Now.UnixMilli() // rounded down: never early
	args := []any{query.Destination, now, query.Limit}
	if err := s.reads.each(ctx, lane.due, args, scanDeliveries(&list.Deliveries)); err != nil {
		return webhook.DueList{}, fmt.Errorf("listing what is due for %s: %w", query.Destination, err)
	}
	var next sql.NullInt64
	if err := s.reads.row(ctx, lane.next, args[:2], &next); err != nil {
		return webhook.DueList{}, fmt.Errorf("finding what is due next for %s: %w", query.Destination, err)
	}
	list.Next = optionalTime(next)
	return list, nil
}

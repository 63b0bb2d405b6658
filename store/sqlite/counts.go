package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"weir/webhook"
)

// class is what a delivery is counted as.
type class int

const (
	firstTry   class = iota // pending, never attempted
	retry                   // pending, attempted before
	dead                    // dead
	notCounted              // delivered
)

func classOf(state webhook.State, attempts int) class {
	switch {
	case state == webhook.Dead:
		return dead
	case state != webhook.Pending:
		return notCounted
	case attempts > 0:
		return retry
	default:
		return firstTry
	}
}

// slotBits is how many low bits of a time in milliseconds are one slot: about a
// second.
const slotBits = 10

// pivotLag is how many slots the pivot stays behind the clock, so that a clock
// that is set back a little does not make it too high.
const pivotLag = 64

// countChange adds n deliveries of a class, with a next time, to a destination.
type countChange struct {
	destination string
	class       class
	nextAt      int64
	n           int
}

// pendingCounts counts the pending deliveries of one class: all of them, those whose
// next time is before the pivot, and the others by the slot of their next time.
type pendingCounts struct {
	total, early int
	later        map[int64]int
}

// before returns how many have a next time before a slot that is not below the
// pivot.
func (w *pendingCounts) before(slot int64) int {
	n := w.early
	for at, count := range w.later {
		if at < slot {
			n += count
		}
	}
	return n
}

// queueCounts are the counts of one destination.
type queueCounts struct {
	pending [2]pendingCounts // by class: firstTry, retry
	dead    int
}

// counts keeps how many deliveries wait for each destination, and how many are
// dead, so that nobody has to count rows to show a number. The writer adds each
// committed change. A start counts what is stored in the background, as of a
// snapshot that is taken before the writer begins, and adds the changes that are
// committed meanwhile; until then counts is not ready, and [Store.Queue] counts
// rows.
type counts struct {
	// changes belong to the current transaction of the writer.
	changes []countChange

	mu sync.Mutex
	// of is what is counted, nil until it is complete.
	of map[string]*queueCounts
	// pivot is a slot: see pendingCounts.
	pivot int64
	// counting says that a count is in progress, and since are the changes
	// that were committed after its snapshot.
	counting bool
	since    []countChange
}

// add counts n deliveries within the current transaction.
func (c *counts) add(destination string, class class, nextAt int64, n int) {
	if class != notCounted {
		c.changes = append(c.changes, countChange{destination, class, nextAt, n})
	}
}

// move counts a delivery that changes its class or its next time.
func (c *counts) move(destination string, from class, fromAt int64, to class, toAt int64) {
	if from == to && fromAt == toAt {
		return
	}
	c.add(destination, from, fromAt, -1)
	c.add(destination, to, toAt, 1)
}

// committed makes the changes of a transaction visible.
func (c *counts) committed() {
	if len(c.changes) > 0 {
		c.mu.Lock()
		switch {
		case c.counting:
			c.since = append(c.since, c.changes...)
		case c.of != nil:
			c.apply(c.changes)
		}
		c.mu.Unlock()
	}
	c.rolledBack()
}

// rolledBack discards the changes of a transaction.
func (c *counts) rolledBack() { c.changes = c.changes[:0] }

// apply adds changes to what is counted.
func (c *counts) apply(changes []countChange) {
	for _, change := range changes {
		q := c.of[change.destination]
		if q == nil {
			q = &queueCounts{}
			c.of[change.destination] = q
		}
		if change.class == dead {
			q.dead += change.n
			continue
		}
		w := &q.pending[change.class]
		w.total += change.n
		slot := change.nextAt >> slotBits
		if slot < c.pivot {
			w.early += change.n
			continue
		}
		if w.later == nil {
			w.later = map[int64]int{}
		}
		if w.later[slot] += change.n; w.later[slot] == 0 {
			delete(w.later, slot)
		}
	}
}

// begin starts a count whose snapshot has just been taken, and reports false if
// one is in progress.
func (c *counts) begin(pivot int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counting {
		return false
	}
	c.counting, c.of, c.since, c.pivot = true, nil, nil, pivot
	return true
}

// end ends a count with what it found, nil if it failed.
func (c *counts) end(found []countChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found != nil {
		c.of = map[string]*queueCounts{}
		c.apply(found)
		c.apply(c.since)
	}
	c.counting, c.since = false, nil
}

// advance moves the pivot along with the clock, so that slots in the past do not
// gather. It reports whether everything has to be counted anew: when nothing is
// counted, or when the clock was set back, behind the pivot.
func (c *counts) advance(now int64) (recount bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pivot := now>>slotBits - pivotLag
	if c.counting {
		return false
	}
	if c.of == nil || pivot < c.pivot-pivotLag {
		return true
	}
	if pivot <= c.pivot {
		return false
	}
	c.pivot = pivot
	for _, q := range c.of {
		for i := range q.pending {
			w := &q.pending[i]
			for at, n := range w.later {
				if at < pivot {
					w.early += n
					delete(w.later, at)
				}
			}
		}
	}
	return false
}

// counted is what is known of a queue: of the due ones those whose next time is
// before a bound.
type counted struct {
	pending, retries, dead      int
	firstsBefore, retriesBefore int
	bound                       int64
}

// queue returns the counts of a destination for a moment. ok is false while they
// are not known.
func (c *counts) queue(destination string, now int64) (known counted, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		return counted{}, false
	}
	slot := max(now>>slotBits, c.pivot)
	known.bound = slot << slotBits
	if q := c.of[destination]; q != nil {
		firsts, retries := &q.pending[firstTry], &q.pending[retry]
		known.pending, known.retries, known.dead = firsts.total+retries.total, retries.total, q.dead
		known.firstsBefore, known.retriesBefore = firsts.before(slot), retries.before(slot)
	}
	return known, true
}

// The queries of a count. Each reads one of the partial indexes from end to end.
const (
	countDead = `SELECT destination, count(*) FROM deliveries INDEXED BY deliveries_open
		WHERE state = 'dead' AND state <> 'delivered' GROUP BY destination`
	countFirsts = `SELECT destination, next_at FROM deliveries INDEXED BY deliveries_first
		WHERE state = 'pending' AND attempts = 0`
	countRetries = `SELECT destination, next_at FROM deliveries INDEXED BY deliveries_retry
		WHERE state = 'pending' AND attempts > 0`
)

// snapshot is a read transaction on a connection of its own, so that a count takes
// none from the readers.
type snapshot struct {
	db *sql.DB
	tx *sql.Tx
}

// newSnapshot begins one: it sees what is committed now, and nothing later.
func newSnapshot(path string) (snapshot, error) {
	s := snapshot{db: newConnector(path, "ro", common, reading).open(1)}
	tx, err := s.db.BeginTx(context.Background(), nil)
	if err == nil {
		s.tx = tx
		var n int
		err = tx.QueryRow(`SELECT count(*) FROM facts`).Scan(&n) //nolint:noctx // ends at once
	}
	if err != nil {
		return snapshot{}, errors.Join(fmt.Errorf("beginning a snapshot: %w", err), s.close())
	}
	return s, nil
}

func (s snapshot) close() error {
	if s.tx != nil {
		_ = s.tx.Rollback() // nothing was written
	}
	return s.db.Close()
}

// count counts everything. It sums what has the same slot, so that its result
// stays small however much waits.
func (s snapshot) count(ctx context.Context, pivot int64) ([]countChange, error) {
	found := []countChange{}
	rows, err := s.tx.QueryContext(ctx, countDead)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		change := countChange{class: dead}
		err := rows.Scan(&change.destination, &change.n)
		found = append(found, change)
		return err
	})
	if err != nil {
		return nil, err
	}
	for class, query := range map[class]string{firstTry: countFirsts, retry: countRetries} {
		last := &countChange{}
		rows, err := s.tx.QueryContext(ctx, query)
		err = eachRow(rows, err, func(rows *sql.Rows) error {
			var name sql.RawBytes
			var nextAt int64
			if err := rows.Scan(&name, &nextAt); err != nil {
				return err
			}
			slot := max(nextAt>>slotBits, pivot-1)
			if last.n == 0 || slot != last.nextAt>>slotBits || string(name) != last.destination {
				found = append(found, countChange{string(name), class, slot << slotBits, 0})
				last = &found[len(found)-1]
			}
			last.n++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// recount begins to count everything anew, in the background. Only the writer may
// call it, or Open before there is a writer.
func (s *Store) recount(pivot int64) error {
	snapshot, err := newSnapshot(s.path)
	if err != nil {
		return err
	}
	if !s.counts.begin(pivot) {
		return snapshot.close()
	}
	s.reads.gate.RLock() // the log cannot begin again under a snapshot
	s.owned.Go(func() {
		defer s.reads.gate.RUnlock()
		found, err := snapshot.count(s.counting, pivot)
		if err != nil {
			found = nil // the next step of pruning counts again
		}
		_ = snapshot.close()
		s.counts.end(found)
	})
	return nil
}

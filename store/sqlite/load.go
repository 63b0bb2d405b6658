package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"weir/webhook"
)

// loadQuery leaves a large body out.
var loadQuery = `SELECT CASE WHEN e.size < ` + strconv.Itoa(largeBody) + ` THEN p.body END, ` + eventColumns + `, ` + deliveryColumns + `
	FROM events e CROSS JOIN deliveries d ON d.seq = e.seq AND d.destination = +?2
	LEFT JOIN payloads p ON p.seq = e.seq WHERE e.id = +?1`

// load is one call of Load.
type load struct {
	id          webhook.ID
	destination string

	event    webhook.Event
	delivery webhook.Delivery
	err      error
	done     bool
}

// loads reads what several callers ask for at the same time in one read
// transaction. Each commit makes the readers forget the pages they know, so
// that the first query after it costs several times as much as the next.
type loads struct {
	readers *readers
	// mu guards waiting.
	mu      sync.Mutex
	waiting []*load
	// turn is held by the caller who reads for all that wait; it guards what
	// the loads of a turn hold.
	turn sync.Mutex
}

// read returns when the load is done, by this caller or by one before it.
func (l *loads) read(ctx context.Context, one *load) error {
	l.mu.Lock()
	l.waiting = append(l.waiting, one)
	l.mu.Unlock()
	l.turn.Lock()
	defer l.turn.Unlock()
	if one.done {
		return one.err
	}
	l.mu.Lock()
	batch := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	err := l.readers.readTx(context.WithoutCancel(ctx), func(tx readTx) error {
		for _, each := range batch {
			each.err = each.from(tx)
		}
		return nil
	})
	for _, each := range batch {
		each.done = true
		if err != nil {
			each.err = err
		}
	}
	return one.err
}

// from reads what is asked for.
func (l *load) from(tx readTx) error {
	var (
		body     bodyBytes
		event    eventRow
		delivery deliveryRow
		err      error
	)
	dest := append([]any{&body}, append(event.dest(), delivery.dest()...)...)
	if err = tx.row(loadQuery, []any{l.id[:], l.destination}, dest...); err != nil {
		return err
	}
	if l.event, err = event.read(); err != nil {
		return err
	}
	l.event.Body, l.delivery = body, delivery.read()
	return nil
}

// Load returns all that is needed to send one request: the event with headers
// and body, and the delivery. [webhook.ErrNotFound] when there is no such
// delivery; Event.BodyGone is set for a payload that retention has removed.
// [webhook.ErrDamaged], with the delivery, when the body is not the one that was
// received.
func (s *Store) Load(ctx context.Context, id webhook.ID, destination string) (webhook.Event, webhook.Delivery, error) {
	if ctx.Err() != nil {
		return webhook.Event{}, webhook.Delivery{}, context.Cause(ctx)
	}
	one := &load{id: id, destination: destination}
	if err := s.loads.read(ctx, one); err != nil {
		return webhook.Event{}, webhook.Delivery{}, fmt.Errorf("loading event %s for %s: %w", id, destination, err)
	}
	if err := s.addLarge(ctx, &one.event); err != nil {
		return webhook.Event{}, webhook.Delivery{}, fmt.Errorf("loading the body of event %s: %w", id, err)
	}
	if err := checkBody(&one.event); err != nil {
		return webhook.Event{}, one.delivery, fmt.Errorf("loading event %s for %s: %w", id, destination, err)
	}
	return one.event, one.delivery, nil
}

// checkBody compares a body with the digest of what was received. SQLite does not
// notice a byte of a body that has changed on the disk.
func checkBody(e *webhook.Event) error {
	if !e.BodyGone && sha256.Sum256(e.Body) != e.SHA256 {
		e.Body = nil
		return webhook.ErrDamaged
	}
	return nil
}

// addLarge reads a body that was left out. It may have been removed meanwhile.
func (s *Store) addLarge(ctx context.Context, e *webhook.Event) error {
	if e.Size < largeBody || e.BodyGone {
		return nil
	}
	body, err := s.body(ctx, e.ID, e.Size)
	if errors.Is(err, webhook.ErrNotFound) {
		e.BodyGone, e.Header = true, nil
		return nil
	}
	e.Body = body
	return err
}

// largeBody is the size from which a body passes through largeBodies.
const largeBody = 4 << 20

// largeBodies is a semaphore that lets one large body at a time into SQLite or out of it: on the way
// SQLite and its driver have up to three copies, and two bodies of 25 MiB at
// once would need more memory than a small machine has. Nobody who holds it
// keeps a reader or the writer waiting.
type largeBodies chan struct{}

func newLargeBodies() largeBodies { return make(largeBodies, 1) }

// one runs f when no other large body is on its way.
func (b largeBodies) one(ctx context.Context, size int64, f func() error) error {
	if size < largeBody {
		return f()
	}
	select {
	case b <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for another large body: %w", unavailable(context.Cause(ctx)))
	}
	defer func() { <-b }()
	return f()
}

package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"weir/webhook"
)

// Event returns an event with its deliveries and every attempt, without the
// body, all as of one moment.
func (s *Store) Event(ctx context.Context, id webhook.ID) (webhook.EventDetail, error) {
	var detail webhook.EventDetail
	err := s.reads.readTx(ctx, func(tx readTx) (err error) {
		detail, err = tx.detail(`e.id = +?1`, id[:])
		return err
	})
	if err != nil {
		return webhook.EventDetail{}, fmt.Errorf("reading event %s: %w", id, err)
	}
	return detail, nil
}

// EventByKey is Event by the sender's own id: the event that has the key now.
func (s *Store) EventByKey(ctx context.Context, source, key string) (webhook.EventDetail, error) {
	var detail webhook.EventDetail
	seq, err := s.keyOwner(ctx, source, key)
	if err == nil {
		err = s.reads.readTx(ctx, func(tx readTx) (err error) {
			detail, err = tx.detail(`e.seq = +?1`, seq)
			return err
		})
	}
	if err != nil {
		return webhook.EventDetail{}, fmt.Errorf("reading an event of source %s by its key: %w", source, err)
	}
	return detail, nil
}

// Body returns an event's raw bytes. [webhook.ErrNotFound] when there is no
// such event, or its payload's retention has passed.
func (s *Store) Body(ctx context.Context, id webhook.ID) ([]byte, error) {
	var size int64
	var body []byte
	err := s.reads.row(ctx, `SELECT size FROM events WHERE id = +?1`, []any{id[:]}, &size)
	if err == nil {
		body, err = s.body(ctx, id, size)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the body of event %s: %w", id, err)
	}
	return body, nil
}

// body reads a body of this size.
func (s *Store) body(ctx context.Context, id webhook.ID, size int64) (body bodyBytes, err error) {
	const query = `SELECT p.body FROM events e CROSS JOIN payloads p ON p.seq = e.seq WHERE e.id = +?1`
	err = s.largeBodies.one(ctx, size, func() error { return s.reads.row(ctx, query, []any{id[:]}, &body) })
	return body, err
}

// event reads one event, without its body, and its seq.
func (tx readTx) event(where string, arg any) (int64, webhook.Event, error) {
	var row eventRow
	text := `SELECT ` + eventColumns + ` FROM events e LEFT JOIN payloads p ON p.seq = e.seq WHERE ` + where
	if err := tx.row(text, []any{arg}, row.dest()...); err != nil {
		return 0, webhook.Event{}, err
	}
	event, err := row.read()
	return row.seq, event, err
}

// detail reads one event with its histories.
func (tx readTx) detail(where string, arg any) (webhook.EventDetail, error) {
	seq, event, err := tx.event(where, arg)
	if err != nil {
		return webhook.EventDetail{}, err
	}
	detail := webhook.EventDetail{Event: event}
	if detail.Deliveries, err = tx.histories(seq); err != nil {
		return webhook.EventDetail{}, err
	}
	for i := range detail.Deliveries {
		h := &detail.Deliveries[i]
		if h.Attempts, err = tx.attempts(seq, h.Delivery.Destination); err != nil {
			return webhook.EventDetail{}, err
		}
	}
	return detail, nil
}

// summary reads an event with its deliveries, for a list.
func (tx readTx) summary(seq int64) (webhook.EventDetail, error) {
	_, event, err := tx.event(`e.seq = +?1`, seq)
	if err != nil {
		return webhook.EventDetail{}, err
	}
	histories, err := tx.histories(seq)
	return webhook.EventDetail{Event: event, Deliveries: histories}, err
}

// histories reads the deliveries of an event, without attempts.
func (tx readTx) histories(seq int64) ([]webhook.History, error) {
	var list []webhook.Delivery
	const query = `SELECT ` + deliveryColumns + ` FROM deliveries d JOIN events e ON e.seq = d.seq
		WHERE d.seq = +?1 ORDER BY d.destination`
	if err := tx.each(query, []any{seq}, scanDeliveries(&list)); err != nil {
		return nil, err
	}
	return mapped(list, func(d webhook.Delivery) webhook.History { return webhook.History{Delivery: d} }), nil
}

func (tx readTx) attempts(seq int64, destination string) ([]webhook.Attempt, error) {
	var list []webhook.Attempt
	const query = `SELECT ` + attemptColumns + ` FROM attempts
		WHERE seq = +?1 AND destination = +?2 ORDER BY number`
	err := tx.each(query, []any{seq, destination}, func(rows *sql.Rows) error {
		a, err := scanAttempt(rows)
		list = append(list, a)
		return err
	})
	return list, err
}

package sqlite

import (
	"context"
	"fmt"
	"time"

	"weir/webhook"
)

// Redeliver makes a finished delivery pending again, with a fresh allowance and
// age and its history kept. A pending one is due from then on, and otherwise
// stays as it is.
//
// Errors: [webhook.ErrNotFound]; [webhook.ErrState] with the reason, for what
// was delivered or is too large without Force, and for a payload that retention
// has removed; [webhook.ErrUnavailable].
func (s *Store) Redeliver(ctx context.Context, request webhook.Redelivery) error {
	err := s.writer.do(ctx, 0, func(conn *writeConn) error { return conn.redeliver(request) })
	if err != nil {
		return fmt.Errorf("redelivering event %s to %s: %w", request.EventID, request.Destination, err)
	}
	return nil
}

func (c *writeConn) redeliver(request webhook.Redelivery) error {
	d, err := c.currentDelivery(request.EventID, request.Destination)
	if err != nil {
		return err
	}
	if at := millis(request.At); d.state == webhook.Pending {
		if d.nextAt <= at {
			return nil
		}
		return c.makeDue(d, request.Destination, at)
	}
	if !request.Force && d.state == webhook.Delivered {
		return fmt.Errorf("%w: it was delivered; force sends it again", webhook.ErrState)
	}
	if !request.Force && d.reason == webhook.DeadTooLarge {
		return fmt.Errorf("%w: it is too large; force tries it all the same", webhook.ErrState)
	}
	kept, err := c.number(`SELECT count(*) FROM payloads WHERE seq = +?1`, d.seq)
	if err != nil {
		return err
	}
	if kept == 0 {
		return fmt.Errorf("%w: its body's retention has passed", webhook.ErrState)
	}
	fresh := allowance{from: millis(request.At)}
	if request.Force {
		fresh.forced = 1
	}
	return c.reopen(d, request.Destination, fresh)
}

// Cancel ends a pending delivery: dead, cancelled. A cancelled one stays as it
// is.
//
// Errors: [webhook.ErrNotFound]; [webhook.ErrState] for what is final
// otherwise; [webhook.ErrUnavailable].
func (s *Store) Cancel(ctx context.Context, id webhook.ID, destination string, now time.Time) error {
	err := s.writer.do(ctx, 0, func(conn *writeConn) error {
		return conn.cancel(id, destination, millis(now))
	})
	if err != nil {
		return fmt.Errorf("cancelling delivery of event %s to %s: %w", id, destination, err)
	}
	return nil
}

func (c *writeConn) cancel(id webhook.ID, destination string, now int64) error {
	d, err := c.currentDelivery(id, destination)
	if err != nil || d.reason == webhook.DeadCancelled {
		return err
	}
	if d.state != webhook.Pending {
		return fmt.Errorf("%w: it is %s already", webhook.ErrState, d.state)
	}
	c.counts.move(destination, d.class(), d.nextAt, dead, d.nextAt)
	const end = `UPDATE deliveries SET state = 'dead', reason = 'cancelled', detail = '', finished_at = ?3
		WHERE seq = +?1 AND destination = +?2`
	_, err = c.exec(end, d.seq, destination, now)
	return err
}

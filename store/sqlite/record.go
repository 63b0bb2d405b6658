package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"weir/webhook"
)

// record is a webhook.Record made ready outside the writer.
type record struct {
	webhook.Record
	evidence string
}

// Record keeps one step of a delivery: the attempt, the delivery's new state, what
// it means for other deliveries, and the gates of the destination that was sent
// to, all or nothing. Asking
// again with the same attempt changes nothing more.
//
// A delivery that is final stays as it is, and one that has a newer allowance
// than the record knows (it was redelivered meanwhile) keeps that; a success
// counts in both cases, except that delivered and refused payloads stay what
// they are. The attempt is kept in every case, with the next free number if its
// own is taken.
//
// Errors: [webhook.ErrFenced] when Epoch, or Gates.Epoch, is not the current
// owner's; [webhook.ErrNotFound] when there is no such delivery;
// [webhook.ErrUnavailable].
func (s *Store) Record(ctx context.Context, in webhook.Record) error {
	r := &record{Record: in}
	if in.Attempt != nil {
		text, err := json.Marshal(in.Attempt.Evidence)
		if err != nil {
			return fmt.Errorf("encoding evidence: %w", err)
		}
		r.evidence = string(text)
	}
	err := s.writer.do(ctx, len(r.evidence), func(conn *writeConn) error {
		return conn.record(r)
	})
	if err != nil {
		return fmt.Errorf("recording delivery of %s to %s: %w", in.Delivery.EventID, in.Delivery.Destination, err)
	}
	return nil
}

func (c *writeConn) record(r *record) error {
	if err := c.fenceRecord(r); err != nil {
		return err
	}
	before, err := c.currentDelivery(r.Delivery.EventID, r.Delivery.Destination)
	if err != nil {
		return err
	}
	number, fresh, err := c.keepAttempt(before, r)
	if err != nil {
		return err
	}
	if fresh {
		if err := c.applyRecord(before, r, number); err != nil {
			return err
		}
		if err := c.revise(r); err != nil {
			return err
		}
	}
	if r.Gates.Name == "" {
		return nil
	}
	return c.keepGates(r.Gates)
}

// revise changes the other deliveries that a record says something about.
// One that is gone, or not as the record believes it to be, stays as it is.
func (c *writeConn) revise(r *record) error {
	const aside = `UPDATE deliveries SET refusals = 1, next_at = ?3, detail = ?4
		WHERE seq = (SELECT seq FROM events WHERE id = +?1) AND destination = +?2
		AND state = 'pending' AND refusals = 0`
	const reopen = `UPDATE deliveries SET state = 'pending', reason = NULL, finished_at = NULL,
		spent = max(spent - 1, 0), next_at = ?3, detail = ?4
		WHERE seq = (SELECT seq FROM events WHERE id = +?1) AND destination = +?2
		AND state = 'dead' AND reason = 'rejected'`
	for _, group := range []struct {
		update string
		list   []webhook.Revision
	}{{aside, r.Aside}, {reopen, r.Reopen}} {
		for _, other := range group.list {
			if err := c.reviseOne(group.update, other); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *writeConn) reviseOne(update string, to webhook.Revision) error {
	before, err := c.currentDelivery(to.EventID, to.Destination)
	if errors.Is(err, webhook.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	changed, err := c.exec(update, to.EventID[:], to.Destination, millis(to.NextAttemptAt), to.Detail)
	if changed > 0 {
		c.counts.move(to.Destination, before.class(), before.nextAt,
			classOf(webhook.Pending, before.attempts), millis(to.NextAttemptAt))
	}
	return err
}

// fenceRecord checks both owners: of the delivery, and of the destination that
// was sent to. With a fallback they differ.
func (c *writeConn) fenceRecord(r *record) error {
	if err := c.fence(r.Delivery.Destination, r.Epoch); err != nil || r.Gates.Name == "" {
		return err
	}
	return c.fence(r.Gates.Name, r.Gates.Epoch)
}

// currentDelivery is what is stored of a delivery before a change.
type currentDelivery struct {
	seq      int64
	state    webhook.State
	reason   webhook.DeadReason
	attempts int
	nextAt   int64
	ageFrom  int64
}

// class is what the delivery is counted as.
func (d currentDelivery) class() class { return classOf(d.state, d.attempts) }

const currentDeliveryQuery = `SELECT d.seq, d.state, coalesce(d.reason, ''), d.attempts, d.next_at, d.age_from
	FROM events e CROSS JOIN deliveries d ON d.seq = e.seq AND d.destination = +?2 WHERE e.id = +?1`

// currentDelivery reads a delivery; if there is none it returns
// webhook.ErrNotFound.
func (c *writeConn) currentDelivery(id webhook.ID, destination string) (currentDelivery, error) {
	var d currentDelivery
	found, err := c.row(currentDeliveryQuery, []any{id[:], destination},
		&d.seq, &d.state, &d.reason, &d.attempts, &d.nextAt, &d.ageFrom)
	if err == nil && !found {
		err = webhook.ErrNotFound
	}
	return d, err
}

const insertAttempt = `INSERT INTO attempts (seq, destination, number, at, duration_ns, sent_to,
		outcome, status, spent, probe, hint_ns, hint_from, rule, evidence, decision, next_at,
		presumed, renewed, witness_for)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
	ON CONFLICT DO NOTHING`

// keepAttempt stores the attempt of a record, if it has one, and returns the
// number that it got. It is not fresh when the very same was recorded before.
func (c *writeConn) keepAttempt(before currentDelivery, r *record) (number int, fresh bool, err error) {
	if r.Attempt == nil {
		return before.attempts, true, nil
	}
	number = r.Attempt.Number
	kept, err := c.insertAttempt(before.seq, number, r)
	if err != nil || kept {
		return number, kept, err
	}
	same, err := c.sameAttempt(before.seq, r)
	if err != nil || same {
		return number, false, err
	}
	number = before.attempts + 1
	kept, err = c.insertAttempt(before.seq, number, r)
	if err == nil && !kept {
		err = errors.New("no free attempt number")
	}
	return number, kept, err
}

func (c *writeConn) insertAttempt(seq int64, number int, r *record) (bool, error) {
	a := r.Attempt
	var witnessFor any
	if a.WitnessFor != (webhook.ID{}) {
		witnessFor = a.WitnessFor[:]
	}
	changed, err := c.exec(insertAttempt, seq, r.Delivery.Destination, number,
		millis(a.At), int64(a.Duration), a.SentTo, string(a.Outcome), a.Status, a.Spent, a.Probe,
		int64(a.Hint.Wait), a.Hint.From, a.Rule, r.evidence, string(a.Decision), optional(a.NextAttemptAt),
		a.Presumed, a.Renewed, witnessFor)
	return changed == 1, err
}

// sameAttempt reports whether the stored attempt with this number is the one
// in the record: its answer was lost, and the caller asks again.
func (c *writeConn) sameAttempt(seq int64, r *record) (bool, error) {
	const count = `SELECT count(*) FROM attempts WHERE seq = +?1 AND destination = +?2 AND number = +?3
		AND at = +?4 AND duration_ns = +?5 AND sent_to = +?6`
	a := r.Attempt
	n, err := c.number(count, seq, r.Delivery.Destination, a.Number, millis(a.At), int64(a.Duration), a.SentTo)
	return n == 1, err
}

// applyRecord writes the new state of the delivery, as far as the stored one
// allows.
func (c *writeConn) applyRecord(before currentDelivery, r *record, number int) error {
	attempts := max(before.attempts, number)
	if r.replaces(before) {
		c.counts.move(r.Delivery.Destination, before.class(), before.nextAt,
			classOf(r.Delivery.State, attempts), millis(r.Delivery.NextAttemptAt))
		return c.writeState(before.seq, r.Delivery, attempts)
	}
	c.counts.move(r.Delivery.Destination, before.class(), before.nextAt, classOf(before.state, attempts), before.nextAt)
	const count = `UPDATE deliveries SET attempts = ?3 WHERE seq = +?1 AND destination = +?2`
	_, err := c.exec(count, before.seq, r.Delivery.Destination, attempts)
	return err
}

// replaces reports whether the record's state replaces the stored one.
func (r *record) replaces(before currentDelivery) bool {
	success := r.Delivery.State == webhook.Delivered
	if before.state == webhook.Pending {
		return success || before.ageFrom == millis(r.Delivery.AgeFrom)
	}
	return success && (before.reason == webhook.DeadCancelled || before.reason == webhook.DeadExpired)
}

// writeState writes a delivery's state.
func (c *writeConn) writeState(seq int64, d webhook.Delivery, attempts int) error {
	const update = `UPDATE deliveries SET state = ?3, reason = ?4, detail = ?5, attempts = ?6,
		spent = ?7, misdirected = ?8, next_at = ?9, age_from = ?10, finished_at = ?11, forced = ?12,
		refusals = ?13
		WHERE seq = +?1 AND destination = +?2`
	var reason any
	if d.Reason != "" {
		reason = string(d.Reason)
	}
	_, err := c.exec(update, seq, d.Destination, string(d.State), reason, d.Detail, attempts,
		d.Spent, d.Misdirected, millis(d.NextAttemptAt), millis(d.AgeFrom), optional(d.FinishedAt), d.Forced, d.Refusals)
	return err
}

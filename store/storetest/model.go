package storetest

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"time"

	"weir/webhook"
)

// model is a store that is too simple to be wrong.
type model struct {
	events []*modelEvent // in the order of acceptance
	gates  map[string]webhook.Destination
}

// modelEvent is an event with all that happened to it.
type modelEvent struct {
	webhook.EventDetail
	// named is false once the key belongs to a later event.
	named bool
}

// delivery returns the history for a destination, nil without one.
func (e *modelEvent) delivery(destination string) *webhook.History {
	for i := range e.Deliveries {
		if e.Deliveries[i].Delivery.Destination == destination {
			return &e.Deliveries[i]
		}
	}
	return nil
}

// find returns the event that has a key now: the first copy, or with a body the
// one that was kept with these bytes.
func (m *model) find(a webhook.Arrival, kept bool) *modelEvent {
	for _, e := range m.events {
		same := e.Event.Source == a.Event.Source && e.Event.Key == a.Event.Key && e.named
		if same && e.Event.ConflictOf.IsZero() == !kept && (!kept || bytes.Equal(e.Event.Body, a.Event.Body)) {
			return e
		}
	}
	return nil
}

func (m *model) accept(a webhook.Arrival) webhook.Receipt {
	at := webhook.Ceil(a.Event.ReceivedAt)
	fresh := func(e *modelEvent) bool { return e != nil && !e.Event.ReceivedAt.Before(at.Add(-Window)) }
	first, kept := m.find(a, false), m.find(a, true)
	switch {
	case fresh(first) && bytes.Equal(first.Event.Body, a.Event.Body):
		return m.repeat(first, at)
	case fresh(kept):
		return m.repeat(kept, at)
	case !fresh(first):
		return m.add(a, first, webhook.ID{})
	case a.OnConflict == webhook.IgnoreConflict:
		return m.repeat(first, at)
	case a.OnConflict == webhook.KeepConflict:
		return m.add(a, kept, first.Event.ID)
	}
	return webhook.Receipt{ID: first.Event.ID, Result: webhook.ResultKeyConflict}
}

// add stores a new event, which takes the key of an older one, if any.
func (m *model) add(a webhook.Arrival, older *modelEvent, conflictOf webhook.ID) webhook.Receipt {
	if older != nil {
		older.named = false
	}
	e := &modelEvent{EventDetail: webhook.EventDetail{Event: a.Event}, named: true}
	e.Event.ReceivedAt = webhook.Ceil(a.Event.ReceivedAt)
	e.Event.Size, e.Event.SHA256 = int64(len(a.Event.Body)), sha256.Sum256(a.Event.Body)
	e.Event.ConflictOf = conflictOf
	for _, name := range slices.Sorted(slices.Values(a.To)) {
		e.Deliveries = append(e.Deliveries, webhook.History{Delivery: webhook.Delivery{
			EventID: a.Event.ID, Source: a.Event.Source, Destination: name, State: webhook.Pending,
			Size: e.Event.Size, NextAttemptAt: e.Event.ReceivedAt, AgeFrom: e.Event.ReceivedAt,
		}})
	}
	m.events = append(m.events, e)
	return webhook.Receipt{ID: a.Event.ID, Result: webhook.ResultAccepted}
}

func (m *model) repeat(e *modelEvent, at time.Time) webhook.Receipt {
	e.Event.Duplicates++
	e.Event.LastDuplicateAt = at
	receipt := webhook.Receipt{ID: e.Event.ID, Result: webhook.ResultDuplicate}
	for i := range e.Deliveries {
		d := &e.Deliveries[i].Delivery
		if d.State == webhook.Dead && d.Reason != webhook.DeadTooLarge {
			revive(d, at)
			receipt.Reopened = append(receipt.Reopened, d.Destination)
		}
	}
	return receipt
}

// revive resets the allowance of a delivery.
func revive(d *webhook.Delivery, at time.Time) {
	*d = webhook.Delivery{
		EventID: d.EventID, Source: d.Source, Destination: d.Destination, Size: d.Size,
		State: webhook.Pending, Attempts: d.Attempts, NextAttemptAt: at, AgeFrom: at,
	}
}

func (m *model) record(r webhook.Record) {
	for _, e := range m.events {
		if e.Event.ID != r.Delivery.EventID {
			continue
		}
		h := e.delivery(r.Delivery.Destination)
		h.Attempts = append(h.Attempts, *r.Attempt)
		d := &h.Delivery
		success := r.Delivery.State == webhook.Delivered
		if d.State == webhook.Pending && (success || d.AgeFrom.Equal(r.Delivery.AgeFrom)) ||
			success && (d.Reason == webhook.DeadCancelled || d.Reason == webhook.DeadExpired) {
			*d = r.Delivery
		}
		d.Attempts = r.Attempt.Number
	}
	if r.Gates.Rev > m.gates[r.Gates.Name].Rev {
		m.gates[r.Gates.Name] = r.Gates
	}
}

// expire ends at most limit deliveries, the oldest first.
func (m *model) expire(q webhook.ExpireQuery) webhook.Expired {
	var pending []*webhook.Delivery
	for _, e := range m.events {
		if h := e.delivery(q.Destination); h != nil && h.Delivery.State == webhook.Pending {
			pending = append(pending, &h.Delivery)
		}
	}
	slices.SortStableFunc(pending, func(a, b *webhook.Delivery) int { return a.AgeFrom.Compare(b.AgeFrom) })
	var done webhook.Expired
	for _, d := range pending {
		if done.Count < q.Limit && !d.AgeFrom.After(q.AgeBefore) {
			d.State, d.Reason, d.Detail, d.FinishedAt = webhook.Dead, webhook.DeadExpired, q.Detail, webhook.Ceil(q.Now)
			done.Count++
		} else if done.Oldest.IsZero() {
			done.Oldest = d.AgeFrom
		}
	}
	return done
}

// queue counts the deliveries to a destination.
func (m *model) queue(destination string, now time.Time) webhook.Queue {
	var q webhook.Queue
	for _, e := range m.events {
		h := e.delivery(destination)
		if h == nil {
			continue
		}
		switch h.Delivery.State {
		case webhook.Dead:
			q.Dead++
		case webhook.Pending:
			m.countPending(&q, h.Delivery, now)
		}
	}
	return q
}

func (m *model) countPending(q *webhook.Queue, d webhook.Delivery, now time.Time) {
	due := !d.NextAttemptAt.After(now)
	q.Pending++
	if due {
		q.Due++
		q.OldestDue = earliest(q.OldestDue, d.NextAttemptAt)
	}
	if d.Attempts > 0 {
		q.Retries++
		if due {
			q.DueRetries++
		}
	}
	q.Oldest = earliest(q.Oldest, d.AgeFrom)
}

// earliest returns the earlier of two times; a zero one is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/webhook"
)

// flight is one delivery on its way: claimed at its home destination, sent to
// the destination of the owner that flies it.
type flight struct {
	home     *owner
	delivery webhook.Delivery
	pass     pass
}

// launch claims a delivery, counts its request, and sends it in a goroutine of
// its own; it reports false when the gates no longer allow it. What can be
// decided without a request is decided here.
func (o *owner) launch(ctx, hard context.Context, f flight) (bool, error) {
	if o.tooLarge(f.delivery) {
		return true, o.refuse(ctx, f.delivery, webhook.DeadTooLarge,
			fmt.Sprintf("body of %d bytes is over MAX_BODY of %d: not sent", f.delivery.Size, o.policy.MaxBody))
	}
	if !f.home.claim(f.delivery.EventID) {
		return true, nil // its other reader has it
	}
	if !o.room.take(f.delivery.Size) {
		f.home.release(f.delivery.EventID)
		return false, nil
	}
	armed, ok := o.reserve(f)
	if !ok {
		o.room.give(f.delivery.Size)
		f.home.release(f.delivery.EventID)
		return false, nil
	}
	if f.pass == probe {
		// Before the probe leaves, the time of the next one is on disk.
		if err := o.ledger.Save(ctx, armed); err != nil {
			o.stay(f)
			return false, fmt.Errorf("save the probe of %s: %w", o.policy.Name, err)
		}
	}
	o.attempts.Go(func() { o.fly(hard, f) })
	return true, nil
}

// tooLarge reports whether a body may not be sent to this destination.
func (o *owner) tooLarge(d webhook.Delivery) bool {
	return o.policy.MaxBody > 0 && d.Size > o.policy.MaxBody && !d.Forced
}

// refuse ends a delivery whose body is over MAX_BODY, or has changed on the disk,
// before the network.
func (o *owner) refuse(ctx context.Context, d webhook.Delivery, reason webhook.DeadReason, detail string) error {
	d = finish(d, webhook.Dead, reason, webhook.Ceil(time.Now()))
	d.Detail = detail
	gates := o.gates()
	record := webhook.Record{Delivery: d, Gates: gates, Epoch: gates.Epoch}
	if err := o.ledger.Record(ctx, record); err != nil {
		return fmt.Errorf("record a body that is not sent: %w", err)
	}
	o.observe(Observation{Record: record, Before: gates})
	return nil
}

// claim marks a delivery as in flight, unless it is.
func (o *owner) claim(id webhook.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, out := o.claimed[id]; out {
		return false
	}
	o.claimed[id] = struct{}{}
	return true
}

// release undoes claim.
func (o *owner) release(id webhook.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.claimed, id)
}

// reserve counts the request, if the gates still allow it, and returns the
// state that a probe must save before it leaves.
func (o *owner) reserve(f flight) (webhook.Destination, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	allowed, _ := o.passLocked(webhook.Floor(time.Now()))
	if allowed == closed || (allowed == probe) != (f.pass == probe) {
		return o.dest, false
	}
	now := webhook.Ceil(time.Now())
	retry := !f.delivery.First()
	if !retry {
		retry = o.suspects.counts(now)
		o.suspects = o.suspects.next()
	}
	sent := make([]webhook.Window, len(o.dest.Sent))
	for i, window := range o.dest.Sent {
		sent[i] = window.Add(now, 1)
	}
	o.dest.Sent, o.dest.LastSentAt = sent, now
	if retry {
		o.dest.Retries = o.dest.Retries.Add(now, 1)
	}
	if f.pass == probe {
		o.dest = Arm(o.dest, now, f.delivery.EventID)
		o.probing = true
	}
	o.dest.Rev++
	o.out++
	o.unrecorded++
	o.movedBy(f, now)
	return o.dest, true
}

// freeSlot gives back the slot of a request that has been answered or was never
// sent. The caller holds mu.
func (o *owner) freeSlot(f flight) {
	o.out--
	o.movedBy(f, webhook.Ceil(time.Now()))
}

// land frees what a flight held beside its slot, after its record is committed.
func (o *owner) land(f flight) {
	o.room.give(f.delivery.Size)
	f.home.release(f.delivery.EventID)
	o.mu.Lock()
	o.unrecorded--
	if f.pass == probe {
		o.probing = false
	}
	o.mu.Unlock()
	o.nudge()
	if f.home != o {
		f.home.nudge()
	}
}

// fly sends one request, decides, and records.
func (o *owner) fly(hard context.Context, f flight) {
	event, delivery, err := o.queue.Load(hard, f.delivery.EventID, f.home.policy.Name)
	changed := delivery.State != webhook.Pending || delivery.NextAttemptAt.After(webhook.Floor(time.Now()))
	if errors.Is(err, webhook.ErrDamaged) && !changed {
		err, changed = f.home.refuse(hard, delivery, webhook.DeadRejected, "not sent: "+webhook.ErrDamaged.Error()), true
	}
	if err != nil || changed {
		o.stay(f)
		o.lost(f, err)
		return
	}
	job := webhook.Job{Event: event, Delivery: delivery, Number: o.number(delivery)}
	o.departures.Leave(job.Event.ID, delivery.Destination, job.Number)
	at := time.Now()
	answer := o.send(hard, job)
	o.tookTime(f, answer)
	after := o.settle(hard, f, Sent{
		Delivery: delivery, Policy: o.policy, Probe: f.pass == probe,
		Number: job.Number, At: at, Answer: answer,
	}, event.ReceivedAt)
	o.land(f)
	f.home.again(after)
}

// stay ends a flight that never left: its delivery has changed, or will be
// looked at again.
func (o *owner) stay(f flight) {
	o.mu.Lock()
	o.freeSlot(f)
	o.mu.Unlock()
	o.land(f)
	f.home.wakeUp()
}

// lost handles a delivery that could not be loaded: it stays due.
func (o *owner) lost(f flight, err error) {
	if err == nil || errors.Is(err, webhook.ErrNotFound) || errors.Is(err, context.Canceled) {
		return
	}
	o.log.Error("delivery cannot be loaded", webhook.LogDestination, f.home.policy.Name,
		webhook.LogEvent, f.delivery.EventID, webhook.LogError, err)
	f.home.dueAt(time.Now().Add(storeAgain))
}

// send calls the sender and turns a panic into an answer: one poisonous event
// must not end the process.
func (o *owner) send(ctx context.Context, job webhook.Job) (answer webhook.Answer) {
	begun := time.Now()
	defer func() {
		if fault := recover(); fault != nil {
			o.log.Error("delivery panicked", webhook.LogDestination, o.policy.Name,
				webhook.LogEvent, job.Event.ID, webhook.LogError, panicText(fault))
			now := time.Now()
			answer = webhook.Answer{
				Outcome: webhook.OutcomeTransient, At: now, Duration: now.Sub(begun),
				Rule: "internal.panic", Internal: true,
				Evidence: webhook.Evidence{Note: "a fault inside weir ended this attempt"},
			}
		}
	}()
	return o.sender.Send(ctx, job)
}

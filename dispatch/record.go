package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"weir/webhook"
)

// record decides, gives the slot back and commits. It returns the delivery's
// new state when that is on disk, or when the process is being ended and it
// cannot be.
func (o *owner) record(ctx context.Context, a attempt, sent Sent, receivedAt time.Time) webhook.Delivery {
	o.mu.Lock()
	o.express.answered(a.slot, sent.Answer)
	before := o.dest
	sent.To = before
	record := Decide(sent, o.chance)
	o.dest = record.Gates
	o.freeSlotLocked(a)
	earlier, committed := o.inOrderLocked(record)
	o.mu.Unlock()
	o.nudge()
	record.Epoch = a.source.gates().Epoch
	waitForAll(ctx, earlier)
	stored := o.commit(ctx, record)
	committed()
	if !stored {
		return record.Delivery
	}
	o.inFlightLog.End(record.Delivery.EventID, record.Delivery.Destination)
	if len(record.Gates.Holds) > len(before.Holds) || record.Gates.Breaker.Open() && !before.Breaker.Open() {
		o.wakeUp() // its fallback, too
	}
	if opens(before, record.Gates, record.Attempt.At.Add(record.Attempt.Duration)) {
		o.release(ask{backoffs: true})
	}
	if len(record.Aside)+len(record.Reopen) > 0 {
		for _, b := range o.backlogs { // other deliveries have new times
			b.source.wakeUp()
		}
	}
	o.observe(Observation{
		Record: record, Before: before, Cut: sent.Answer.Cut, ReceivedAt: receivedAt,
	})
	return record.Delivery
}

// deliveryKey names a delivery.
type deliveryKey struct {
	event       webhook.ID
	destination string
}

// inOrderLocked returns what a record has to wait for, and what to call when it
// is committed: a change to another delivery must follow that delivery's own
// record, which was decided before and would undo it, and be there before that
// delivery is sent again. What is waited for was decided earlier, so that no two
// records wait for each other. The caller holds mu.
func (o *owner) inOrderLocked(record webhook.Record) (earlier []<-chan struct{}, committed func()) {
	revisions := slices.Concat(record.Aside, record.Reopen)
	for _, revision := range revisions {
		if done, on := o.committing[deliveryKey{revision.EventID, revision.Destination}]; on {
			earlier = append(earlier, done)
		}
	}
	o.markChangingLocked(revisions, 1)
	key, done := deliveryKey{record.Delivery.EventID, record.Delivery.Destination}, make(chan struct{})
	o.committing[key] = done
	return earlier, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.markChangingLocked(revisions, -1)
		delete(o.committing, key)
		close(done)
	}
}

// markChangingLocked adds n to the count of changes to the deliveries of this
// destination among some. A borrowed one belongs to its own owner, which sends
// nothing while it is held. The caller holds mu.
func (o *owner) markChangingLocked(revisions []webhook.Revision, n int) {
	for _, revision := range revisions {
		if revision.Destination != o.policy.Name {
			continue
		}
		if o.changing[revision.EventID] += n; o.changing[revision.EventID] == 0 {
			delete(o.changing, revision.EventID)
		}
	}
}

// waitForAll waits until all channels are closed, or ctx ends.
func waitForAll(ctx context.Context, channels []<-chan struct{}) {
	for _, channel := range channels {
		select {
		case <-channel:
		case <-ctx.Done():
		}
	}
}

// reschedule makes sure that a delivery of this destination whose attempt is done
// is found when it falls due. It must not be called before: until then the loop
// passes over the delivery as one in flight. A dead one may have been redelivered
// meanwhile.
func (o *owner) reschedule(d webhook.Delivery) {
	switch d.State {
	case webhook.Pending:
		o.dueAt(d.NextAttemptAt)
	case webhook.Dead:
		o.wakeUp()
	}
}

// dueAt tells every owner that reads this destination's work when some of it
// falls due.
func (o *owner) dueAt(at time.Time) {
	for _, reader := range o.readers() {
		reader.mu.Lock()
		reader.dueAgain[o] = sooner(reader.dueAgain[o], at)
		reader.mu.Unlock()
		reader.nudge()
	}
}

// commit records until the store has it, and reports whether it does. An attempt
// that happened must not be forgotten: until it is on disk it counts as
// unrecorded, and only so many of those may be.
func (o *owner) commit(ctx context.Context, record webhook.Record) bool {
	for complained := false; ; complained = true {
		err := o.tryCommit(ctx, record)
		if err == nil {
			return true
		}
		if !complained {
			o.log.Error("attempt cannot be recorded yet", webhook.LogDestination, record.Delivery.Destination,
				webhook.LogEvent, record.Delivery.EventID, webhook.LogError, err)
		}
		if errors.Is(err, webhook.ErrFenced) {
			o.stop(err)
			return false
		}
		if errors.Is(err, webhook.ErrNotFound) || !sleep(ctx, storeAgain) {
			return false
		}
	}
}

// tryCommit records once. While stopping it gets a last short time.
func (o *owner) tryCommit(ctx context.Context, record webhook.Record) error {
	if ctx.Err() == nil {
		return o.ledger.Record(ctx, record)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCommit)
	defer cancel()
	return o.ledger.Record(last, record)
}

// stop ends this owner with an error.
func (o *owner) stop(err error) {
	o.mu.Lock()
	o.fatal = err
	o.mu.Unlock()
	o.nudge()
}

// sleep waits, and reports whether ctx is still active.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/webhook"
)

// pass is what the gates allow next.
type pass int

const (
	closed  pass = iota // nothing
	normal              // the longest due
	express             // the newest that was never attempted
	probe               // one request, to find out
)

// flight is one delivery on its way: claimed at its home destination, sent to
// the destination of the owner that flies it.
type flight struct {
	home     *owner
	delivery webhook.Delivery
	pass     pass
}

// pass asks the gates what may be sent now from a feed, and otherwise when to
// ask again; zero for when something changes.
func (o *owner) pass(f *feed, now time.Time) (pass, time.Time) {
	if f.home != o {
		if until, lent := f.home.lends(now); !lent {
			return closed, until
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.passLocked(now)
}

// passLocked is pass for this destination's own gates.
func (o *owner) passLocked(now time.Time) (pass, time.Time) {
	gate := Check(o.dest, o.policy, now)
	switch {
	case !open(gate):
		return closed, gate.Until
	case gate.Probe && o.probing:
		return closed, time.Time{}
	case gate.Probe:
		return probe, o.retriesOpen(now)
	}
	all := slots(o.dest, o.policy)
	switch free := min(all-o.out, mostUnrecorded(o.policy)-o.unrecorded); {
	case free <= 0:
		return closed, time.Time{}
	case free > expressSlots(all) || o.quick.Add(quickFor).After(now):
		return normal, o.retriesOpen(now)
	case all >= expressWaits && o.moved.Add(expressAfter).After(now):
		return closed, o.moved.Add(expressAfter)
	}
	return express, time.Time{}
}

// retriesOpen returns when the retry budget has room again; zero when it has.
func (o *owner) retriesOpen(now time.Time) time.Time {
	if at := o.dest.Retries.Next(now); at.After(now) {
		return at
	}
	return time.Time{}
}

// lends reports whether a held destination's due deliveries may go to its
// fallback, and otherwise when that may change by itself. A paused one keeps
// them, and one whose probe is due keeps one for itself.
func (o *owner) lends(now time.Time) (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, paused := o.dest.Hold(webhook.HoldPaused)
	held := len(o.dest.Holds) > 0 || o.dest.Breaker.Open()
	if paused || !held {
		return time.Time{}, false
	}
	probeDue := Check(o.dest, o.policy, now).Probe && !o.probing
	return time.Time{}, !probeDue
}

// pick chooses what to send.
func (o *owner) pick(ctx context.Context, f *feed, p pass) (webhook.Delivery, bool, error) {
	now := webhook.Floor(time.Now())
	retries, firsts := o.mayRetry(now), o.mayBegin(now)
	if p == express {
		if !firsts {
			return webhook.Delivery{}, false, nil
		}
		return f.express(ctx, o, now)
	}
	if p == probe {
		last := o.gates().LastProbed
		f.firsts.rotate(last)
		f.retries.rotate(last)
	}
	var best webhook.Delivery
	found := false
	for _, try := range []struct {
		lane    *lane
		allowed bool
	}{{&f.retries, retries}, {&f.firsts, firsts}} {
		if !try.allowed {
			continue
		}
		delivery, ok, err := f.head(ctx, try.lane, o)
		if err != nil {
			return best, false, err
		}
		if ok && (!found || delivery.NextAttemptAt.Before(best.NextAttemptAt)) {
			best, found = delivery, true
		}
	}
	return best, found, nil
}

// mayRetry reports whether the retry budget has room.
func (o *owner) mayRetry(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.retriesOpen(now).IsZero()
}

// mayBegin reports whether a first send may go: always, except that after a
// crash the first few may have to count as retries.
func (o *owner) mayBegin(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.suspects.counts(now) || o.retriesOpen(now).IsZero()
}

// launch claims a delivery, counts its request, and sends it in a goroutine of
// its own; it reports false when the gates no longer allow it. What can be
// decided without a request is decided here.
func (o *owner) launch(ctx, hard context.Context, f flight) (bool, error) {
	if o.tooLarge(f.delivery) {
		return true, o.refuse(ctx, f.delivery)
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

// refuse ends a delivery whose body is over MAX_BODY, before the network.
func (o *owner) refuse(ctx context.Context, d webhook.Delivery) error {
	d = finish(d, webhook.Dead, webhook.DeadTooLarge, webhook.Ceil(time.Now()))
	d.Detail = fmt.Sprintf("body of %d bytes is over MAX_BODY of %d: not sent", d.Size, o.policy.MaxBody)
	gates := o.gates()
	record := webhook.Record{Delivery: d, Gates: gates, Epoch: gates.Epoch}
	if err := o.ledger.Record(ctx, record); err != nil {
		return fmt.Errorf("record a body over MAX_BODY: %w", err)
	}
	o.observe(Observation{Source: d.Source, Record: record, Before: gates})
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

// guarded reports whether there are enough slots for the express ones to wait.
func (o *owner) guarded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slots(o.dest, o.policy) >= expressWaits
}

// movedBy notes that the slots which are not express ones move.
func (o *owner) movedBy(f flight, now time.Time) {
	if f.pass != express {
		o.moved = now
	}
}

// tookTime notes a quick answer to what was not sent express: as long as they
// come nothing hangs, and all slots serve the longest due.
func (o *owner) tookTime(f flight, answer webhook.Answer) {
	if f.pass == express || answer.Status == 0 || answer.Duration > quickAnswer {
		return
	}
	o.mu.Lock()
	o.quick = answer.At
	o.mu.Unlock()
}

// fly sends one request, decides, and records.
func (o *owner) fly(hard context.Context, f flight) {
	event, delivery, err := o.queue.Load(hard, f.delivery.EventID, f.home.policy.Name)
	changed := delivery.State != webhook.Pending || delivery.NextAttemptAt.After(webhook.Floor(time.Now()))
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

// settle decides, gives the slot back and commits. It returns the delivery's
// new state when that is on disk, or when the process is being ended and it
// cannot be.
func (o *owner) settle(ctx context.Context, f flight, sent Sent, receivedAt time.Time) webhook.Delivery {
	o.mu.Lock()
	before := o.dest
	sent.To = before
	record := Decide(sent, o.chance)
	o.dest = record.Gates
	o.freeSlot(f)
	o.mu.Unlock()
	o.nudge()
	record.Epoch = f.home.gates().Epoch
	if !o.commit(ctx, record) {
		return record.Delivery
	}
	o.departures.Land(record.Delivery.EventID, record.Delivery.Destination)
	if len(record.Gates.Holds) > len(before.Holds) || record.Gates.Breaker.Open() && !before.Breaker.Open() {
		o.wakeUp() // its fallback, too
	}
	o.observe(Observation{
		Source: record.Delivery.Source, Record: record, Before: before,
		First: sent.Delivery.First(), Cut: sent.Answer.Cut, ReceivedAt: receivedAt,
	})
	return record.Delivery
}

// again sees to it that a delivery of this destination which has landed is found
// when it falls due. It must not be called before: until then the loop passes
// over the delivery as one in flight. A dead one may have been redelivered
// meanwhile.
func (o *owner) again(d webhook.Delivery) {
	switch d.State {
	case webhook.Pending:
		o.dueAt(d.NextAttemptAt)
	case webhook.Dead:
		o.wakeUp()
	}
}

// dueAt tells everyone who reads this destination's work when some falls due.
func (o *owner) dueAt(at time.Time) {
	for _, reader := range o.readers() {
		reader.mu.Lock()
		reader.dueAgain[o] = sooner(reader.dueAgain[o], at)
		reader.mu.Unlock()
		reader.nudge()
	}
}

// commit records until the store has it. An attempt that happened must not be
// forgotten: until it is on disk its slot stays taken.
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
		if errors.Is(err, webhook.ErrNotFound) || !pause(ctx, storeAgain) {
			return false
		}
	}
}

// tryCommit records once. While stopping it gets a last short time.
func (o *owner) tryCommit(ctx context.Context, record webhook.Record) error {
	if ctx.Err() == nil {
		return o.ledger.Record(ctx, record)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
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

// pause waits, and reports whether ctx still stands.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

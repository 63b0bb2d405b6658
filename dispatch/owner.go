package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"weir/webhook"
)

const (
	// longestSleep bounds how long a loop waits without looking at the wall
	// clock: timers stand still while a machine is suspended.
	longestSleep = 15 * time.Second
	// shortestSleep is the grain of all times: sooner nothing can change by
	// itself.
	shortestSleep = time.Millisecond
	// storeAgain is the wait after the store could not be read or written.
	storeAgain = time.Second
	// lastCommit bounds the recording of what was cut while stopping.
	lastCommit = 5 * time.Second
	// startRamp is how far a ramp has come at a start: nobody has refused
	// anything, so it begins with four requests per second.
	startRamp = 2 * time.Second
	// expireStep bounds how many deliveries expire in one step.
	expireStep = 200
)

// owner serves one destination.
type owner struct {
	policy webhook.Policy
	sender Sender
	queue  Queue
	ledger Ledger
	// inFlightLog notes the attempts that are out.
	inFlightLog InFlightLog
	bytes       *byteBudget
	chance      Chance
	log         *slog.Logger
	observe     func(Observation)
	// fallback is the owner of the fallback, if there is one.
	fallback *owner

	// wake has room for one: a hint that something changed. Losing a second
	// one loses nothing.
	wake chan struct{}
	// turned is how long after created the loop last began a turn, in
	// nanoseconds: the wall clock may jump, and elapsed time must not. Zero
	// before the first turn.
	created time.Time
	turned  atomic.Int64

	// These belong to the loop.
	backlogs   []*backlog // its own first, then those that it may borrow from
	nextExpiry time.Time
	// clock is the time at the last turn; until graceUntil after created
	// nothing expires.
	clock      reading
	graceUntil time.Duration
	attempts   sync.WaitGroup

	// mu guards the rest; it is never held across a call into another package.
	mu   sync.Mutex
	dest webhook.Destination
	// claimed are this destination's deliveries whose requests are out,
	// wherever they go.
	claimed map[webhook.ID]struct{}
	// out counts the requests that are out to this destination, unrecorded
	// also the answered ones whose records are not on disk yet; probing says
	// that one of the latter is a probe.
	out        int
	unrecorded int
	probing    bool
	express    expressSlots
	// possiblySent counts the first sends after a crash that may be repeats,
	// where the in-flight log cannot tell which they are.
	possiblySent possiblySent
	// changing counts, for deliveries of this destination, the records on their
	// way to the store that change them beside their own delivery.
	changing map[webhook.ID]int
	// committing are the deliveries whose records are on their way to the
	// store, each with a channel that is closed when its record is there.
	committing map[deliveryKey]chan struct{}
	// asked is what of the waiting deliveries is to become due.
	asked ask
	// changed says that queues must be read again; dueAgain says for the
	// source of each backlog when a delivery that goes on falls due.
	changed  bool
	dueAgain map[*owner]time.Time
	fatal    error
}

// newOwner takes a destination over and commits the state it begins with.
func newOwner(ctx context.Context, c Config, route Route) (*owner, error) {
	stored, err := c.Ledger.Own(ctx, route.Policy.Name)
	if err != nil {
		return nil, err
	}
	o := &owner{
		policy: route.Policy, sender: route.Sender,
		queue: c.Queue, ledger: c.Ledger, inFlightLog: c.InFlightLog,
		chance: c.Chance, log: c.Log, observe: c.Observe,
		created: time.Now(),
		wake:    make(chan struct{}, 1),
		claimed: map[webhook.ID]struct{}{}, changing: map[webhook.ID]int{},
		committing: map[deliveryKey]chan struct{}{},
		dueAgain:   map[*owner]time.Time{},
	}
	o.backlogs = []*backlog{newBacklog(o)}
	now := webhook.Ceil(time.Now())
	lost, known := c.lostAttempts(route.Policy.Name)
	switch {
	case c.Start == AfterStop:
		o.dest = TakeOver(stored, route.Policy, now)
	case known:
		o.dest = Recover(stored, route.Policy, now, lost)
	default:
		o.dest = Recover(stored, route.Policy, now, mostUnrecorded(route.Policy))
		o.possiblySent = newPossiblySent(route.Policy, now)
	}
	if err := o.spreadBacklog(ctx, now); err != nil {
		return nil, err
	}
	return o, c.Ledger.Save(ctx, o.dest)
}

// spreadBacklog begins with a ramp when more is overdue than may be in flight:
// what waited for weir must not leave in one burst.
func (o *owner) spreadBacklog(ctx context.Context, now time.Time) error {
	for _, which := range []webhook.DueWhich{webhook.Firsts, webhook.Retries} {
		list, err := o.queue.Due(ctx, webhook.DueQuery{
			Destination: o.policy.Name, Now: now, Limit: o.policy.Concurrency + 1, Which: which,
		})
		if err != nil {
			return fmt.Errorf("look for overdue work: %w", err)
		}
		if len(list.Deliveries) > o.policy.Concurrency {
			o.dest.RampFrom = now.Add(-startRamp)
		}
	}
	return nil
}

// run is the loop: take what is due as far as the gates allow, then sleep
// until something changes or falls due.
func (o *owner) run(ctx, hard context.Context) (err error) {
	defer o.attempts.Wait()
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("dispatch loop of %s: panic: %s", o.policy.Name, panicText(fault))
		}
	}()
	for ctx.Err() == nil {
		next, err := o.turn(ctx, hard)
		if err != nil && ctx.Err() == nil {
			if errors.Is(err, webhook.ErrFenced) {
				return err
			}
			o.log.Error("dispatch waits for the store", webhook.LogDestination, o.policy.Name, webhook.LogError, err)
			next = time.Now().Add(storeAgain)
		}
		o.sleep(ctx, next)
	}
	return o.failure()
}

// sleep waits for a hint, for the given time, or for the end.
func (o *owner) sleep(ctx context.Context, until time.Time) {
	wait := longestSleep
	if !until.IsZero() {
		wait = max(min(wait, time.Until(until)), shortestSleep)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-o.wake:
	case <-timer.C:
	}
}

// turn sends what may be sent now and returns when to look again; zero when
// only a hint can bring more work.
func (o *owner) turn(ctx, hard context.Context) (time.Time, error) {
	o.noteTurn()
	o.readClock()
	if err := o.failure(); err != nil {
		return time.Time{}, err
	}
	more, err := o.advance(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if o.takeHints() {
		for _, b := range o.backlogs {
			b.refresh()
		}
	}
	next, err := o.expire(ctx)
	if err != nil {
		return time.Time{}, err
	}
	for _, b := range o.backlogs {
		until, err := o.serve(ctx, hard, b)
		if err != nil {
			return time.Time{}, err
		}
		next = sooner(next, until)
	}
	if more {
		next = time.Now()
	}
	return next, nil
}

// noteTurn notes that the loop is alive.
func (o *owner) noteTurn() { o.turned.Store(max(int64(time.Since(o.created)), 1)) }

// stuck reports whether the loop has begun and not turned for too long.
func (o *owner) stuck() bool {
	turned := time.Duration(o.turned.Load())
	return turned != 0 && time.Since(o.created)-turned > stuckAfter
}

// takeHints reports whether queues must be read again.
func (o *owner) takeHints() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.backlogs {
		b.retries.next = sooner(b.retries.next, o.dueAgain[b.source])
	}
	clear(o.dueAgain)
	changed := o.changed
	o.changed = false
	return changed
}

// serve sends from one backlog until a gate closes or nothing is due, and returns
// when to look again.
func (o *owner) serve(ctx, hard context.Context, b *backlog) (time.Time, error) {
	for ctx.Err() == nil {
		now := webhook.Floor(time.Now())
		o.noteTurn() // a turn goes on for as long as there is work
		slot, until := o.nextSlot(b, now)
		if slot == noSlot {
			return until, nil
		}
		delivery, found, err := o.pick(ctx, b, slot)
		if err != nil {
			return time.Time{}, err
		}
		if !found {
			return sooner(until, b.nextDue(now)), nil
		}
		b.remove(delivery.EventID)
		begun, err := o.begin(ctx, hard, attempt{source: b.source, delivery: delivery, slot: slot})
		if err != nil {
			return time.Time{}, err
		}
		if !begun {
			b.refresh() // the gates have changed since they were asked
		}
	}
	return time.Time{}, nil
}

// expire ends what has waited longer than MAX_AGE and returns when the next
// delivery may have.
func (o *owner) expire(ctx context.Context) (time.Time, error) {
	now := webhook.Ceil(time.Now())
	if grace := o.graceUntil - time.Since(o.created); grace > 0 {
		return now.Add(grace), nil
	}
	if !o.nextExpiry.IsZero() && now.Before(o.nextExpiry) {
		return o.nextExpiry, nil
	}
	expired, err := o.queue.Expire(ctx, webhook.ExpireQuery{
		Destination: o.policy.Name, AgeBefore: now.Add(-o.policy.MaxAge), Now: now,
		Except: o.inFlight(), Detail: o.whyExpired(now), Limit: expireStep,
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("expire deliveries of %s: %w", o.policy.Name, err)
	}
	if expired.Count > 0 {
		o.log.Warn("deliveries expired", webhook.LogDestination, o.policy.Name, webhook.LogCount, expired.Count)
	}
	// What comes in later cannot be older than what is there now.
	o.nextExpiry = now.Add(o.policy.MaxAge)
	if !expired.Oldest.IsZero() {
		o.nextExpiry = webhook.Later(expired.Oldest.Add(o.policy.MaxAge), now.Add(storeAgain))
	}
	return o.nextExpiry, nil
}

// whyExpired is the sentence that is kept with what expires.
func (o *owner) whyExpired(now time.Time) string {
	gate := Check(o.gates(), o.policy, now)
	sentence := fmt.Sprintf("older than MAX_AGE of %s", o.policy.MaxAge)
	if gate.WaitingFor == webhook.WaitDue {
		return sentence
	}
	if h, held := o.gates().Hold(webhook.HoldReason(gate.WaitingFor)); held {
		return fmt.Sprintf("%s; the destination has been held for %s since %s (%s)", sentence,
			gate.WaitingFor, h.Since.Format(time.RFC3339), now.Sub(h.Since).Truncate(time.Second))
	}
	return fmt.Sprintf("%s; the destination waits for %s", sentence, gate.WaitingFor)
}

// wakeUp hints that something may be due for this destination, or that its
// gates have changed.
func (o *owner) wakeUp() {
	for _, reader := range o.readers() {
		reader.mu.Lock()
		reader.changed = true
		reader.mu.Unlock()
		reader.nudge()
	}
}

// readers are the owners that read this destination's due work.
func (o *owner) readers() []*owner {
	if o.fallback == nil {
		return []*owner{o}
	}
	return []*owner{o, o.fallback}
}

// nudge ends the loop's sleep.
func (o *owner) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// gates returns the state of the destination.
func (o *owner) gates() webhook.Destination {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dest
}

// update changes the state of the destination and returns the new one.
func (o *owner) update(to func(webhook.Destination) webhook.Destination) webhook.Destination {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dest = to(o.dest)
	o.dest.Rev++
	return o.dest
}

// failure returns the error that ends this owner, if there is one.
func (o *owner) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fatal
}

// inFlight lists the deliveries whose requests are out.
func (o *owner) inFlight() []webhook.ID {
	o.mu.Lock()
	defer o.mu.Unlock()
	ids := make([]webhook.ID, 0, len(o.claimed))
	for id := range o.claimed {
		ids = append(ids, id)
	}
	return ids
}

// isClaimed reports whether a delivery must not be sent now: it is in flight, or
// is being changed.
func (o *owner) isClaimed(id webhook.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isClaimedLocked(id)
}

// isClaimedLocked is isClaimed for whoever holds mu. A delivery that another
// answer changes is not sent before the change is in the store.
func (o *owner) isClaimedLocked(id webhook.ID) bool {
	_, out := o.claimed[id]
	return out || o.changing[id] > 0
}

// notClaimed drops the deliveries whose requests are out.
func (o *owner) notClaimed(list []webhook.Delivery) []webhook.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := list[:0]
	for _, delivery := range list {
		if !o.isClaimedLocked(delivery.EventID) {
			kept = append(kept, delivery)
		}
	}
	return kept
}

// status is the destination as an operator sees it.
func (o *owner) status(now time.Time) webhook.Status {
	ids := o.inFlight()
	o.mu.Lock()
	d, out := o.dest, o.out
	o.mu.Unlock()
	s := webhook.Status{
		Destination: d, Policy: o.policy, Gate: Check(d, o.policy, now),
		InFlight: ids, Full: out >= o.policy.Slots(d), RetriesLeft: d.Retries.Left(now),
	}
	for _, window := range d.Sent {
		s.RateLeft = append(s.RateLeft, window.Left(now))
	}
	return s
}

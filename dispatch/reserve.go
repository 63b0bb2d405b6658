package dispatch

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"weir/webhook"
)

// attempt is one request: a delivery that is claimed at its source, on its way
// to the destination of the owner that sends it.
type attempt struct {
	// source is the owner of the delivery's own destination.
	source   *owner
	delivery webhook.Delivery
	slot     slot
	// witnessFor is the event whose refusal it is to confirm or to refute.
	witnessFor webhook.ID
	// reserved is when its request was counted, retry whether in the retry
	// budget too.
	reserved time.Time
	retry    bool
}

// begin claims a delivery, counts its request, and sends it in a goroutine of
// its own. It reports false when the gates no longer allow it. What can be
// decided without a request is decided here.
func (o *owner) begin(ctx, hard context.Context, a attempt) (bool, error) {
	if o.tooLarge(a.delivery) {
		return true, o.refuse(ctx, a.delivery, webhook.DeadTooLarge,
			fmt.Sprintf("body of %d bytes is over MAX_BODY of %d: not sent", a.delivery.Size, o.policy.MaxBody))
	}
	if !a.source.claim(a.delivery.EventID) {
		return true, nil // its other reader has it
	}
	if !o.bytes.take(a.delivery.Size) {
		a.source.unclaim(a.delivery.EventID)
		return false, nil
	}
	reserved, ok := o.reserve(&a)
	if !ok {
		o.bytes.give(a.delivery.Size)
		a.source.unclaim(a.delivery.EventID)
		return false, nil
	}
	if a.slot == probeSlot {
		// Before the probe leaves, the time of the next one is on disk.
		if err := o.ledger.Save(ctx, reserved); err != nil {
			o.abandon(a)
			return false, fmt.Errorf("save the probe of %s: %w", o.policy.Name, err)
		}
		if suspects(reserved) && isWitness(reserved, a.delivery) {
			a.witnessFor = reserved.Suspicion.Event
		}
	}
	o.attempts.Go(func() { o.send(hard, a) })
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
	if o.isClaimedLocked(id) {
		return false
	}
	o.claimed[id] = struct{}{}
	return true
}

// unclaim undoes claim.
func (o *owner) unclaim(id webhook.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.claimed, id)
}

// reserve counts the request, if the gates still allow it, and returns the
// state that a probe must save before it leaves.
func (o *owner) reserve(a *attempt) (webhook.Destination, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	allowed, _ := o.nextSlotLocked(webhook.Floor(time.Now()))
	if allowed == noSlot || (allowed == probeSlot) != (a.slot == probeSlot) {
		return o.dest, false
	}
	if gate := Check(o.dest, o.policy, webhook.Floor(time.Now())); gate.Witness && !isWitness(o.dest, a.delivery) {
		return o.dest, false
	}
	a.reserved = time.Now()
	now := webhook.Ceil(a.reserved)
	a.retry = !o.isFirst(a.delivery)
	if !a.retry {
		a.retry = o.possiblySent.counts(now)
		o.possiblySent = o.possiblySent.next()
	}
	o.dest = count(o.dest, now, a.retry)
	if a.slot == probeSlot {
		o.dest = ReserveProbe(o.dest, now, a.delivery.EventID)
		o.probing = true
	}
	o.dest.Rev++
	o.out++
	o.unrecorded++
	o.express.take(a.slot, now)
	return o.dest, true
}

// count counts a request in the windows of a destination.
func count(d webhook.Destination, now time.Time, retry bool) webhook.Destination {
	sent := make([]webhook.Window, len(d.Sent))
	for i, window := range d.Sent {
		sent[i] = window.Add(now, 1)
	}
	d.Sent, d.LastSentAt = sent, now
	if retry {
		d.Retries = d.Retries.Add(now, 1)
	}
	return d
}

// uncount undoes count.
func uncount(d webhook.Destination, at time.Time, retry bool) webhook.Destination {
	sent := make([]webhook.Window, len(d.Sent))
	for i, window := range d.Sent {
		sent[i] = window.Remove(at)
	}
	d.Sent = sent
	if retry {
		d.Retries = d.Retries.Remove(at)
	}
	return d
}

// staleAfter is how long after it was counted a request counts as leaving at that
// time: the grain of the windows is coarser.
const staleAfter = 10 * time.Millisecond

// mayLeave is asked as a request is about to leave. One that was counted longer
// ago, because its connection took long or the process was frozen, is counted
// anew, or goes back to the gates if they would not let it through any more.
func (o *owner) mayLeave(a *attempt) bool {
	now := time.Now()
	if now.Sub(a.reserved) <= staleAfter && now.Round(0).Sub(a.reserved.Round(0)) <= staleAfter {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	given := uncount(o.dest, webhook.Ceil(a.reserved), a.retry)
	given.Rev++
	o.dest = given
	if !admits(given, a, webhook.Floor(now)) {
		return false
	}
	a.reserved = now
	o.dest = count(given, webhook.Ceil(now), a.retry)
	return true
}

// admits reports whether the gates still let a request leave. The pace was kept
// when it was counted; a probe has its hold behind it, whose next time has moved.
func admits(d webhook.Destination, a *attempt, now time.Time) bool {
	if a.slot != probeSlot && (len(d.Holds) > 0 || d.Breaker.Open()) {
		return false
	}
	windows := d.Sent
	if a.retry {
		windows = append(slices.Clone(windows), d.Retries)
	}
	for _, window := range windows {
		if window.Next(now).After(now) {
			return false
		}
	}
	return true
}

// isFirst reports whether the next request for a delivery is its first ever: it
// has no attempt in the store, and none was out at a crash.
func (o *owner) isFirst(d webhook.Delivery) bool {
	return d.First() && o.inFlightLog.Unfinished(d.EventID, d.Destination) == 0
}

// ReserveProbe returns the destination as it must be saved before a probe
// leaves: the next one may go only an interval later. A probe that is lost in a
// crash has then used its interval, and another can follow.
func ReserveProbe(d webhook.Destination, now time.Time, delivery webhook.ID) webhook.Destination {
	holds := make([]webhook.Hold, 0, len(d.Holds))
	for _, h := range d.Holds {
		if probed(h) {
			h.Probes++
			h.Until = webhook.Later(h.Until, webhook.Ceil(now.Add(interval(h))))
		}
		holds = append(holds, h)
	}
	d.Holds = holds
	if d.Breaker.Open() {
		d.Breaker.Trials++
		d.Breaker.Until = webhook.Later(d.Breaker.Until, webhook.Ceil(now.Add(openFor(d.Breaker))))
	}
	if d.Suspicion.Reason != "" {
		d.Suspicion.WitnessFrom = webhook.Ceil(now.Add(witnessEvery))
	}
	d.LastProbed = delivery
	d.Rev++
	return d
}

// freeSlotLocked gives back the slot of a request that has been answered or was
// never sent. The caller holds mu.
func (o *owner) freeSlotLocked(a attempt) {
	o.out--
	o.express.take(a.slot, webhook.Ceil(time.Now()))
}

// abandon ends an attempt that was never sent: its delivery has changed, or will
// be looked at again.
func (o *owner) abandon(a attempt) {
	o.mu.Lock()
	o.freeSlotLocked(a)
	o.mu.Unlock()
	o.done(a)
	a.source.wakeUp()
}

// done frees what an attempt held beside its slot, after its record is
// committed.
func (o *owner) done(a attempt) {
	o.bytes.give(a.delivery.Size)
	a.source.unclaim(a.delivery.EventID)
	o.mu.Lock()
	o.unrecorded--
	if a.slot == probeSlot {
		o.probing = false
	}
	o.mu.Unlock()
	o.nudge()
	if a.source != o {
		a.source.nudge()
	}
}

// byteBudget bounds the bodies of all requests that are out.
type byteBudget struct {
	limit int64
	used  atomic.Int64
}

// take reserves n bytes if they fit, or if nothing else is reserved.
func (b *byteBudget) take(n int64) bool {
	for {
		used := b.used.Load()
		if used > 0 && used+n > b.limit {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// fits reports whether take would succeed.
func (b *byteBudget) fits(n int64) bool {
	used := b.used.Load()
	return used == 0 || used+n <= b.limit
}

// give returns n bytes.
func (b *byteBudget) give(n int64) { b.used.Add(-n) }

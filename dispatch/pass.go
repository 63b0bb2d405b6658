package dispatch

import (
	"context"
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
	all := o.policy.Slots(o.dest)
	switch free := all - o.out; {
	case free <= 0 || o.unrecorded >= mostUnrecorded(o.policy):
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

// guarded reports whether there are enough slots for the express ones to wait.
func (o *owner) guarded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.policy.Slots(o.dest) >= expressWaits
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

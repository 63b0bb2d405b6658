package dispatch

import (
	"time"

	"weir/webhook"
)

const (
	// setForward is by how much the wall clock must run ahead of the time that
	// has passed to have been set, or to have gone on while the machine slept.
	setForward = time.Minute
	// setBack is the same for a clock that was set back.
	setBack = time.Second
	// longestGrace bounds how long nothing expires after a start or after the
	// clock was set: everything that is due gets its turn first.
	longestGrace = time.Hour
)

// reading is the wall clock, and the time that has really passed since the owner
// was made.
type reading struct {
	wall    time.Time
	elapsed time.Duration
}

// step returns by how much the wall clock was set between two readings.
func (r reading) step(next reading) time.Duration {
	return next.wall.Sub(r.wall) - (next.elapsed - r.elapsed)
}

// readClock notes the time, and acts where the wall clock was set since the last
// turn. At the start it may have been.
func (o *owner) readClock() {
	now := reading{time.Now().Round(0), time.Since(o.created)}
	last := o.clock
	o.clock = now
	step := last.step(now)
	switch {
	case last.wall.IsZero():
	case step > setForward, step < -setBack:
		o.log.Warn("the clock was set", webhook.LogDestination, o.policy.Name, webhook.LogDuration, step.Milliseconds())
		o.update(func(d webhook.Destination) webhook.Destination { return fitToClock(d, webhook.Ceil(now.wall)) })
	default:
		return
	}
	o.nextExpiry, o.graceUntil = time.Time{}, now.elapsed+min(o.policy.MaxAge/10, longestGrace)
	o.release(ask{far: true})
	o.wakeUp()
}

// fitToClock fits the stored state to the clock as it is now. Where requests were
// sent in what is the future now, the clock was ahead by at least that: what was
// set by it goes back with it, and what it has seen pass is over. What the right
// clock may have set is kept: no wait becomes shorter than was asked for.
func fitToClock(d webhook.Destination, now time.Time) webhook.Destination {
	last := d.LastSentAt
	ahead := last.Sub(now)
	if ahead <= 0 {
		return clampFuture(d, now)
	}
	back := func(t time.Time) time.Time {
		switch {
		case !t.After(now):
			return t
		case t.After(last):
			return t.Add(-ahead)
		}
		return now
	}
	for _, h := range d.Holds {
		if h.Since.After(now) {
			h.Since, h.Until = now, back(h.Until)
			d = d.WithHold(h)
		}
	}
	if d.Breaker.OpenSince.After(now) {
		d.Breaker.OpenSince, d.Breaker.Until = now, back(d.Breaker.Until)
	}
	if ahead > setForward {
		d.Pace.NotBefore, d.Pace.SpacingUntil = back(d.Pace.NotBefore), back(d.Pace.SpacingUntil)
	}
	if d.LastSuccess.After(now) {
		d.LastSuccess = now
	}
	return clampFuture(d, now)
}

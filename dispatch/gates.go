package dispatch

import (
	"slices"
	"time"

	"weir/webhook"
)

// rampDoublings is how often the rate of a ramp doubles before it no longer
// matters: at 256 requests per second.
const rampDoublings = 8

// barrier is one reason why a request may have to wait.
type barrier struct {
	word  webhook.WaitingFor
	until time.Time
	// held marks holds and the breaker: even when its time has come, only a
	// probe may pass.
	held bool
	// person marks a hold without a time: only a person ends it.
	person bool
	// witness marks a hold whose time has not come, though another payload
	// than the refused ones may test it already.
	witness bool
}

// Check asks the gates of a destination whether a request may leave now. Of
// several reasons not to, the most important is named, and Until is the time
// when the last of them has passed.
func Check(d webhook.Destination, p webhook.Policy, now time.Time) webhook.Gate {
	gate := webhook.Gate{WaitingFor: webhook.WaitDue, Until: now}
	held := false
	for _, b := range barriers(d, p, now) {
		if !b.held && !b.until.After(now) {
			continue
		}
		if gate.WaitingFor == webhook.WaitDue {
			gate.WaitingFor = b.word
		}
		if b.person {
			gate.Until = time.Time{}
			return gate
		}
		held = held || b.held
		gate.Witness = gate.Witness || b.witness
		gate.Until = webhook.Later(gate.Until, webhook.Ceil(b.until))
	}
	gate.Probe = held && !gate.Until.After(now)
	gate.Witness = gate.Witness && gate.Probe
	return gate
}

// open reports whether a gate lets a request through.
func open(gate webhook.Gate) bool {
	return gate.Probe || gate.WaitingFor == webhook.WaitDue
}

// barriers lists what applies in the way, most important first. Barriers that
// only a person ends come before all others.
func barriers(d webhook.Destination, p webhook.Policy, now time.Time) []barrier {
	list := make([]barrier, 0, 8)
	for _, h := range d.Holds {
		word := webhook.WaitingFor(h.Reason)
		b := barrier{word: word, until: h.Until, held: true, person: h.Until.IsZero()}
		if s := d.Suspicion; s.Reason == h.Reason && h.Until.After(now) && h.Until.After(s.WitnessFrom) {
			b.until, b.witness = s.WitnessFrom, true
		}
		list = append(list, b)
	}
	if d.Breaker.Open() {
		list = append(list, barrier{word: webhook.WaitBreaker, until: d.Breaker.Until, held: true})
	}
	for _, window := range d.Sent {
		list = append(list, barrier{word: webhook.WaitBudget, until: window.Next(now)})
	}
	return append(list, barrier{word: webhook.WaitPace, until: paced(d, now)})
}

// paced returns the earliest time that the headers' pace and the ramp allow.
func paced(d webhook.Destination, now time.Time) time.Time {
	at := d.Pace.NotBefore
	if now.Before(d.Pace.SpacingUntil) {
		at = webhook.Later(at, d.LastSentAt.Add(d.Pace.Spacing))
	}
	if gap := rampGap(d, now); gap > 0 {
		at = webhook.Later(at, d.LastSentAt.Add(gap))
	}
	return at
}

// rampGap returns the least gap between requests while a ramp lasts: the rate
// starts at one per second and doubles each second.
func rampGap(d webhook.Destination, now time.Time) time.Duration {
	if d.RampFrom.IsZero() {
		return 0
	}
	doublings := max(now.Sub(d.RampFrom)/time.Second, 0)
	if doublings >= rampDoublings {
		return 0
	}
	return time.Second >> doublings
}

// Waiting says what a pending delivery waits for, and the earliest time of its
// next attempt: zero when only a person can release it. It is the answer that
// operators see; the owner acts on the same gates.
func Waiting(s webhook.Status, delivery webhook.Delivery, now time.Time) (webhook.WaitingFor, time.Time) {
	if slices.Contains(s.InFlight, delivery.EventID) {
		return webhook.WaitInFlight, now
	}
	gate := Check(s.Destination, s.Policy, now)
	word, until := gate.WaitingFor, gate.Until
	if until.IsZero() {
		return word, until
	}
	if suspicion := s.Destination.Suspicion; suspicion.Reason != "" && !isWitness(s.Destination, delivery) {
		if h, held := s.Destination.Hold(suspicion.Reason); held {
			until = webhook.Later(until, h.Until)
		}
	}
	if retryAt := s.Destination.Retries.Next(now); !delivery.First() && retryAt.After(now) {
		word, until = prefer(word, webhook.WaitBudget), webhook.Later(until, retryAt)
	}
	if delivery.NextAttemptAt.After(now) {
		own := webhook.WaitBackoff
		if delivery.Refusals > 0 {
			own = webhook.WaitRefused
		}
		return prefer(word, own), webhook.Later(until, delivery.NextAttemptAt)
	}
	if s.Full {
		word = prefer(word, webhook.WaitPace)
	}
	return word, until
}

// prefer returns the word that is shown where both hold.
func prefer(a, b webhook.WaitingFor) webhook.WaitingFor {
	for _, word := range webhook.WaitingFors() {
		if word == a || word == b {
			return word
		}
	}
	return a
}

// slot is the kind of request that the gates allow next.
type slot int

const (
	noSlot      slot = iota // none
	anySlot                 // the longest due
	expressSlot             // the newest that was never attempted
	probeSlot               // one request that finds out whether a hold still applies
)

// nextSlot asks the gates what may be sent now from a backlog, and otherwise
// when to ask again; zero for when something changes.
func (o *owner) nextSlot(b *backlog, now time.Time) (slot, time.Time) {
	if b.source != o && !o.acceptsBorrowed(b.source, now) {
		return noSlot, time.Time{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.nextSlotLocked(now)
}

// nextSlotLocked asks this destination's own gates. The caller holds mu.
func (o *owner) nextSlotLocked(now time.Time) (slot, time.Time) {
	gate := Check(o.dest, o.policy, now)
	switch {
	case !open(gate):
		return noSlot, gate.Until
	case gate.Probe && o.probing:
		return noSlot, time.Time{}
	case gate.Probe:
		again := o.retriesOpen(now)
		if h, held := o.dest.Hold(o.dest.Suspicion.Reason); held && gate.Witness {
			again = sooner(again, h.Until)
		}
		return probeSlot, again
	case o.unrecorded >= mostUnrecorded(o.policy):
		return noSlot, time.Time{}
	}
	s, until := o.express.next(o.out, o.policy.Slots(o.dest), now)
	if s == anySlot {
		return s, o.retriesOpen(now)
	}
	return s, until
}

// retriesOpen returns when the retry budget has room again; zero when it has.
func (o *owner) retriesOpen(now time.Time) time.Time {
	if at := o.dest.Retries.Next(now); at.After(now) {
		return at
	}
	return time.Time{}
}

// acceptsBorrowed reports whether this fallback may send the due deliveries of
// another destination: while that one is held, but not while it is paused, and
// not while its probe is due, for which it needs one itself.
func (o *owner) acceptsBorrowed(from *owner, now time.Time) bool {
	from.mu.Lock()
	defer from.mu.Unlock()
	_, paused := from.dest.Hold(webhook.HoldPaused)
	held := len(from.dest.Holds) > 0 || from.dest.Breaker.Open()
	probeDue := Check(from.dest, from.policy, now).Probe && !from.probing
	return held && !paused && !probeDue && !onlyPresumed(from.dest)
}

// onlyPresumed reports whether a destination is held for one payload alone: that
// may be the payload's own refusal, which never moves it on.
func onlyPresumed(d webhook.Destination) bool {
	return len(d.Holds) == 1 && suspects(d) && !d.Breaker.Open()
}

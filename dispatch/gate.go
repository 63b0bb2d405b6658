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
		gate.Until = webhook.Later(gate.Until, webhook.Ceil(b.until))
	}
	gate.Probe = held && !gate.Until.After(now)
	return gate
}

// open reports whether a gate lets a request through.
func open(gate webhook.Gate) bool {
	return gate.Probe || gate.WaitingFor == webhook.WaitDue
}

// barriers lists what stands in the way, most important first. Barriers that
// only a person ends come before all others.
func barriers(d webhook.Destination, p webhook.Policy, now time.Time) []barrier {
	list := make([]barrier, 0, 8)
	for _, h := range d.Holds {
		word := webhook.WaitingFor(h.Reason)
		list = append(list, barrier{word: word, until: h.Until, held: true, person: h.Until.IsZero()})
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
	if retryAt := s.Destination.Retries.Next(now); !delivery.First() && retryAt.After(now) {
		word, until = prefer(word, webhook.WaitBudget), webhook.Later(until, retryAt)
	}
	if delivery.NextAttemptAt.After(now) {
		return prefer(word, webhook.WaitBackoff), webhook.Later(until, delivery.NextAttemptAt)
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

const (
	// expressAfter is how long the other slots must have stood still before
	// the express slots open: what hangs often comes in a row, and while more
	// of it comes in, the newest hangs as well.
	expressAfter = 2 * time.Second
	// expressCalm is how long nothing newer must have come in before an
	// express slot goes back to what is older.
	expressCalm = time.Second
	// quickFor is how long after an answer that took at most quickAnswer all
	// slots are open to everything.
	quickFor    = 250 * time.Millisecond
	quickAnswer = time.Second
	// expressWaits is from how many slots on all that is so. Of two or three
	// an express slot is too large a share to be kept empty.
	expressWaits = 4
)

// expressSlots returns how many of the slots are kept for the newest events
// that were never attempted: a quarter, at least one of two. Requests that
// hang can then never take all slots from those that would be answered at
// once.
func expressSlots(slots int) int {
	if slots < 2 {
		return 0
	}
	return max(1, slots/4)
}

package dispatch

import (
	"time"

	"weir/webhook"
)

const (
	// expressAfter is how long the other slots must have stood still before
	// the express slots open: requests that hang often come in a row, and
	// while more of them come in, the newest hangs as well.
	expressAfter = 2 * time.Second
	// expressCalm is how long nothing newer must have come in before an
	// express slot goes back to older events.
	expressCalm = time.Second
	// quickFor is how long after an answer that took at most quickAnswer all
	// slots are open to everything.
	quickFor    = 250 * time.Millisecond
	quickAnswer = time.Second
	// expressWaits is the number of slots from which the express slots wait.
	// Of two or three slots one is too large a share to be kept empty.
	expressWaits = 4
)

// expressSlots decides which of a destination's slots are kept for the newest
// events that were never attempted: a quarter of them, at least one of two.
// Requests that hang can then never take every slot from those that would be
// answered at once. The owner's lock guards it.
type expressSlots struct {
	// moved is when a slot that is not an express one was last taken or given
	// back; quick is when a quick answer last came.
	moved time.Time
	quick time.Time
}

// next returns the kind of slot that the next request gets when so many of all
// slots are taken, and otherwise when to ask again; zero for when one is given
// back.
func (e *expressSlots) next(taken, all int, now time.Time) (slot, time.Time) {
	switch free := all - taken; {
	case free <= 0:
		return noSlot, time.Time{}
	case free > expressShare(all) || e.quick.Add(quickFor).After(now):
		return anySlot, time.Time{}
	case all >= expressWaits && e.moved.Add(expressAfter).After(now):
		return noSlot, e.moved.Add(expressAfter)
	}
	return expressSlot, time.Time{}
}

// take notes that a slot was taken or given back.
func (e *expressSlots) take(s slot, now time.Time) {
	if s != expressSlot {
		e.moved = now
	}
}

// answered notes a quick answer to a request that did not use an express slot:
// as long as they come nothing hangs, and all slots serve the longest due.
func (e *expressSlots) answered(s slot, answer webhook.Answer) {
	if s != expressSlot && answer.Status != 0 && answer.Duration <= quickAnswer {
		e.quick = answer.At
	}
}

// expressShare returns how many of the slots are express slots.
func expressShare(slots int) int {
	if slots < 2 {
		return 0
	}
	return max(1, slots/4)
}

// expressOrder remembers what the express slots have had of one backlog. It
// belongs to the loop that reads the backlog.
type expressOrder struct {
	// latest is when the newest event that an express slot had fell due;
	// olderAt is when an older one may have it.
	latest  time.Time
	olderAt time.Time
}

// admit reports whether the newest delivery of a backlog may use an express slot
// now. One that is older than what such a slot has had before was closer to the
// requests that hang, and gets it only after nothing newer has come in for a
// while. With fewer slots than expressWaits, order does not matter.
func (e *expressOrder) admit(d webhook.Delivery, slots int, now time.Time) bool {
	if e.latest.After(now) { // the clock was set back
		e.latest = now
	}
	if calm := e.latest.Add(expressCalm); slots >= expressWaits && d.NextAttemptAt.Before(e.latest) && now.Before(calm) {
		e.olderAt = calm
		return false
	}
	e.latest = webhook.Later(e.latest, d.NextAttemptAt)
	return true
}

package dispatch

import (
	"time"

	"weir/webhook"
)

// misdirectedInARow such answers without a success hold the destination.
const misdirectedInARow = 3

// Sent is one request that has been answered, with everything that the
// decision looks at.
type Sent struct {
	// Delivery is its state as it was when the request left.
	Delivery webhook.Delivery
	// To is the state of the destination that was sent to, as it is now, and
	// Policy what is configured for it.
	To     webhook.Destination
	Policy webhook.Policy
	// Probe marks the single request that tests a hold or the breaker.
	Probe bool
	// WitnessFor is the event whose refusal the request was to confirm or to
	// refute; zero for none.
	WitnessFor webhook.ID
	// Body is the beginning of the SHA-256 of the event's body.
	Body   uint64
	Number int
	At     time.Time
	Answer webhook.Answer
}

// Decide works out what an answer means: the record to commit, with the
// attempt, the delivery's new state and the destination's new gates.
func Decide(in Sent, chance Chance) webhook.Record {
	in.Answer.At = webhook.Ceil(in.Answer.At)
	row := rowFor(in)
	to := in.To
	if !in.Answer.Internal && !in.Answer.Cut {
		to = decideDestination(in, row, chance)
	}
	to.Rev++
	if beginsSameRefusal(in, to) {
		row.Fate, row.Spends = Wait, false
	}
	delivery := decideDelivery(in, row, chance)
	line := history(in, delivery)
	line.NextAttemptAt = expected(in, to, delivery)
	return webhook.Record{
		Attempt:  line,
		Delivery: delivery,
		Gates:    to,
		Aside:    aside(in),
		Reopen:   reopened(in, to),
		Verdict:  verdict(in),
	}
}

// rowFor returns the row of the table as it applies to one answer.
func rowFor(in Sent) Row {
	row := rowOf(in.Answer.Outcome)
	switch w := weigh(in); {
	case w == alone:
		row.Hold, row.Fate, row.Vote, row.Spends = "", Alone, Abstain, false
	case w != sure:
		row.Fate, row.Spends = Wait, false
	case in.Answer.Raced && in.Number <= in.Policy.MaxAttempts:
		// A kept connection that ended in that moment is nobody's failure. Who
		// ends every one of them meets the bound of attempts all the same.
		row.Vote, row.Spends, row.Throttles = Abstain, false, false
	}
	return row
}

// spends applies the rules of the table's column: probes, requests that weir
// cut itself, and failures with a hint spend nothing.
func spends(in Sent, row Row) bool {
	hinted := row.Vote == Failure && in.Answer.Hint.Given()
	return row.Spends && !in.Probe && !in.Answer.Cut && !hinted
}

// history is the line in the delivery's history.
func history(in Sent, delivery webhook.Delivery) *webhook.Attempt {
	return &webhook.Attempt{
		Number:   in.Number,
		At:       webhook.Ceil(in.At),
		Duration: in.Answer.Duration,
		SentTo:   in.To.Name,
		Outcome:  in.Answer.Outcome,
		Status:   in.Answer.Status,
		Spent:    delivery.Spent > in.Delivery.Spent,
		Probe:    in.Probe,
		Hint:     in.Answer.Hint,
		Rule:     in.Answer.Rule,
		Evidence: in.Answer.Evidence,
		Decision: delivery.State,

		Presumed:   in.Answer.Presumed,
		Renewed:    in.Answer.Renewed,
		WitnessFor: in.WitnessFor,
	}
}

// expected is when the next attempt could go as things stand after this answer:
// what [Waiting] says of it. Zero when there is none, or when only a person can
// bring it about.
func expected(in Sent, to webhook.Destination, d webhook.Delivery) time.Time {
	if d.State != webhook.Pending {
		return time.Time{}
	}
	if in.Answer.Cut {
		return d.NextAttemptAt
	}
	_, at := Waiting(webhook.Status{Destination: to, Policy: in.Policy}, d, in.Answer.At)
	return at
}

// decideDelivery is the delivery's side of the table. A wait that belongs to the
// destination is in its hold alone: the delivery stays due, so that it goes as
// soon as the hold ends, by whatever ends it.
func decideDelivery(in Sent, row Row, chance Chance) webhook.Delivery {
	d := in.Delivery
	d.Attempts, d.Forced = in.Number, false
	if spends(in, row) {
		d.Spent++
	}
	if in.Answer.Cut {
		d.NextAttemptAt = in.Answer.At
		return d
	}
	switch row.Fate {
	case Done:
		return finish(d, webhook.Delivered, "", in.Answer.At)
	case Alone:
		return setAside(d, in, chance)
	case Die:
		return finish(d, webhook.Dead, row.Reason, in.Answer.At)
	case SlowTries:
		return slowTry(d, in, chance)
	case Backoff:
		if d.Spent >= in.Policy.MaxAttempts {
			return finish(d, webhook.Dead, webhook.DeadExhausted, in.Answer.At)
		}
		d.NextAttemptAt = webhook.Ceil(in.Answer.At.Add(backoffAfter(in, chance)))
	case Wait:
		d.NextAttemptAt = in.Answer.At
	}
	return d
}

// backoffAfter is the delivery's own wait. What the answer asked for is not in
// it: that is a hold of the destination, which may be resumed, or leave the
// delivery to the fallback.
func backoffAfter(in Sent, chance Chance) time.Duration {
	failures := in.Delivery.Spent
	if in.Answer.Slow {
		return slowBackoff(failures, chance)
	}
	return backoff(in.Policy, failures, chance)
}

// slowTry is the fate of a delivery whose address seems wrong: two more tries,
// far apart.
func slowTry(d webhook.Delivery, in Sent, chance Chance) webhook.Delivery {
	if d.Spent > in.Delivery.Spent {
		d.Misdirected++
	}
	if d.Misdirected > len(misdirectedWaits) || d.Spent >= in.Policy.MaxAttempts {
		return finish(d, webhook.Dead, webhook.DeadMisdirected, in.Answer.At)
	}
	wait := misdirectedWaits[max(d.Misdirected-1, 0)]
	d.NextAttemptAt = webhook.Ceil(in.Answer.At.Add(wait + spread(wait, chance)))
	return d
}

// finish ends a delivery.
func finish(d webhook.Delivery, state webhook.State, reason webhook.DeadReason, at time.Time) webhook.Delivery {
	d.State, d.Reason, d.FinishedAt = state, reason, at
	if state == webhook.Delivered {
		d.Detail = ""
	}
	return d
}

// decideDestination is the destination's side of the table.
func decideDestination(in Sent, row Row, chance Chance) webhook.Destination {
	to := vote(in, row, chance)
	to = learn(in, to)
	to = throttle(in, row, to)
	to.Pace = pace(to.Pace, in.Answer)
	if refutes(in) {
		to = clearSuspicion(to)
	}
	if row.Fate == Done {
		return holdFarPace(in, release(in, settleRefusals(in, trust(to, in.Delivery.EventID))), chance)
	}
	to = rearm(in, row, to)
	switch weigh(in) {
	case alone:
		if in.Answer.Hint.Given() { // what is asked for is kept in any case
			return hold(to, in, webhook.Hold{Reason: webhook.HoldRetryAfter}, chance)
		}
		return to
	case presumed:
		return suspect(in, to, chance)
	case confirming:
		return confirm(in, doubt(to, in.Delivery.EventID), chance)
	case known:
		return renew(in, to, chance)
	case sure:
	}
	if to = countRefusal(in, to, chance); beginsSameRefusal(in, to) {
		return to
	}
	return holdSurely(in, row, to, chance)
}

// renew goes on with a hold that is known.
func renew(in Sent, to webhook.Destination, chance Chance) webhook.Destination {
	reason := rowOf(in.Answer.Outcome).Hold
	if in.Answer.Outcome == webhook.OutcomeRejected {
		reason = webhook.HoldMisdirected
		if in.Probe && in.Delivery.Source != to.Suspicion.Source {
			to.Suspicion = webhook.Suspicion{} // of another source, and refused as well
		}
	} else {
		to = doubt(to, in.Delivery.EventID)
	}
	h, _ := to.Hold(reason)
	return hold(to, in, webhook.Hold{Reason: reason, Basis: h.Basis}, chance)
}

// holdSurely holds the destination for an answer that is sure to be about it, by
// the row of its outcome.
func holdSurely(in Sent, row Row, to webhook.Destination, chance Chance) webhook.Destination {
	if in.Answer.Outcome == webhook.OutcomeMisdirected {
		to.Misdirected++
		if to.Misdirected < misdirectedInARow {
			return to
		}
	}
	if row.Hold != "" {
		if to.Suspicion.Reason == row.Hold {
			to = clearSuspicion(to)
		}
		if row.Hold != webhook.HoldRetryAfter {
			to = doubt(to, in.Delivery.EventID)
		}
		return hold(to, in, webhook.Hold{Reason: row.Hold}, chance)
	}
	if row.Vote == Failure && (in.Answer.Hint.Given() || probing(in, webhook.HoldRetryAfter)) {
		return hold(to, in, webhook.Hold{Reason: webhook.HoldRetryAfter}, chance)
	}
	return to
}

// vote lets the breaker count the answer.
func vote(in Sent, row Row, chance Chance) webhook.Destination {
	to := in.To
	switch row.Vote {
	case Success:
		to.Breaker = succeed(to.Breaker, in)
	case Failure:
		to.Breaker = fail(to.Breaker, in, chance)
	case Abstain:
		to.Breaker = abstain(to.Breaker, in)
	}
	return to
}

// probing reports whether the request was the probe of a hold that applies.
func probing(in Sent, reason webhook.HoldReason) bool {
	_, held := in.To.Hold(reason)
	return in.Probe && held
}

// release ends what a success proves to be over: the probe of a hold ends it,
// and the rate then grows slowly. An answer to a request that
// left before the hold began proves nothing about it.
func release(in Sent, to webhook.Destination) webhook.Destination {
	to.Misdirected = 0
	to.LastSuccess = in.Answer.At
	if !in.Probe {
		return to
	}
	to.RampFrom = rampAfter(in)
	to = clearSuspicion(to)
	for _, h := range in.To.Holds {
		if probed(h) && !renewedSince(in, h) {
			to = to.WithoutHold(h.Reason)
		}
	}
	return to
}

// renewedSince reports whether an answer to another request has begun or renewed a
// hold while this probe was out: the probe proves nothing about that.
func renewedSince(in Sent, h webhook.Hold) bool {
	if h.Basis == webhook.BasisPresumed {
		return false
	}
	reserved := webhook.Ceil(in.At.Add(interval(h))) // see ReserveProbe
	return h.Since.After(webhook.Ceil(in.At)) || h.Until.After(reserved)
}

// rampAfter returns where the ramp after a successful probe begins. Behind a hold
// that was never sure and short little has gathered: there is none where one
// payload was suspected, and it begins further up where two were.
func rampAfter(in Sent) time.Time {
	ramp := time.Time{}
	if in.To.Breaker.Open() {
		ramp = in.Answer.At
	}
	for _, h := range in.To.Holds {
		short := in.Answer.At.Sub(h.Since) < time.Minute
		switch {
		case short && h.Basis == webhook.BasisPresumed:
		case short && h.Basis == webhook.BasisWitnessed:
			ramp = webhook.Later(ramp, in.Answer.At.Add(-startRamp))
		default:
			ramp = webhook.Later(ramp, in.Answer.At)
		}
	}
	return ramp
}

// rearm gives the holds that a probe has tested, and that its answer does not
// renew, their shortest interval again.
func rearm(in Sent, row Row, to webhook.Destination) webhook.Destination {
	if !in.Probe {
		return to
	}
	for _, h := range to.Holds {
		if wait, ok := waitOf(h); ok && h.Reason != row.Hold && !renewedSince(in, h) {
			rest := wait.base
			if h.Basis != webhook.BasisSure {
				rest = interval(h)
			}
			h.Until = webhook.Ceil(in.Answer.At.Add(rest))
			to = to.WithHold(h)
		}
	}
	return to
}

// learn remembers the sizes that the destination takes and refuses.
func learn(in Sent, to webhook.Destination) webhook.Destination {
	size := in.Delivery.Size
	switch in.Answer.Outcome {
	case webhook.OutcomeDelivered:
		to.Sizes.LargestAccepted = max(to.Sizes.LargestAccepted, size)
	case webhook.OutcomeTooLarge:
		if to.Sizes.SmallestRefused == 0 || size < to.Sizes.SmallestRefused {
			to.Sizes.SmallestRefused = size
		}
	}
	return to
}

// throttle halves the requests in flight on throttling and failures, and lets
// them grow by one for each full round of successes.
func throttle(in Sent, row Row, to webhook.Destination) webhook.Destination {
	now := in.Policy.Slots(to)
	switch {
	case row.Throttles:
		to.Slots, to.Wins = max(1, now/2), 0
	case row.Fate == Done && now < in.Policy.Concurrency:
		to.Wins++
		if to.Wins >= now {
			to.Slots, to.Wins = now+1, 0
		}
	}
	return to
}

// holdFarPace turns a pace that outlasts MAX_HOLD, or what waits for it, into a
// hold: somebody has to know, and a probe asks whether it is true.
func holdFarPace(in Sent, to webhook.Destination, chance Chance) webhook.Destination {
	until := to.Pace.NotBefore
	if until.Sub(in.Answer.At) <= min(in.Policy.MaxHold, in.Policy.MaxAge) {
		return to
	}
	to.Pace.NotBefore = time.Time{}
	to = hold(to, in, webhook.Hold{Reason: webhook.HoldQuota}, chance)
	h, _ := to.Hold(webhook.HoldQuota)
	h.NeedsOperator = true
	h.Evidence.Note = "it takes no more requests before " + until.UTC().Format(time.RFC3339) + ", it says; what waits may expire before that"
	return to.WithHold(h)
}

// pace takes over what the headers say about the room that is left. It only
// ever slows down: a pace that still runs is kept where it is the slower one.
func pace(p webhook.Pace, answer webhook.Answer) webhook.Pace {
	if answer.Pacing.NotBefore > 0 {
		p.NotBefore = webhook.Later(p.NotBefore, webhook.Ceil(answer.At.Add(answer.Pacing.NotBefore)))
	}
	if answer.Pacing.Spacing <= 0 {
		return p
	}
	if answer.Pacing.Spacing >= p.Spacing || !answer.At.Before(p.SpacingUntil) {
		p.Spacing = answer.Pacing.Spacing
		p.SpacingUntil = webhook.Ceil(answer.At.Add(answer.Pacing.For))
	}
	return p
}

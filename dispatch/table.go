package dispatch

import "weir/webhook"

// Fate is what an outcome means for the delivery.
type Fate int

const (
	// Done ends it as delivered.
	Done Fate = iota
	// Die ends it as dead with Row.Reason.
	Die
	// Backoff tries again after the delivery's own growing wait.
	Backoff
	// SlowTries tries again after 30 s and 5 min and then ends it.
	SlowTries
	// Wait leaves it due, for when the destination's hold ends.
	Wait
	// Alone sets it aside: others are taken, and it is tried again after 5 min,
	// 30 min, 2 h and each 6 h. No row has it: the answers to others decide.
	Alone
)

// Vote is what an outcome means for the breaker.
type Vote int

const (
	// Abstain neither opens nor closes it.
	Abstain Vote = iota
	// Success counts for the destination; by a trial it closes the breaker.
	Success
	// Failure counts against it.
	Failure
)

// Row says what one outcome means.
type Row struct {
	Outcome webhook.Outcome
	// Witnessed reports that the row needs a second payload with the same
	// outcome where only the status suggests it: until then the first waits,
	// unspent.
	Witnessed bool
	// Spends reports whether the attempt counts against MAX_ATTEMPTS. A
	// probe never does, nor does a failure that came with a hint.
	Spends bool
	Fate   Fate
	Reason webhook.DeadReason
	// Hold is the hold that the outcome puts on the destination, "" for
	// none. Misdirected answers hold it only at the third in a row.
	Hold webhook.HoldReason
	Vote Vote
	// Throttles halves the number of requests in flight.
	Throttles bool
}

// Table returns the table of outcomes, in the order of [webhook.Outcomes].
func Table() []Row {
	return []Row{
		{Outcome: webhook.OutcomeDelivered, Spends: true, Fate: Done, Vote: Success},
		{Outcome: webhook.OutcomeRateLimited, Fate: Wait, Hold: webhook.HoldRetryAfter, Throttles: true},
		{Outcome: webhook.OutcomeQuotaExhausted, Witnessed: true, Fate: Wait, Hold: webhook.HoldQuota, Throttles: true},
		{Outcome: webhook.OutcomeTransient, Spends: true, Fate: Backoff, Vote: Failure, Throttles: true},
		{Outcome: webhook.OutcomeNetwork, Spends: true, Fate: Backoff, Vote: Failure, Throttles: true},
		{Outcome: webhook.OutcomeRejected, Spends: true, Fate: Die, Reason: webhook.DeadRejected},
		{Outcome: webhook.OutcomeTooLarge, Spends: true, Fate: Die, Reason: webhook.DeadTooLarge},
		{Outcome: webhook.OutcomeGone, Witnessed: true, Fate: Wait, Hold: webhook.HoldGone},
		{Outcome: webhook.OutcomeMisdirected, Witnessed: true, Spends: true, Fate: SlowTries, Reason: webhook.DeadMisdirected, Hold: webhook.HoldMisdirected},
		{Outcome: webhook.OutcomeAuth, Witnessed: true, Fate: Wait, Hold: webhook.HoldAuth},
	}
}

// rowOf returns the row of an outcome. What is not in the closed set is treated
// as transient: it is tried again, within bounds.
func rowOf(outcome webhook.Outcome) Row {
	for _, r := range Table() {
		if r.Outcome == outcome {
			return r
		}
	}
	return rowOf(webhook.OutcomeTransient)
}

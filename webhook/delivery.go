package webhook

import "time"

// State is where a delivery stands. There are three; the reasons are rich.
type State string

const (
	// Pending deliveries will be attempted. Every new delivery is pending,
	// and a dead one becomes pending again when it is redelivered.
	Pending State = "pending"
	// Delivered is final: the downstream answered 2xx.
	Delivered State = "delivered"
	// Dead is final until somebody redelivers: see [DeadReason].
	Dead State = "dead"
)

// States lists every [State].
func States() []State { return []State{Pending, Delivered, Dead} }

// DeadReason says why a delivery ended without being delivered.
type DeadReason string

// The reasons of [Dead].
const (
	DeadRejected    DeadReason = "rejected"    // the downstream refused this payload
	DeadRefused     DeadReason = "refused"     // refused alone, again and again, while others were taken
	DeadTooLarge    DeadReason = "too_large"   // these bytes can never pass
	DeadMisdirected DeadReason = "misdirected" // wrong address, three times
	DeadExhausted   DeadReason = "exhausted"   // MAX_ATTEMPTS spent
	DeadExpired     DeadReason = "expired"     // older than MAX_AGE
	DeadCancelled   DeadReason = "cancelled"   // by the operator
)

// DeadReasons lists every [DeadReason].
func DeadReasons() []DeadReason {
	return []DeadReason{
		DeadRejected, DeadRefused, DeadTooLarge, DeadMisdirected, DeadExhausted,
		DeadExpired, DeadCancelled,
	}
}

// WaitingFor says what a pending delivery waits for.
type WaitingFor string

// What a delivery may wait for. Where several hold, the first of this order
// is shown.
const (
	WaitInFlight    WaitingFor = "in_flight"   // a request is out
	WaitPaused      WaitingFor = "paused"      // the operator paused the destination
	WaitGone        WaitingFor = "gone"        // the downstream answered 410
	WaitAuth        WaitingFor = "auth"        // the downstream refuses our credentials
	WaitMisdirected WaitingFor = "misdirected" // the address seems wrong
	WaitQuota       WaitingFor = "quota"       // a long allowance is spent
	WaitRetryAfter  WaitingFor = "retry_after" // the downstream asked for a pause
	WaitBreaker     WaitingFor = "breaker"     // too many failures lately
	WaitBudget      WaitingFor = "budget"      // RATE or RETRY_BUDGET is used up
	WaitPace        WaitingFor = "pace"        // the next slot of the pace, ramp or concurrency
	WaitRefused     WaitingFor = "refused"     // set aside alone: others are taken
	WaitBackoff     WaitingFor = "backoff"     // this delivery's own next time
	WaitDue         WaitingFor = "due"         // nothing: it is next
)

// WaitingFors lists every [WaitingFor], most important first.
func WaitingFors() []WaitingFor {
	return []WaitingFor{
		WaitInFlight, WaitPaused, WaitGone, WaitAuth, WaitMisdirected,
		WaitQuota, WaitRetryAfter, WaitBreaker, WaitBudget, WaitPace,
		WaitRefused, WaitBackoff, WaitDue,
	}
}

// Delivery is the duty to bring one event to one destination.
type Delivery struct {
	EventID     ID
	Source      string
	Destination string
	State       State
	// Reason is set exactly when State is Dead.
	Reason DeadReason
	// Detail is a sentence for the operator where no attempt tells the
	// story: a body over MAX_BODY, a wait that outlived MAX_AGE.
	Detail string
	// Size of the event's body in bytes.
	Size int64
	// Attempts is the number of the last attempt in the history: probes
	// count, and it goes on after a redelivery.
	Attempts int
	// Spent counts the attempts of this allowance that count against
	// MAX_ATTEMPTS; Misdirected those among them that were misdirected.
	// Both start again at 0 when the delivery is redelivered.
	Spent       int
	Misdirected int
	// Refusals counts the refusals since the delivery was set aside alone,
	// because others are taken; 0 when it is not. A redelivery begins again.
	Refusals int
	// NextAttemptAt is the earliest time of the next attempt as far as this
	// delivery alone is concerned. Gates of its destination come on top.
	NextAttemptAt time.Time
	// AgeFrom is when the allowance began: receipt, or the last redelivery.
	AgeFrom time.Time
	// FinishedAt is set exactly when State is Delivered or Dead.
	FinishedAt time.Time
	// Forced is set by a redelivery with force: sizes learned or configured
	// do not stop its next attempt.
	Forced bool
}

// First reports whether the next request for this delivery is its first ever,
// which RETRY_BUDGET does not count.
func (d Delivery) First() bool { return d.Attempts == 0 }

// Job is all that is needed to send one request.
type Job struct {
	Event    Event
	Delivery Delivery
	// Number of the attempt in the delivery's history, from 1.
	Number int
	// MayLeave is asked as the first byte of the request is about to be written:
	// between the decision to send and that moment a connection has to be made,
	// and the machine may have stood still. False forbids the request for good.
	// Nil allows it.
	MayLeave func() bool
}

// Attempt is one request that was sent for a delivery, and what came back.
type Attempt struct {
	Number   int
	At       time.Time
	Duration time.Duration
	// SentTo names the destination that the request went to: the delivery's
	// own, or its fallback.
	SentTo  string
	Outcome Outcome
	// Status is the HTTP status, 0 when no answer came.
	Status int
	Spent  bool
	Probe  bool
	// Hint is what the answer itself asked for; no source means it asked
	// for nothing.
	Hint Hint
	// Rule is the stable name of the rule that decided the outcome; Presumed
	// says that only the status suggested it.
	Rule     string
	Presumed bool
	// Renewed says that the request carried a fresh signature in place of the
	// sender's own, which had aged.
	Renewed bool
	// WitnessFor names the event whose refusal this attempt was to confirm or
	// to refute; zero for none.
	WitnessFor ID
	Evidence   Evidence
	// Decision is the state that the delivery took, NextAttemptAt when it
	// goes on (zero when the delivery is final or the operator must act).
	Decision      State
	NextAttemptAt time.Time
}

// Record is one step of a delivery, committed as a whole.
type Record struct {
	// Attempt is nil where no request was sent (a body over MAX_BODY).
	Attempt *Attempt
	// Delivery is its state from now on.
	Delivery Delivery
	// Gates is the state of the destination that was sent to, after the
	// answer. The store keeps the newest by Rev.
	Gates Destination
	// Aside are other deliveries that this answer shows to be refused alone: a
	// pending one that is not set aside yet gets its first refusal, the time and
	// the detail.
	Aside []Revision
	// Reopen are dead deliveries whose rejection this answer shows to be none of
	// their own: a rejected one is pending again, with the spent attempt given
	// back.
	Reopen []Revision
	// Verdict is what this answer says about the refusal of another payload. It
	// is not stored.
	Verdict Verdict
	// Epoch is that of the owner of the delivery's destination; the store
	// refuses a Record of an owner that has been replaced ([ErrFenced]).
	Epoch int64
}

// Revision is a change to a delivery that follows from the answer to another.
type Revision struct {
	EventID       ID
	Destination   string
	NextAttemptAt time.Time
	Detail        string
}

// Verdict is what the answer to one payload says about the refusal of another.
// The strings are metric labels.
type Verdict string

// The verdicts; empty is none.
const (
	// Confirmed says that two unlike payloads are refused alike: the fault is
	// the destination's.
	Confirmed Verdict = "confirmed"
	// Refuted says that the destination is well: the first is refused alone.
	Refuted Verdict = "refuted"
)

// Verdicts lists every [Verdict].
func Verdicts() []Verdict { return []Verdict{Confirmed, Refuted} }

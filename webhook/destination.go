package webhook

import (
	"slices"
	"time"
)

// Destination is the durable state of one downstream's gates. It is a value:
// whoever changes it makes a copy with a higher Rev, and the store keeps the
// newest. Slices in it are never changed in place.
type Destination struct {
	Name string
	// Epoch counts the owners that this destination has had; Rev counts the
	// changes of its state.
	Epoch int64
	Rev   int64
	// Fingerprint is a digest of URL, headers and secret. When it changes,
	// the holds that a wrong configuration may have caused end at start.
	Fingerprint string
	// Holds has at most one Hold for each reason.
	Holds   []Hold
	Breaker Breaker
	// Retries counts the requests that were not a delivery's first; Sent has
	// a window for each rate of RATE and counts all requests.
	Retries Window
	Sent    []Window
	// Pace slows requests as the downstream's headers asked.
	Pace Pace
	// RampFrom is when the last hold ended or the last start was: from then
	// the rate grows 1, 2, 4 … requests per second. Zero: no ramp.
	RampFrom time.Time
	// Slots is how many requests may be in flight now: at most CONCURRENCY,
	// halved on throttling and failures. Wins counts the successes since it
	// last grew. 0 slots stand for the full CONCURRENCY.
	Slots int
	Wins  int
	// Misdirected counts such answers in a row without a success.
	Misdirected int
	Sizes       Sizes
	LastSentAt  time.Time
	LastSuccess time.Time
	// LastProbed is the delivery of the last probe: probes take turns.
	LastProbed ID
	// Suspicion is the fault that a hold presumes, until another payload has
	// been asked.
	Suspicion Suspicion
	// Doubted are the last events, at most [MaxDoubted], whose refusals have
	// held the destination: once others are taken, what is refused of these
	// again is no longer sure.
	Doubted []ID
	// Refusals counts rejections in the same words.
	Refusals Refusals
}

// MaxDoubted and MaxRefusals bound the lists in a [Destination].
const (
	MaxDoubted  = 16
	MaxRefusals = 20
)

// Suspicion says which payload a hold rests on, so that another can be asked: a
// witness. The zero value suspects nothing.
type Suspicion struct {
	// Reason is that of the hold; empty without a suspicion.
	Reason HoldReason
	// Event was refused for Destination. It is zero where many were.
	Event       ID
	Destination string
	// Source is that of the events that were refused; empty for several.
	Source string
	// Body is the beginning of the SHA-256 of the refused body.
	Body uint64
	// WitnessFrom is when the next witness may go.
	WitnessFrom time.Time
}

// Refusals counts rejections with the same words and no success between them.
type Refusals struct {
	// Fingerprint identifies the words, see [Answer].
	Fingerprint string
	// Events were refused with them: unlike bodies, at most [MaxRefusals].
	Events []Refused
	// Settled is a fingerprint that did hold the destination until others were
	// taken: it is about these payloads, and holds nothing again.
	Settled string
}

// Refused is a delivery that was rejected.
type Refused struct {
	Event       ID
	Destination string
	Source      string
	// Body is the beginning of the SHA-256 of its body.
	Body uint64
}

// Basis says what a hold rests on.
type Basis string

// What a hold may rest on.
const (
	// BasisSure is the words or fields of an answer, or an operator.
	BasisSure Basis = ""
	// BasisPresumed is the status of the answers to one payload: another has
	// yet to be asked.
	BasisPresumed Basis = "presumed"
	// BasisWitnessed is the statuses of the answers to two unlike payloads.
	BasisWitnessed Basis = "witnessed"
	// BasisSameRefusal is the same rejection of many unlike payloads.
	BasisSameRefusal Basis = "same_refusal"
)

// HoldReason says why a destination may not be sent to. The strings are also
// those of [WaitingFor].
type HoldReason string

// The reasons of a hold, in the order in which they are shown.
const (
	HoldPaused      HoldReason = "paused"
	HoldGone        HoldReason = "gone"
	HoldAuth        HoldReason = "auth"
	HoldMisdirected HoldReason = "misdirected"
	HoldQuota       HoldReason = "quota"
	HoldRetryAfter  HoldReason = "retry_after"
)

// HoldReasons lists every [HoldReason], most important first.
func HoldReasons() []HoldReason {
	return []HoldReason{
		HoldPaused, HoldGone, HoldAuth, HoldMisdirected, HoldQuota, HoldRetryAfter,
	}
}

// Hold is a reason why a destination may not be sent to now. It is stored, so
// that a restart keeps it.
type Hold struct {
	Reason HoldReason
	// Basis says how sure it is.
	Basis Basis
	Since time.Time
	// Until is when the next probe may go. Zero: only the operator (or for
	// gone, auth and misdirected a changed configuration) ends the hold.
	Until time.Time
	// From says what chose Until: the hint's source, or "own wait".
	From string
	// Probes counts the probes that this hold has sent, Step the refusals
	// in a row, by which its own wait grows.
	Probes int
	Step   int
	// NeedsOperator marks a hold that no waiting is expected to end soon.
	NeedsOperator bool
	// Status, Rule and Evidence are those of the answer that began it, or
	// renewed it last.
	Status   int
	Rule     string
	Evidence Evidence
}

// Breaker stops sending after too many failures (outcomes transient and
// network) and lets single trials through until one succeeds.
type Breaker struct {
	// OpenSince is zero while the breaker is closed.
	OpenSince time.Time
	// Until is when the next trial may go.
	Until time.Time
	// Trials counts the trials since it opened; Step the failed ones in a
	// row, by which the open time doubles.
	Trials int
	Step   int
	// InARow counts failures since the last success; Recent counts both by
	// the second over the last 30 s.
	InARow int
	Recent []Tally
	// Rule and Evidence are those of the last failure.
	Rule     string
	Evidence Evidence
}

// Open reports whether the breaker stops sending.
func (b Breaker) Open() bool { return !b.OpenSince.IsZero() }

// Tally counts the results of one second for a [Breaker].
type Tally struct {
	At        time.Time
	Failures  int
	Successes int
}

// Pace is how far the downstream's headers slow a destination down.
type Pace struct {
	// NotBefore is the earliest time of the next request.
	NotBefore time.Time
	// Spacing is the least gap between two requests until SpacingUntil.
	Spacing      time.Duration
	SpacingUntil time.Time
}

// Sizes are what was learned about the bodies that a destination takes, in
// bytes; 0 is unknown.
type Sizes struct {
	LargestAccepted int64
	SmallestRefused int64
}

// Hold returns the hold for a reason.
func (d Destination) Hold(reason HoldReason) (Hold, bool) {
	for _, hold := range d.Holds {
		if hold.Reason == reason {
			return hold, true
		}
	}
	return Hold{}, false
}

// WithHold returns a copy with the hold added, or put in the place of the one
// with the same reason. Holds stay in the order of [HoldReasons].
func (d Destination) WithHold(hold Hold) Destination {
	holds := make([]Hold, 0, len(d.Holds)+1)
	for _, reason := range HoldReasons() {
		if reason == hold.Reason {
			holds = append(holds, hold)
		} else if old, held := d.Hold(reason); held {
			holds = append(holds, old)
		}
	}
	d.Holds = holds
	return d
}

// WithoutHold returns a copy without the holds of the given reasons.
func (d Destination) WithoutHold(reasons ...HoldReason) Destination {
	var holds []Hold
	for _, hold := range d.Holds {
		if !slices.Contains(reasons, hold.Reason) {
			holds = append(holds, hold)
		}
	}
	d.Holds = holds
	return d
}

// NeedsOperator returns the holds that no waiting is expected to end soon.
func (d Destination) NeedsOperator() []Hold {
	var list []Hold
	for _, hold := range d.Holds {
		if hold.NeedsOperator {
			list = append(list, hold)
		}
	}
	return list
}

// Policy is what the operator configured for a destination's gates. The
// settings of the same names say what each means.
type Policy struct {
	Name        string
	Fingerprint string
	Timeout     time.Duration
	Concurrency int
	Rate        []Rate
	RetryBudget Rate
	MaxAttempts int
	MaxAge      time.Duration
	Backoff     time.Duration
	BackoffMax  time.Duration
	MaxHold     time.Duration
	// MaxBody in bytes; 0 is no limit.
	MaxBody int64
	// Fallback names another destination; empty is none.
	Fallback string
}

// Slots returns how many requests may be in flight to a destination now: what
// it has been cut down to, and never more than CONCURRENCY.
func (p Policy) Slots(d Destination) int {
	if d.Slots == 0 {
		return p.Concurrency
	}
	return min(d.Slots, p.Concurrency)
}

// Gate is the answer to "may this destination be sent to now?".
type Gate struct {
	// WaitingFor is WaitDue when it may, else the most important reason why
	// not.
	WaitingFor WaitingFor
	// Until is when that ends by itself or the next probe may go; zero when
	// only the operator can end it.
	Until time.Time
	// Probe reports that exactly one request may go, to find out whether a
	// hold or the breaker still stands.
	Probe bool
	// Witness reports that the probe must be another payload than those that
	// have been refused: their own turn comes later.
	Witness bool
}

// Status is a destination as an operator sees it.
type Status struct {
	Destination Destination
	Policy      Policy
	Gate        Gate
	// InFlight names the events whose requests are out.
	InFlight []ID
	// Full says that as many requests are out as may be now.
	Full bool
	// RetriesLeft and RateLeft are the free places of the windows now;
	// RateLeft is in the order of Policy.Rate.
	RetriesLeft int
	RateLeft    []int
}

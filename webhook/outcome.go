package webhook

import "time"

// Outcome is what an attempt was. The set is closed; the strings are metric
// labels.
type Outcome string

// The outcomes. What each means for the delivery and for the destination stands
// in one place, dispatch.Table.
const (
	// OutcomeDelivered is any 2xx, whatever the body says.
	OutcomeDelivered Outcome = "delivered"
	// OutcomeRateLimited is a full short window: the destination waits.
	OutcomeRateLimited Outcome = "rate_limited"
	// OutcomeQuotaExhausted is a full long window, or money.
	OutcomeQuotaExhausted Outcome = "quota_exhausted"
	// OutcomeTransient is an overload or outage that may pass.
	OutcomeTransient Outcome = "transient"
	// OutcomeNetwork is no answer at all.
	OutcomeNetwork Outcome = "network"
	// OutcomeRejected says that this payload is wrong.
	OutcomeRejected Outcome = "rejected"
	// OutcomeTooLarge says that this payload can never pass.
	OutcomeTooLarge Outcome = "too_large"
	// OutcomeGone is a withdrawn endpoint (410).
	OutcomeGone Outcome = "gone"
	// OutcomeMisdirected is a wrong address, method or a redirect.
	OutcomeMisdirected Outcome = "misdirected"
	// OutcomeAuth is a refusal of our credentials or permission.
	OutcomeAuth Outcome = "auth"
)

// Outcomes lists every [Outcome].
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeDelivered, OutcomeRateLimited, OutcomeQuotaExhausted,
		OutcomeTransient, OutcomeNetwork, OutcomeRejected, OutcomeTooLarge,
		OutcomeGone, OutcomeMisdirected, OutcomeAuth,
	}
}

// MaxHint bounds every wait that is read from an answer: 31 days. A larger
// value saturates; it is never invalid and never wraps.
const MaxHint = 31 * 24 * time.Hour

// LongLived is the length from which a wait is a quota and not a rate limit,
// whatever the wording.
const LongLived = time.Hour

// Hint is a wait that an answer asked for, counted from the answer's arrival.
type Hint struct {
	// Wait is within [0, MaxHint]. 0 is a usable hint, not an order to
	// retry at once.
	Wait time.Duration
	// From names the header, member or phrase that it was read from.
	// Empty means that the answer gave no usable time.
	From string
}

// Given reports whether the answer gave a usable time.
func (h Hint) Given() bool { return h.From != "" }

// Pacing is what an answer says about the room that is left, before any limit
// is hit. It may only slow a destination down.
type Pacing struct {
	// NotBefore is the least gap before the next request: the time to the
	// reset of an empty bucket. 0 asks for nothing.
	NotBefore time.Duration
	// Spacing is the least gap between requests for the time For: what is
	// left in an almost empty bucket, spread over the time to its reset.
	Spacing time.Duration
	For     time.Duration
}

// Evidence is the bounded, redacted copy of what a downstream said.
type Evidence struct {
	// Limit, Used and Requested are figures that the answer named.
	Limit     *int64 `json:"limit,omitempty"`
	Used      *int64 `json:"used,omitempty"`
	Requested *int64 `json:"requested,omitempty"`
	// Window is the window that the answer named: "day", "minute", …
	Window string `json:"window,omitempty"`
	// Body is at most 2 KiB of the decoded body as valid UTF-8.
	Body string `json:"body"`
	// Headers are chosen fields, several values of one name joined by ", ".
	Headers map[string]string `json:"headers"`
	// Note says what weir itself has to add: the fault of a connection, an
	// encoding that is not decoded.
	Note string `json:"note,omitempty"`
}

// Answer is what came back for one request, read. It is a value: a refusing
// downstream is a normal result, not an error.
type Answer struct {
	Outcome Outcome
	Status  int
	// At is when the answer (or the fault) was complete; Duration counts
	// from the start of the request.
	At       time.Time
	Duration time.Duration
	Hint     Hint
	Pacing   Pacing
	Rule     string
	// Presumed says that only the status suggests the outcome: no words and no
	// fields of the answer confirm it, so another payload has to.
	Presumed bool
	// Aged says that the request was refused because its signature is too old:
	// this is about neither the payload nor the destination's credentials.
	Aged bool
	// NamesPayload says that a refusal names a field or a value of the payload.
	NamesPayload bool
	// Fingerprint identifies a refusal by its status and its words, without
	// what differs from request to request (digits, ids, dates, and what also
	// stands in the request): two payloads that are refused in the same words
	// have the same one. Empty where nothing was refused.
	Fingerprint string
	// Renewed says that the request carried a fresh signature in place of the
	// sender's own, which had aged.
	Renewed bool
	// Raced says that the request met a kept connection that the downstream
	// closed in that moment, before the first byte of an answer: within the
	// bounds of retries it spends no attempt and is no failure of the
	// downstream's. Whether it arrived is not known, so the next attempt
	// carries the same key.
	Raced bool
	// Unsent says that nothing of the request has left, because [Job.MayLeave]
	// forbade it: there was no attempt.
	Unsent bool
	// OwnWait is the least wait of our own where the answer gave no time and
	// the downstream's documentation does (GitHub's secondary limit: 60 s).
	OwnWait time.Duration
	// Slow asks for the slow schedule: certificate and name faults do not
	// heal in seconds.
	Slow bool
	// Internal marks a fault of weir's own (a panic): it says nothing about
	// the destination.
	Internal bool
	// Cut marks a request that weir itself ended while stopping: it spends
	// nothing and says nothing about the destination.
	Cut      bool
	Evidence Evidence
}

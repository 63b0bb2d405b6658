package client

import (
	"cmp"
	"fmt"
	"time"

	"weir/webhook"
	"weir/webhook/wording"
)

// The forms in which the operator API answers, as far as the client commands
// show them. Times that are null stay zero.

// List is a page of a list.
type List[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

// Event is an event with its deliveries.
type Event struct {
	ID              webhook.ID  `json:"id"`
	Source          string      `json:"source"`
	Key             string      `json:"key"`
	KeyFrom         string      `json:"key_from"`
	Type            string      `json:"type"`
	ReceivedAt      time.Time   `json:"received_at"`
	Size            int64       `json:"size"`
	ContentType     string      `json:"content_type"`
	Duplicates      int64       `json:"duplicates"`
	LastDuplicateAt time.Time   `json:"last_duplicate_at"`
	ConflictOf      *webhook.ID `json:"conflict_of"`
	BodyGone        bool        `json:"body_gone"`
	Deliveries      []Delivery  `json:"deliveries"`
}

// Delivery is a delivery; its attempts are there when one event was asked
// for.
type Delivery struct {
	Destination   string             `json:"destination"`
	State         webhook.State      `json:"state"`
	WaitingFor    webhook.WaitingFor `json:"waiting_for"`
	Reason        webhook.DeadReason `json:"reason"`
	Detail        string             `json:"detail"`
	AttemptCount  int                `json:"attempt_count"`
	Spent         int                `json:"spent"`
	MaxAttempts   int                `json:"max_attempts"`
	NextAttemptAt time.Time          `json:"next_attempt_at"`
	ExpiresAt     time.Time          `json:"expires_at"`
	FinishedAt    time.Time          `json:"finished_at"`
	Attempts      []Attempt          `json:"attempts"`
}

// Attempt is one request that was sent.
type Attempt struct {
	Number        int              `json:"number"`
	At            time.Time        `json:"at"`
	DurationMS    int64            `json:"duration_ms"`
	SentTo        string           `json:"sent_to"`
	Outcome       webhook.Outcome  `json:"outcome"`
	Status        int              `json:"status"`
	Spent         bool             `json:"spent"`
	Probe         bool             `json:"probe"`
	Presumed      bool             `json:"presumed"`
	Renewed       bool             `json:"renewed"`
	WitnessFor    *webhook.ID      `json:"witness_for"`
	WaitMS        *int64           `json:"wait_ms"`
	WaitFrom      string           `json:"wait_from"`
	Rule          string           `json:"rule"`
	Evidence      webhook.Evidence `json:"evidence"`
	NextAttemptAt time.Time        `json:"next_attempt_at"`
}

// Destination is a destination with its gates.
type Destination struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Hold    *Hold  `json:"hold"`
	Breaker struct {
		State         string    `json:"state"`
		Since         time.Time `json:"since"`
		Until         time.Time `json:"until"`
		FailuresInRow int       `json:"failures_in_row"`
	} `json:"breaker"`
	Queue struct {
		Pending    int                        `json:"pending"`
		Dead       int                        `json:"dead"`
		WaitingFor map[webhook.WaitingFor]int `json:"waiting_for"`
	} `json:"queue"`
	OldestDueAt   time.Time `json:"oldest_due_at"`
	LastSuccessAt time.Time `json:"last_success_at"`
}

// Hold is why a destination may not be sent to.
type Hold struct {
	Basis         webhook.Basis      `json:"basis"`
	Reason        webhook.HoldReason `json:"reason"`
	Since         time.Time          `json:"since"`
	Until         time.Time          `json:"until"`
	NeedsOperator bool               `json:"needs_operator"`
	Status        int                `json:"status"`
	Evidence      webhook.Evidence   `json:"evidence"`
}

// Source is a sender with what came from it since the start.
type Source struct {
	Name           string                   `json:"name"`
	Scheme         string                   `json:"scheme"`
	To             []string                 `json:"to"`
	LastAcceptedAt time.Time                `json:"last_accepted_at"`
	Results        map[webhook.Result]int64 `json:"results"`
}

// Stats is the traffic of the last minutes.
type Stats struct {
	Totals struct {
		Received   int `json:"received"`
		Accepted   int `json:"accepted"`
		Duplicates int `json:"duplicates"`
		Refused    int `json:"refused"`
		Outgoing   int `json:"outgoing"`
		Delivered  int `json:"delivered"`
	} `json:"totals"`
	Amplification *float64  `json:"amplification"`
	CountedSince  time.Time `json:"counted_since"`
}

// Receipt is the answer to a webhook.
type Receipt struct {
	ID        webhook.ID `json:"id"`
	Duplicate bool       `json:"duplicate"`
	Reopened  bool       `json:"reopened"`
}

// WhyHeld returns the word for what holds a destination, until when, and what
// the destination said; "" when nothing holds it.
func WhyHeld(at Destination) (webhook.WaitingFor, time.Time, string) {
	switch {
	case at.Hold != nil:
		return webhook.WaitingFor(at.Hold.Reason), at.Hold.Until, whyHold(*at.Hold)
	case at.Breaker.State != "" && at.Breaker.State != "closed":
		return webhook.WaitBreaker, at.Breaker.Until, fmt.Sprintf("%d failures in a row", at.Breaker.FailuresInRow)
	}
	return "", time.Time{}, ""
}

// whyHold says in words why a destination is held and what it answered.
func whyHold(h Hold) string {
	said := cmp.Or(h.Evidence.Body, h.Evidence.Note)
	switch {
	case h.Status != 0:
		return wording.Hold(h.Reason) + "; it answered " + wording.Answer(h.Status, said)
	case said != "":
		return wording.Hold(h.Reason) + ": " + wording.PlainLine(said)
	}
	return wording.Hold(h.Reason)
}

// Refused is a request that a source has refused.
type Refused struct {
	At      time.Time      `json:"at"`
	FirstAt time.Time      `json:"first_at"`
	Source  string         `json:"source"`
	Result  webhook.Result `json:"result"`
	Reason  string         `json:"reason"`
	Remedy  string         `json:"remedy"`
	Client  string         `json:"client"`
	Method  string         `json:"method"`
	Size    int64          `json:"size"`
	Request string         `json:"request"`
	Count   int            `json:"count"`
}

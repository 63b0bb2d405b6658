package handler

import (
	"encoding/hex"
	"time"

	"weir/webhook"
)

// stamp is a time as clients see it: UTC with milliseconds (RFC 3339), null
// when there is none.
type stamp time.Time

// MarshalJSON implements json.Marshaler.
func (s stamp) MarshalJSON() ([]byte, error) {
	if time.Time(s).IsZero() {
		return []byte("null"), nil
	}
	return time.Time(s).UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}

// orNull returns nil for a zero value, which is null in JSON.
func orNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// page is the form of every list.
type page struct {
	Items      any     `json:"items"`
	NextCursor *string `json:"next_cursor"`
	// SearchedBackTo is how far a page has looked that is not full and not the
	// last one.
	SearchedBackTo *stamp `json:"searched_back_to,omitempty"`
}

// eventView is an event as clients see it.
type eventView struct {
	ID              webhook.ID     `json:"id"`
	Source          string         `json:"source"`
	Key             *string        `json:"key"`
	KeyFrom         *string        `json:"key_from"`
	Type            *string        `json:"type"`
	ReceivedAt      stamp          `json:"received_at"`
	Size            int64          `json:"size"`
	SHA256          string         `json:"sha256"`
	ContentType     *string        `json:"content_type"`
	Duplicates      int64          `json:"duplicates"`
	LastDuplicateAt stamp          `json:"last_duplicate_at"`
	ConflictOf      *webhook.ID    `json:"conflict_of"`
	BodyGone        bool           `json:"body_gone"`
	Deliveries      []deliveryView `json:"deliveries"`
}

// deliveryView is a delivery as clients see it. In lists of deliveries it
// names its event and leaves the attempts out.
type deliveryView struct {
	EventID       *webhook.ID         `json:"event_id,omitempty"`
	Source        string              `json:"source,omitempty"`
	Destination   string              `json:"destination"`
	State         webhook.State       `json:"state"`
	WaitingFor    *webhook.WaitingFor `json:"waiting_for"`
	Reason        *webhook.DeadReason `json:"reason"`
	Detail        *string             `json:"detail"`
	Size          int64               `json:"size,omitempty"`
	AttemptCount  int                 `json:"attempt_count"`
	Spent         int                 `json:"spent"`
	MaxAttempts   *int                `json:"max_attempts"`
	NextAttemptAt stamp               `json:"next_attempt_at"`
	ExpiresAt     stamp               `json:"expires_at"`
	DeliveredAt   stamp               `json:"delivered_at"`
	FinishedAt    stamp               `json:"finished_at"`
	Attempts      *[]attemptView      `json:"attempts,omitempty"`
}

// attemptView is an attempt as clients see it.
type attemptView struct {
	Number        int              `json:"number"`
	At            stamp            `json:"at"`
	DurationMS    int64            `json:"duration_ms"`
	SentTo        string           `json:"sent_to"`
	Outcome       webhook.Outcome  `json:"outcome"`
	Status        *int             `json:"status"`
	Spent         bool             `json:"spent"`
	Probe         bool             `json:"probe"`
	Presumed      bool             `json:"presumed"`
	Renewed       bool             `json:"renewed"`
	WitnessFor    *webhook.ID      `json:"witness_for"`
	WaitMS        *int64           `json:"wait_ms"`
	WaitFrom      *string          `json:"wait_from"`
	Rule          string           `json:"rule"`
	Evidence      webhook.Evidence `json:"evidence"`
	Decision      webhook.State    `json:"decision"`
	NextAttemptAt stamp            `json:"next_attempt_at"`
}

// viewer makes views. It asks for the state of each destination once.
type viewer struct {
	destinations Destinations
	explain      func(webhook.Status, webhook.Delivery, time.Time) (webhook.WaitingFor, time.Time)
	now          time.Time
	seen         map[string]*webhook.Status
}

func (h *api) viewer() *viewer {
	return &viewer{
		destinations: h.config.Destinations, explain: h.config.Waiting,
		now: time.Now(), seen: map[string]*webhook.Status{},
	}
}

// status returns a destination's state, nil when it is no longer configured.
func (v *viewer) status(name string) *webhook.Status {
	if status, known := v.seen[name]; known {
		return status
	}
	var found *webhook.Status
	if v.destinations != nil {
		if status, err := v.destinations.Status(name, v.now); err == nil {
			found = &status
		}
	}
	v.seen[name] = found
	return found
}

// event makes the view of an event.
func (v *viewer) event(detail webhook.EventDetail) eventView {
	event := detail.Event
	view := eventView{
		ID: event.ID, Source: event.Source, Key: orNull(event.Key), KeyFrom: orNull(event.KeyFrom), Type: orNull(event.Type),
		ReceivedAt: stamp(event.ReceivedAt), Size: event.Size, SHA256: hex.EncodeToString(event.SHA256[:]),
		ContentType: orNull(event.Header.Get("Content-Type")),
		Duplicates:  event.Duplicates, LastDuplicateAt: stamp(event.LastDuplicateAt),
		ConflictOf: orNull(event.ConflictOf), BodyGone: event.BodyGone,
		Deliveries: make([]deliveryView, 0, len(detail.Deliveries)),
	}
	for _, history := range detail.Deliveries {
		view.Deliveries = append(view.Deliveries, v.delivery(history.Delivery))
	}
	return view
}

// withAttempts adds the histories to an event's view.
func (v *viewer) withAttempts(detail webhook.EventDetail) eventView {
	view := v.event(detail)
	for i, history := range detail.Deliveries {
		attempts := make([]attemptView, 0, len(history.Attempts))
		for _, attempt := range history.Attempts {
			attempts = append(attempts, viewAttempt(attempt))
		}
		view.Deliveries[i].Attempts = &attempts
	}
	return view
}

// listed is a delivery outside of its event.
func (v *viewer) listed(delivery webhook.Delivery) deliveryView {
	view := v.delivery(delivery)
	view.EventID, view.Source, view.Size = &delivery.EventID, delivery.Source, delivery.Size
	return view
}

// delivery makes the view of a delivery without its attempts.
func (v *viewer) delivery(d webhook.Delivery) deliveryView {
	view := deliveryView{
		Destination: d.Destination, State: d.State, Reason: orNull(d.Reason), Detail: orNull(d.Detail),
		AttemptCount: d.Attempts, Spent: d.Spent, FinishedAt: stamp(d.FinishedAt),
	}
	if d.State == webhook.Delivered {
		view.DeliveredAt = view.FinishedAt
	}
	status := v.status(d.Destination)
	if status != nil {
		view.MaxAttempts = orNull(status.Policy.MaxAttempts)
	}
	if d.State != webhook.Pending {
		return view
	}
	if status != nil && status.Policy.MaxAge > 0 {
		view.ExpiresAt = stamp(d.AgeFrom.Add(status.Policy.MaxAge))
	}
	waitingFor, next := v.waiting(d, status)
	view.WaitingFor, view.NextAttemptAt = &waitingFor, stamp(next)
	return view
}

func viewAttempt(a webhook.Attempt) attemptView {
	view := attemptView{
		Number: a.Number, At: stamp(a.At), DurationMS: a.Duration.Milliseconds(), SentTo: a.SentTo,
		Outcome: a.Outcome, Status: orNull(a.Status), Spent: a.Spent, Probe: a.Probe,
		Presumed: a.Presumed, Renewed: a.Renewed, WitnessFor: orNull(a.WitnessFor),
		Rule: a.Rule, Evidence: withHeaders(a.Evidence), Decision: a.Decision, NextAttemptAt: stamp(a.NextAttemptAt),
	}
	if a.Hint.Given() {
		wait := a.Hint.Wait.Milliseconds()
		view.WaitMS, view.WaitFrom = &wait, &a.Hint.From
	}
	return view
}

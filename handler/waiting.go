package handler

import (
	"slices"
	"time"

	"weir/webhook"
)

// waiting is what the gate of a destination alone tells, where Config.Waiting is
// not set. One that is not configured any more (status is nil) is gone, until
// its configuration changes. The time is zero when only the operator can
// release the delivery.
func waiting(d webhook.Delivery, status *webhook.Status, now time.Time) (webhook.WaitingFor, time.Time) {
	if status == nil {
		return webhook.WaitGone, time.Time{}
	}
	if slices.Contains(status.InFlight, d.EventID) {
		return webhook.WaitInFlight, d.NextAttemptAt
	}
	gate := status.Gate
	if gate.WaitingFor == webhook.WaitDue || gate.WaitingFor == "" {
		return own(d, now), d.NextAttemptAt
	}
	if gate.Until.IsZero() {
		return gate.WaitingFor, time.Time{}
	}
	return gate.WaitingFor, webhook.Later(gate.Until, d.NextAttemptAt)
}

// own says what a delivery waits for when its destination is open.
func own(d webhook.Delivery, now time.Time) webhook.WaitingFor {
	if d.NextAttemptAt.After(now) {
		if d.Refusals > 0 {
			return webhook.WaitRefused
		}
		return webhook.WaitBackoff
	}
	return webhook.WaitDue
}

// waiting says what a pending delivery waits for and when it may go.
func (v *viewer) waiting(d webhook.Delivery, status *webhook.Status) (webhook.WaitingFor, time.Time) {
	if status == nil || v.explain == nil {
		return waiting(d, status, v.now)
	}
	return v.explain(*status, d, v.now)
}

// keep leaves those deliveries that wait for something.
func (v *viewer) keep(list []webhook.Delivery, want webhook.WaitingFor) []webhook.Delivery {
	return slices.DeleteFunc(list, func(d webhook.Delivery) bool {
		got, _ := v.waiting(d, v.status(d.Destination))
		return got != want
	})
}

// narrow restricts a query for one destination to what may wait for something
// there: a little too much where the retry budget or the slots decide, never
// too little. It reports false when nothing can.
func narrow(query webhook.DeliveryQuery, want webhook.WaitingFor, at *viewer) (webhook.DeliveryQuery, bool) {
	status := at.status(query.Destination)
	if status == nil {
		return query, want == webhook.WaitGone
	}
	if want == webhook.WaitInFlight {
		query.Only = status.InFlight
		return query, len(status.InFlight) > 0
	}
	query.Except = status.InFlight
	query.DueAt = at.now
	gate := status.Gate.WaitingFor
	if gate != webhook.WaitDue && gate != "" && gate != webhook.WaitPace {
		return query, want == gate
	}
	switch want {
	case webhook.WaitBudget, webhook.WaitPace:
		return query, true
	case webhook.WaitDue:
		query.Due = webhook.DueNow
	case webhook.WaitBackoff, webhook.WaitRefused:
		query.Due = webhook.DueLater
	default:
		return query, false
	}
	return query, true
}

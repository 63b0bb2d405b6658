package main

import (
	"log/slog"

	"weir/dispatch"
	"weir/webhook"
)

// sent is told of every recorded step of a delivery.
func (h *house) sent(o dispatch.Observation) {
	if o.Record.Attempt != nil {
		h.stats.Attempted(o.Record.Delivery.EventID, *o.Record.Attempt)
		h.logAttempt(o)
	}
	h.logGates(o.Before, o.Record.Gates)
}

// logAttempt writes the line of an attempt.
func (h *house) logAttempt(o dispatch.Observation) {
	a, d := *o.Record.Attempt, o.Record.Delivery
	fields := []any{
		webhook.LogEvent, d.EventID, webhook.LogSource, d.Source, webhook.LogDestination, d.Destination,
		webhook.LogAttempt, a.Number, webhook.LogOutcome, a.Outcome, webhook.LogStatus, a.Status,
		webhook.LogDuration, a.Duration, webhook.LogRule, a.Rule, webhook.LogState, d.State,
	}
	if d.State == webhook.Pending {
		fields = append(fields, webhook.LogUntil, d.NextAttemptAt)
	}
	if d.Reason != "" {
		fields = append(fields, webhook.LogReason, d.Reason)
	}
	h.log.Info("attempt", fields...)
}

// logGates writes a line for each hold that has begun or ended, and for the
// breaker: one for the hold, not one for each delivery that waits.
func (h *house) logGates(before, after webhook.Destination) {
	for _, hold := range after.Holds {
		if _, held := before.Hold(hold.Reason); !held {
			h.log.Warn("hold begins", webhook.LogDestination, after.Name, webhook.LogReason, hold.Reason,
				webhook.LogUntil, hold.Until, webhook.LogStatus, hold.Status, webhook.LogRule, hold.Rule,
				slog.String("from", hold.From))
		}
	}
	for _, hold := range before.Holds {
		if _, held := after.Hold(hold.Reason); !held {
			h.log.Info("hold ends", webhook.LogDestination, after.Name, webhook.LogReason, hold.Reason)
		}
	}
	switch was, is := before.Breaker.Open(), after.Breaker.Open(); {
	case is && !was:
		h.log.Warn("breaker opens", webhook.LogDestination, after.Name, webhook.LogUntil, after.Breaker.Until,
			webhook.LogRule, after.Breaker.Rule)
	case was && !is:
		h.log.Info("breaker closes", webhook.LogDestination, after.Name)
	}
}

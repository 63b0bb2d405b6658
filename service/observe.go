package service

import (
	"context"
	"fmt"
	"time"

	"weir/dispatch"
	"weir/handler"
	"weir/store"
	"weir/store/sqlite"
	"weir/webhook"
)

// Received is told of every request to a receive path.
func (h *Service) received(seen handler.Observation) {
	h.meters.Received(seen)
	h.alerter.Received(seen)
}

// committed is told of every transaction of the store.
func (h *Service) committed(c store.Commit) {
	h.meters.Committed(c)
	h.alerter.Committed(c)
	if c.NearlyFull {
		h.makeRoom()
	}
}

// sent is told of every recorded step of a delivery.
func (h *Service) sent(o dispatch.Observation) {
	d := o.Record.Delivery
	if a := o.Record.Attempt; a != nil {
		h.stats.Attempted(d.EventID, *a)
		h.meters.Sent(*a)
		h.logAttempt(o)
	} else if d.State == webhook.Dead {
		h.log.Warn("delivery ended without an attempt", webhook.LogEvent, d.EventID, webhook.LogSource, d.Source,
			webhook.LogDestination, d.Destination, webhook.LogReason, d.Reason)
	}
	if o.Cut {
		h.cut.Add(1)
	}
	h.meters.Ended(d, o.ReceivedAt)
	if d.State == webhook.Dead {
		h.alerter.Died(d.Destination, d.Reason, 1)
	}
	h.gatesMoved(o.Before, o.Record.Gates)
}

// gatesMoved tells of holds that have begun or ended.
func (h *Service) gatesMoved(before, after webhook.Destination) {
	h.logGates(before, after)
	if len(before.NeedsOperator()) > 0 || len(after.NeedsOperator()) > 0 {
		h.nudge()
	}
}

// watchedStore is the store to those who change deliveries without sending.
type watchedStore struct {
	*sqlite.Store
	house *Service
}

// Expire counts what it ends.
func (s watchedStore) Expire(ctx context.Context, query webhook.ExpireQuery) (webhook.Expired, error) {
	expired, err := s.Store.Expire(ctx, query)
	if err == nil {
		s.house.meters.Died(query.Destination, webhook.DeadExpired, expired.Count)
		s.house.alerter.Died(query.Destination, webhook.DeadExpired, expired.Count)
	}
	return expired, err
}

// Redeliver counts and logs what an operator begins again.
func (s watchedStore) Redeliver(ctx context.Context, request webhook.Redelivery) error {
	err := s.Store.Redeliver(ctx, request)
	if err == nil {
		s.house.meters.Redelivered(request.Destination)
		s.house.log.Info("operator redelivers", webhook.LogEvent, request.EventID, webhook.LogDestination, request.Destination)
	}
	return err
}

// Cancel counts and logs what an operator ends.
func (s watchedStore) Cancel(ctx context.Context, event webhook.ID, destination string, now time.Time) error {
	err := s.Store.Cancel(ctx, event, destination, now)
	if err == nil {
		s.house.meters.Died(destination, webhook.DeadCancelled, 1)
		s.house.log.Info("operator cancels", webhook.LogEvent, event, webhook.LogDestination, destination)
	}
	return err
}

// watchedDispatcher is the dispatcher to those who change its holds.
type watchedDispatcher struct {
	*dispatch.Dispatcher
	house *Service
}

// Pause tells that the hold begins.
func (d watchedDispatcher) Pause(ctx context.Context, name string) error {
	return d.watch(name, func() error { return d.Dispatcher.Pause(ctx, name) })
}

// Resume tells which holds end.
func (d watchedDispatcher) Resume(ctx context.Context, name string) error {
	return d.watch(name, func() error { return d.Dispatcher.Resume(ctx, name) })
}

// watch compares the gates before and after a change.
func (d watchedDispatcher) watch(name string, change func() error) error {
	before, _ := d.Status(name, time.Now()) // an unknown name is change's to answer
	if err := change(); err != nil {
		return err
	}
	after, err := d.Status(name, time.Now())
	if err == nil {
		d.house.gatesMoved(before.Destination, after.Destination)
	}
	return nil
}

// rememberAccepted reads when each source was last accepted from, so that a
// restart does not make a silent source look alive.
func (h *Service) rememberAccepted(ctx context.Context) error {
	var names []string
	for _, source := range h.settings.Sources {
		names = append(names, source.Name)
	}
	last, err := h.store.LastAccepted(ctx, names)
	if err != nil {
		return fmt.Errorf("read when sources were last accepted from: %w", err)
	}
	for name, at := range last {
		h.meters.AcceptedBefore(name, at)
	}
	return nil
}

// logAttempt writes the line of an attempt.
func (h *Service) logAttempt(o dispatch.Observation) {
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
func (h *Service) logGates(before, after webhook.Destination) {
	for _, hold := range after.Holds {
		if _, held := before.Hold(hold.Reason); !held {
			h.log.Warn("hold begins", holdFields(after.Name, hold)...)
		}
	}
	for _, hold := range before.Holds {
		if _, held := after.Hold(hold.Reason); !held {
			h.log.Info("hold ends", webhook.LogDestination, after.Name, webhook.LogReason, hold.Reason)
		}
	}
	switch was, is := before.Breaker.Open(), after.Breaker.Open(); {
	case is && !was:
		h.log.Warn("breaker opens", breakerFields(after)...)
	case was && !is:
		h.log.Info("breaker closes", webhook.LogDestination, after.Name)
	}
}

// holdFields are those of a line about a hold.
func holdFields(destination string, hold webhook.Hold) []any {
	return []any{
		webhook.LogDestination, destination, webhook.LogReason, hold.Reason, webhook.LogUntil, hold.Until,
		webhook.LogStatus, hold.Status, webhook.LogRule, hold.Rule, webhook.LogFrom, hold.From,
	}
}

// breakerFields are those of a line about an open breaker.
func breakerFields(d webhook.Destination) []any {
	return []any{webhook.LogDestination, d.Name, webhook.LogUntil, d.Breaker.Until, webhook.LogRule, d.Breaker.Rule}
}

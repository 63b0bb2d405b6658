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

// received is called for every request to a receive path.
func (svc *Service) received(seen handler.Observation) {
	svc.meters.Received(seen)
	svc.alerter.Received(seen)
}

// committed is called for every transaction of the store.
func (svc *Service) committed(c store.Commit) {
	svc.meters.Committed(c)
	svc.alerter.Committed(c)
	if c.NearlyFull {
		svc.makeRoom()
	}
}

// sent is called for every recorded step of a delivery.
func (svc *Service) sent(o dispatch.Observation) {
	d := o.Record.Delivery
	if a := o.Record.Attempt; a != nil {
		svc.stats.Attempted(d.EventID, *a)
		svc.meters.Sent(*a)
		svc.meters.Witnessed(a.SentTo, o.Record.Verdict)
		svc.logAttempt(o)
	} else if d.State == webhook.Dead {
		svc.log.Warn("delivery ended without an attempt", webhook.LogEvent, d.EventID, webhook.LogSource, d.Source,
			webhook.LogDestination, d.Destination, webhook.LogReason, d.Reason)
	}
	if o.Cut {
		svc.cut.Add(1)
	}
	svc.meters.Ended(d, o.ReceivedAt)
	if d.State == webhook.Dead {
		svc.alerter.Died(d.Destination, d.Reason, 1)
	}
	svc.gatesMoved(o.Before, o.Record.Gates)
}

// gatesChanged reports holds that have begun or ended.
func (svc *Service) gatesMoved(before, after webhook.Destination) {
	svc.logGates(before, after)
	if len(before.NeedsOperator()) > 0 || len(after.NeedsOperator()) > 0 {
		svc.lookAgain()
	}
}

// watchedStore is the store to those who change deliveries without sending.
type watchedStore struct {
	*sqlite.Store
	service *Service
}

// Expire counts what it ends.
func (s watchedStore) Expire(ctx context.Context, query webhook.ExpireQuery) (webhook.Expired, error) {
	expired, err := s.Store.Expire(ctx, query)
	if err == nil {
		s.service.meters.Died(query.Destination, webhook.DeadExpired, expired.Count)
		s.service.alerter.Died(query.Destination, webhook.DeadExpired, expired.Count)
	}
	return expired, err
}

// Redeliver counts and logs what an operator begins again.
func (s watchedStore) Redeliver(ctx context.Context, request webhook.Redelivery) error {
	err := s.Store.Redeliver(ctx, request)
	if err == nil {
		s.service.meters.Redelivered(request.Destination)
		s.service.log.Info("operator redelivers", webhook.LogEvent, request.EventID, webhook.LogDestination, request.Destination)
	}
	return err
}

// Cancel counts and logs what an operator ends.
func (s watchedStore) Cancel(ctx context.Context, event webhook.ID, destination string, now time.Time) error {
	err := s.Store.Cancel(ctx, event, destination, now)
	if err == nil {
		s.service.meters.Died(destination, webhook.DeadCancelled, 1)
		s.service.log.Info("operator cancels", webhook.LogEvent, event, webhook.LogDestination, destination)
	}
	return err
}

// watchedDispatcher is the dispatcher to those who change its holds.
type watchedDispatcher struct {
	*dispatch.Dispatcher
	service *Service
}

// Pause reports the hold that begins.
func (d watchedDispatcher) Pause(ctx context.Context, name string) error {
	return d.watch(name, func() error { return d.Dispatcher.Pause(ctx, name) })
}

// Resume reports the holds that end.
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
		d.service.gatesMoved(before.Destination, after.Destination)
	}
	return nil
}

// rememberAccepted reads when each source was last accepted from, so that a
// restart does not make a silent source look alive.
func (svc *Service) rememberAccepted(ctx context.Context) error {
	var names []string
	for _, source := range svc.settings.Sources {
		names = append(names, source.Name)
	}
	last, err := svc.store.LastAccepted(ctx, names)
	if err != nil {
		return fmt.Errorf("read when sources were last accepted from: %w", err)
	}
	for name, at := range last {
		svc.meters.AcceptedBefore(name, at)
	}
	return nil
}

// logAttempt writes the line of an attempt.
func (svc *Service) logAttempt(o dispatch.Observation) {
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
	svc.log.Info("attempt", fields...)
}

// logGates writes a line for each hold that has begun or ended, and for the
// breaker: one for the hold, not one for each delivery that waits.
func (svc *Service) logGates(before, after webhook.Destination) {
	for _, hold := range after.Holds {
		if _, held := before.Hold(hold.Reason); !held {
			svc.log.Warn("hold begins", holdFields(after.Name, hold)...)
		}
	}
	for _, hold := range before.Holds {
		if _, held := after.Hold(hold.Reason); !held {
			svc.log.Info("hold ends", webhook.LogDestination, after.Name, webhook.LogReason, hold.Reason)
		}
	}
	switch was, is := before.Breaker.Open(), after.Breaker.Open(); {
	case is && !was:
		svc.log.Warn("breaker opens", breakerFields(after)...)
	case was && !is:
		svc.log.Info("breaker closes", webhook.LogDestination, after.Name)
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

package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weir/service/alert"
	"weir/webhook"
)

// removedDestination is a destination that is not configured any more, and that
// deliveries still wait for: it was renamed, or taken out of WEIR_DESTINATIONS too early.
// Nothing can be sent to it, and nothing is dropped: an operator has to configure
// it again or cancel what waits.
type removedDestination struct {
	name    string
	pending int
}

// removed lists the destinations that were configured before and are not now.
func (svc *Service) removed(ctx context.Context) ([]string, error) {
	owned, err := svc.store.Owned(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the destinations that were configured before: %w", err)
	}
	configured := svc.dispatcher.Names()
	return slices.DeleteFunc(owned, func(name string) bool { return slices.Contains(configured, name) }), nil
}

// removedWaiting lists them by name.
func (svc *Service) removedWaiting(ctx context.Context, now time.Time) ([]removedDestination, error) {
	former, err := svc.removed(ctx)
	if err != nil {
		return nil, err
	}
	var list []removedDestination
	for _, name := range former {
		queue, err := svc.store.Queue(ctx, name, webhook.Ceil(now))
		if err != nil {
			return nil, fmt.Errorf("count what waits for %s: %w", name, err)
		}
		if queue.Pending > 0 {
			list = append(list, removedDestination{name, queue.Pending})
		}
	}
	return list, nil
}

// logRemoved writes a line for each removed destination that a start finds.
func (svc *Service) logRemoved(ctx context.Context) {
	list, err := svc.removedWaiting(ctx, time.Now())
	if err != nil {
		svc.log.Warn("what waits for destinations that are not configured cannot be counted", webhook.LogError, err)
	}
	for _, s := range list {
		svc.log.Warn("deliveries wait for a destination that is not configured any more",
			webhook.LogDestination, s.name, webhook.LogPending, s.pending)
	}
}

// watchRemoved compares the removed destinations with those that were announced.
func (svc *Service) watchRemoved(ctx context.Context, now time.Time) {
	list, err := svc.removedWaiting(ctx, now)
	if err != nil {
		return // the store reports its own faults
	}
	var found []alert.Active
	for _, s := range list {
		found = append(found, alert.Active{Condition: alert.Condition{Kind: alert.Removed, Subject: s.name}, Text: s.text()})
	}
	svc.alerter.SetActive(alert.Removed, found, now)
}

// flowToRemoved returns the reasons why work for removed destinations does not flow.
func (svc *Service) flowToRemoved(ctx context.Context, now time.Time) []string {
	list, err := svc.removedWaiting(ctx, now)
	if err != nil {
		return []string{"what waits for destinations that are not configured cannot be counted"}
	}
	var reasons []string
	for _, s := range list {
		reasons = append(reasons, s.text())
	}
	return reasons
}

// text says what is wrong and what to do.
func (s removedDestination) text() string {
	return fmt.Sprintf("destination %s: is not configured any more, but deliveries wait for it;"+
		" configure it again, or cancel them", s.name)
}

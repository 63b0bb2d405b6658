package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/service/metrics"
	"weir/webhook"
)

// errDraining is why a service that stops is not ready.
var errDraining = errors.New("the service is stopping")

// ready returns nil while new events can be stored.
func (svc *Service) ready(ctx context.Context) error {
	if svc.draining.Load() {
		return errDraining
	}
	return svc.store.Ready(ctx)
}

// flow returns the reasons why work is not flowing.
func (svc *Service) flow(ctx context.Context) []string {
	now := webhook.Ceil(time.Now())
	var reasons []string
	if svc.store.Full() {
		reasons = append(reasons, "new events are refused: the database is at WEIR_MAX_DATABASE, and nothing in it may be removed yet")
	}
	for _, name := range svc.dispatcher.Stuck() {
		reasons = append(reasons, fmt.Sprintf("destination %s: its delivery loop is stuck", name))
	}
	for _, name := range svc.dispatcher.Names() {
		reasons = append(reasons, svc.flowTo(ctx, name, now)...)
	}
	return append(reasons, svc.flowToRemoved(ctx, now)...)
}

// flowTo returns the reasons of one destination.
func (svc *Service) flowTo(ctx context.Context, name string, now time.Time) []string {
	status, err := svc.dispatcher.Status(name, now)
	if err != nil {
		return []string{fmt.Sprintf("destination %s: unknown", name)}
	}
	var reasons []string
	for _, hold := range svc.needPerson(status.Destination, now) {
		reasons = append(reasons, fmt.Sprintf("destination %s: held for %s", name, hold.Reason))
	}
	queue, err := svc.store.Queue(ctx, name, now)
	if err != nil {
		return append(reasons, fmt.Sprintf("destination %s: its queue cannot be read", name))
	}
	if said := stalled(queue, status.Destination, now.Add(-time.Duration(svc.settings.StallAfter))); said != "" {
		reasons = append(reasons, fmt.Sprintf("destination %s: %s", name, said))
	}
	return reasons
}

// stalled says why nothing has flowed to a destination since a moment, "" when
// something may have. During an outage each retry moves what it retries into
// the future, so that a few deliveries are hardly ever due, and yet nothing
// gets through.
func stalled(queue webhook.Queue, d webhook.Destination, since time.Time) string {
	waits := func(from time.Time) bool { return !from.IsZero() && from.Before(since) }
	failing := d.Breaker.InARow > 0 || d.Breaker.Open() || len(d.Holds) > 0
	switch {
	case waits(queue.OldestDue):
		return "the oldest due delivery waits longer than WEIR_STALL_AFTER"
	case waits(queue.Oldest) && failing && d.LastSuccess.Before(since):
		return "nothing has got through for longer than WEIR_STALL_AFTER, and deliveries wait"
	default:
		return ""
	}
}

// countRequests notes when the last request came in. Probes of the host do
// not keep an idle service up.
func (svc *Service) countRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		svc.meters.Requested(r.URL.Path)
		if !metrics.IsProbe(r.URL.Path) {
			svc.lastRequest.Store(int64(time.Since(svc.created)))
		}
		next.ServeHTTP(w, r)
	})
}

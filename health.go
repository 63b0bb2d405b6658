package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/webhook"
)

// errDraining is why a service that stops is not ready.
var errDraining = errors.New("the service is stopping")

// ready returns nil while events can be accepted: it commits something to find
// out.
func (h *house) ready(ctx context.Context) error {
	if h.draining.Load() {
		return errDraining
	}
	return h.store.Ping(ctx)
}

// flow returns the reasons why work is not flowing.
func (h *house) flow(ctx context.Context) []string {
	now := webhook.Ceil(time.Now())
	var reasons []string
	for _, name := range h.dispatcher.Stuck(now) {
		reasons = append(reasons, fmt.Sprintf("destination %s: its dispatch loop does not turn", name))
	}
	for _, name := range h.dispatcher.Names() {
		reasons = append(reasons, h.flowTo(ctx, name, now)...)
	}
	return append(reasons, h.flowToStrays(ctx, now)...)
}

// flowTo returns the reasons of one destination.
func (h *house) flowTo(ctx context.Context, name string, now time.Time) []string {
	status, err := h.dispatcher.Status(name, now)
	if err != nil {
		return []string{fmt.Sprintf("destination %s: unknown", name)}
	}
	var reasons []string
	for _, hold := range status.Destination.NeedsOperator() {
		reasons = append(reasons, fmt.Sprintf("destination %s: held for %s", name, hold.Reason))
	}
	queue, err := h.store.Queue(ctx, name, now)
	if err != nil {
		return append(reasons, fmt.Sprintf("destination %s: its queue cannot be read", name))
	}
	if said := stalled(queue, status.Destination, now.Add(-h.settings.stallAfter)); said != "" {
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
func (h *house) countRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.meters.requested(r.URL.Path)
		if !isProbe(r.URL.Path) {
			h.lastRequest.Store(time.Now().UnixMilli())
		}
		next.ServeHTTP(w, r)
	})
}

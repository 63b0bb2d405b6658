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
	for _, hold := range needy(status.Destination) {
		reasons = append(reasons, fmt.Sprintf("destination %s: held for %s", name, hold.Reason))
	}
	queue, err := h.store.Queue(ctx, name, now)
	if err != nil {
		return append(reasons, fmt.Sprintf("destination %s: its queue cannot be read", name))
	}
	if !queue.OldestDue.IsZero() && now.Sub(queue.OldestDue) > h.settings.stallAfter {
		reasons = append(reasons, fmt.Sprintf("destination %s: the oldest due delivery waits longer than WEIR_STALL_AFTER", name))
	}
	return reasons
}

// countRequests notes when the last request came in. Probes of the host do
// not keep an idle service up.
func (h *house) countRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		class := routeOf(r.URL.Path)
		h.meters.requests[class].Inc()
		if class != routeHealth {
			h.lastRequest.Store(time.Now().UnixMilli())
		}
		next.ServeHTTP(w, r)
	})
}

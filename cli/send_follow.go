package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weir/cli/client"
	"weir/webhook"
)

// followEvery is the time between two looks at the deliveries of an event.
const followEvery = 100 * time.Millisecond

// follow looks at an event until each of its deliveries is settled or the time
// is up, and prints what became of them. errDead is returned when one is dead.
func (s sending) follow(ctx context.Context, id webhook.ID) error {
	if s.client.Token == "" {
		s.stage("delivery", "set WEIR_API_TOKEN to see what becomes of it")
		return nil
	}
	if id.IsZero() {
		s.stage("delivery", "weir events --source %s shows what becomes of it", s.from.Source.Name)
		return nil
	}
	if s.call.wait == 0 {
		return nil
	}
	deadline := time.Now().Add(s.call.wait)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for calm := 0; ; {
		var event client.Event
		if err := s.client.Get(ctx, "/v1/events/"+id.String(), &event); err != nil {
			return fmt.Errorf("look at the event: %w", err)
		}
		// A hold may be seen a moment before the attempt that began it: what
		// waits is looked at twice.
		if settled(event) {
			calm++
		} else {
			calm = 0
		}
		if finished(event) || calm > 1 || time.Now().After(deadline) {
			return s.outcome(event)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// settled reports whether nothing will happen in the next moment.
func settled(event client.Event) bool {
	for _, d := range event.Deliveries {
		if d.State != webhook.Pending {
			continue
		}
		switch d.WaitingFor {
		case webhook.WaitDue, webhook.WaitInFlight, webhook.WaitPace:
			return false
		}
	}
	return true
}

// finished reports whether no delivery is pending.
func finished(event client.Event) bool {
	return !slices.ContainsFunc(event.Deliveries, func(d client.Delivery) bool { return d.State == webhook.Pending })
}

// outcome prints what became of each delivery.
func (s sending) outcome(event client.Event) error {
	var failed error
	for _, d := range event.Deliveries {
		s.stage(string(d.State), "%s", summary(d, time.Now()))
		if d.State == webhook.Dead {
			failed = errDead
		}
	}
	return failed
}

// summary tells how a delivery stands, in a line.
func summary(d client.Delivery, now time.Time) string {
	line := d.Destination + ": " + standing(d, now)
	if d.State != webhook.Delivered {
		if last := len(d.Attempts) - 1; last >= 0 {
			line += "; it said " + saying(d.Attempts[last])
		}
	}
	return line
}

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
// is up, and prints its deliveries. errDead is returned when one is dead.
func (s sending) follow(ctx context.Context, made *sent) error {
	switch {
	case s.client.Token == "":
		s.stage("delivery", "set WEIR_API_TOKEN to follow it")
		return nil
	case made.ID == nil:
		s.stage("delivery", "weir events --source %s shows it", s.from.Source.Name)
		return nil
	case s.Wait == 0:
		return nil
	}
	deadline := time.Now().Add(time.Duration(s.Wait))
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for calm := 0; ; {
		var e event
		if err := s.client.Get(ctx, "/v1/events/"+made.ID.String(), &e); err != nil {
			return fmt.Errorf("look at the event: %w", err)
		}
		// A hold may be seen a moment before the attempt that began it: what
		// waits is looked at twice.
		if settled(e.value) {
			calm++
		} else {
			calm = 0
		}
		if finished(e.value) || calm > 1 || time.Now().After(deadline) {
			made.Event = &e
			return s.outcome(e.value)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// settled reports whether nothing will happen in the next moment.
func settled(e client.Event) bool {
	for _, d := range e.Deliveries {
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
func finished(e client.Event) bool {
	return !slices.ContainsFunc(e.Deliveries, func(d client.Delivery) bool { return d.State == webhook.Pending })
}

// outcome prints the state of each delivery.
func (s sending) outcome(e client.Event) error {
	var failed error
	for _, d := range e.Deliveries {
		s.stage(string(d.State), "%s", summary(d, time.Now()))
		if d.State == webhook.Dead {
			failed = errDead
		}
	}
	return failed
}

// summary says what state a delivery is in and what its destination answered last, in a line.
func summary(d client.Delivery, now time.Time) string {
	line := d.Destination + ": " + standing(d, now)
	if d.State != webhook.Delivered {
		if last := len(d.Attempts) - 1; last >= 0 {
			if d.Attempts[last].Status != 0 {
				line += "; it answered " + answerOf(d.Attempts[last])
			} else {
				line += "; " + answerOf(d.Attempts[last])
			}
		}
	}
	return line
}

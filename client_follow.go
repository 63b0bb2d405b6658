package main

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"time"

	"weir/webhook"
)

// The bounds of "weir events --follow".
const (
	eventsEvery = time.Second
	// eventsOverlap is how far behind the newest event is looked again:
	// events become visible in the order of their commits, not of receipt.
	eventsOverlap = 5 * time.Second
	// eventsMost bounds what one look may fetch.
	eventsMost = 10_000
)

// follow prints the newest events, oldest of them first, and then each new one
// until ctx ends.
func (l listing) follow(ctx context.Context) error {
	seen := seenEvents{}
	rows, err := l.fetch(ctx, l.call.query, l.call.limit)
	tick := time.NewTicker(eventsEvery)
	defer tick.Stop()
	for {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, row := range slices.Backward(rows) {
			if seen.add(row.apiEvent) {
				if err := l.show(row); err != nil {
					return err
				}
			}
		}
		seen.forget()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		rows, err = l.fetch(ctx, seen.after(l.call.query), eventsMost)
	}
}

// seenEvents remembers which of the newest events were printed.
type seenEvents struct {
	ids    map[webhook.ID]time.Time
	newest time.Time
}

// add reports whether an event is new.
func (s *seenEvents) add(event apiEvent) bool {
	if _, known := s.ids[event.ID]; known {
		return false
	}
	if s.ids == nil {
		s.ids = map[webhook.ID]time.Time{}
	}
	s.ids[event.ID] = event.ReceivedAt
	if event.ReceivedAt.After(s.newest) {
		s.newest = event.ReceivedAt
	}
	return true
}

// forget drops the events that are too old to come again.
func (s *seenEvents) forget() {
	maps.DeleteFunc(s.ids, func(_ webhook.ID, at time.Time) bool {
		return at.Before(s.newest.Add(-2 * eventsOverlap))
	})
}

// after returns a query for what may have come since.
func (s *seenEvents) after(query url.Values) url.Values {
	asked := cloneValues(query)
	if !s.newest.IsZero() {
		asked.Set("since", s.newest.Add(-eventsOverlap).UTC().Format(time.RFC3339Nano))
	}
	return asked
}

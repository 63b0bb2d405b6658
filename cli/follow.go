package cli

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"weir/cli/client"
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
// until ctx ends. A service that cannot be asked for a while, as during a
// restart, is asked again; only at the beginning is that an error.
func (l listing) follow(ctx context.Context) error {
	seen := seenEvents{}
	rows, err := l.begin(ctx, &seen)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	if len(rows) == 0 {
		if err := l.unknownNames(ctx); err != nil {
			return err
		}
	}
	l.table.begin()
	tick := time.NewTicker(eventsEvery)
	defer tick.Stop()
	for away := false; ; {
		for _, row := range slices.Backward(rows) {
			if seen.add(row.value) {
				if err := l.table.show(row); err != nil {
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
		rows, err = l.fetch(ctx, seen.after(l.query), eventsMost)
		if err != nil && (ctx.Err() != nil || !passes(err)) {
			return unlessEnded(ctx, err)
		}
		if err != nil {
			rows = nil // the newest without what is before them would be a gap
		}
		if err != nil && !away {
			fmt.Fprintf(l.notes, "weir: %v; trying again\n", err)
		}
		away = err != nil
	}
}

// begin fetches the events to begin with. What is behind them in the list is
// not new, though the next look finds it again.
func (l listing) begin(ctx context.Context, seen *seenEvents) ([]event, error) {
	rows, err := l.fetch(ctx, l.query, l.limit)
	if err != nil || len(rows) < l.limit {
		return rows, err
	}
	newest := seenEvents{newest: rows[0].value.ReceivedAt}
	again, err := l.fetch(ctx, newest.after(l.query), eventsMost)
	last := slices.IndexFunc(again, func(row event) bool { return row.value.ID == rows[len(rows)-1].value.ID })
	if last >= 0 {
		for _, row := range again[last+1:] {
			seen.add(row.value)
		}
	}
	return rows, err
}

// unlessEnded is nil for an error that comes of a stop.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// seenEvents remembers which of the newest events were printed.
type seenEvents struct {
	ids    map[webhook.ID]time.Time
	newest time.Time
}

// add reports whether an event is new.
func (s *seenEvents) add(e client.Event) bool {
	if _, known := s.ids[e.ID]; known {
		return false
	}
	if s.ids == nil {
		s.ids = map[webhook.ID]time.Time{}
	}
	s.ids[e.ID] = e.ReceivedAt
	if e.ReceivedAt.After(s.newest) {
		s.newest = e.ReceivedAt
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
	asked := maps.Clone(query)
	if !s.newest.IsZero() {
		asked.Set("since", s.newest.Add(-eventsOverlap).UTC().Format(time.RFC3339Nano))
	}
	return asked
}

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"weir/webhook"
)

// Events lists events with their deliveries, newest first by the time of
// receipt, without bodies and histories. A bad cursor is [webhook.ErrCursor].
//
// The key filter finds the event that has the key now and those kept beside it.
// A page looks at no more than a fixed number of rows; where a filter matches
// little of much it may be short, even empty, and still have a next cursor.
func (s *Store) Events(ctx context.Context, query webhook.EventQuery) (webhook.EventPage, error) {
	after, err := parseCursor(query.After, eventList)
	if err != nil {
		return webhook.EventPage{}, err
	}
	var page webhook.EventPage
	holders, err := s.keyOwners(ctx, query)
	if err == nil {
		err = s.reads.readTx(ctx, func(v readTx) (err error) {
			page, err = v.eventPage(query, after, holders)
			return err
		})
	}
	if err != nil {
		return webhook.EventPage{}, fmt.Errorf("listing events: %w", err)
	}
	return page, nil
}

// eventPage reads a page; where the query has a key, holders are the places of
// the events that have it.
func (tx readTx) eventPage(query webhook.EventQuery, after cursor, holders []int64) (webhook.EventPage, error) {
	limit := pageLimit(query.Limit)
	base := indexScan{within: newSpan(query.Since, query.Until).below(after.seq), limit: limit + 1}
	if query.Key != "" {
		return tx.eventsOf(scansByKey(query, base, holders), limit)
	}
	walks, err := tx.eventScans(query, after, base)
	if err != nil {
		return webhook.EventPage{}, err
	}
	return tx.eventsOf(walks, limit)
}

// eventsOf walks and reads what it comes by.
func (tx readTx) eventsOf(walks []indexScan, limit int) (webhook.EventPage, error) {
	places, rest, err := tx.seqs(walks)
	if err != nil {
		return webhook.EventPage{}, err
	}
	if len(places) > limit {
		places, rest = places[:limit], places[limit-1]
	}
	var page webhook.EventPage
	if rest > 0 {
		page.Next = cursor{seq: rest}.text(eventList)
	}
	page.Items = make([]webhook.EventDetail, len(places))
	for i, seq := range places {
		if page.Items[i], err = tx.summary(seq); err != nil {
			return webhook.EventPage{}, err
		}
	}
	return page, nil
}

// places walks and returns what it found, newest first and each place once,
// and the place below which not everything has been looked at. Each walk is in
// order, so the newest of all of them are the newest.
func (tx readTx) seqs(walks []indexScan) (places []int64, rest int64, err error) {
	for _, w := range walks {
		below, err := tx.scan(w, w.seq, func(rows *sql.Rows) error {
			var seq int64
			err := rows.Scan(&seq)
			places = append(places, seq)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		rest = max(rest, below)
	}
	places = slices.DeleteFunc(places, func(seq int64) bool { return seq < rest })
	slices.SortFunc(places, func(a, b int64) int { return cmp.Compare(b, a) })
	return slices.Compact(places), rest, nil
}

// eventWalks chooses the indexes that fit the query.
func (tx readTx) eventScans(query webhook.EventQuery, after cursor, base indexScan) ([]indexScan, error) {
	if query.State == webhook.Pending || query.State == webhook.Dead {
		if query.Source != "" {
			base.filter = base.filter.and(`e.source = +?`, query.Source)
		}
		return tx.unfinishedScans(base, after, query.State, query.Destination)
	}
	base.along, base.seq = alongEvents, `e.seq`
	if query.Source != "" {
		base.along = alongSource
		base.fixed = base.fixed.and(`e.source = +?`, query.Source)
	}
	base.filter = hasDelivery(query)
	return []indexScan{base}, nil
}

// holders finds the events that have the key of a query: of its source, or of
// every source that there is.
func (s *Store) keyOwners(ctx context.Context, query webhook.EventQuery) ([]int64, error) {
	if query.Key == "" {
		return nil, nil
	}
	sources := []string{query.Source}
	if query.Source == "" {
		var err error
		if sources, err = s.sources(ctx); err != nil {
			return nil, err
		}
	}
	var places []int64
	for _, source := range sources {
		seq, err := s.keyOwner(ctx, source, query.Key)
		if errors.Is(err, webhook.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		places = append(places, seq)
	}
	return places, nil
}

// sources lists every source that has an event.
func (s *Store) sources(ctx context.Context) (names []string, err error) {
	err = s.reads.readTx(ctx, func(v readTx) error {
		names, err = v.names(allSources)
		return err
	})
	return names, err
}

// walksByKey goes to the events that have the key, and to those kept beside
// them.
func scansByKey(query webhook.EventQuery, base indexScan, holders []int64) []indexScan {
	base.along, base.seq, base.filter = alongEvents, `e.seq`, hasDelivery(query)
	var walks []indexScan
	for _, seq := range holders {
		first, beside := base, base
		first.fixed = base.fixed.and(`e.seq = +?`, seq)
		beside.fixed = base.fixed.and(`e.conflict_of = (SELECT id FROM events WHERE seq = +?)`, seq)
		walks = append(walks, first, beside)
	}
	return walks
}

// hasDelivery is the condition that an event has a delivery with the query's
// state and destination, none where neither is asked for.
func hasDelivery(query webhook.EventQuery) conditions {
	if query.State == "" && query.Destination == "" {
		return nil
	}
	text := `EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = e.seq`
	var args []any
	if query.State != "" {
		text, args = text+` AND d.state = +?`, append(args, string(query.State))
	}
	if query.Destination != "" {
		text, args = text+` AND d.destination = +?`, append(args, query.Destination)
	}
	return conditions{{text + `)`, args}}
}

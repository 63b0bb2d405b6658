package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
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
	err = s.reads.view(ctx, func(v view) (err error) {
		page, err = v.eventPage(query, after)
		return err
	})
	if err != nil {
		return webhook.EventPage{}, fmt.Errorf("listing events: %w", err)
	}
	return page, nil
}

func (v view) eventPage(query webhook.EventQuery, after cursor) (webhook.EventPage, error) {
	limit := pageLimit(query.Limit)
	walks, err := v.eventWalks(query, after, walk{
		within: newSpan(query.Since, query.Until).below(after.seq),
		limit:  limit + 1,
	})
	if err != nil {
		return webhook.EventPage{}, err
	}
	places, rest, err := v.places(walks)
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
		if page.Items[i], err = v.summary(seq); err != nil {
			return webhook.EventPage{}, err
		}
	}
	return page, nil
}

// places walks and returns what it found, newest first and each place once,
// and the place below which not everything has been looked at. Each walk is in
// order, so the newest of all of them are the newest.
func (v view) places(walks []walk) (places []int64, rest int64, err error) {
	for _, w := range walks {
		below, err := v.walk(w, w.seq, func(rows *sql.Rows) error {
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
func (v view) eventWalks(query webhook.EventQuery, after cursor, base walk) ([]walk, error) {
	if query.Key != "" {
		return v.walksByKey(query, base)
	}
	if query.State == webhook.Pending || query.State == webhook.Dead {
		if query.Source != "" {
			base.filter = base.filter.and(`e.source = +?`, query.Source)
		}
		return v.unfinished(base, after, query.State, query.Destination)
	}
	base.along, base.seq = alongEvents, `e.seq`
	if query.Source != "" {
		base.along = alongSource
		base.fixed = base.fixed.and(`e.source = +?`, query.Source)
	}
	base.filter = hasDelivery(query)
	return []walk{base}, nil
}

// walksByKey looks the key's name up for the source, or for every source that
// there is.
func (v view) walksByKey(query webhook.EventQuery, base walk) ([]walk, error) {
	sources := []string{query.Source}
	if query.Source == "" {
		var err error
		if sources, err = v.names(allSources); err != nil {
			return nil, err
		}
	}
	base.along, base.seq, base.filter = alongEvents, `e.seq`, hasDelivery(query)
	var walks []walk
	for _, source := range sources {
		name, _ := dedupeNames(source, query.Key, [sha256.Size]byte{})
		first, beside := base, base
		first.fixed = base.fixed.and(`e.dedupe = +?`, name)
		beside.fixed = base.fixed.and(`e.conflict_of = (SELECT id FROM events WHERE dedupe = +?)`, name)
		walks = append(walks, first, beside)
	}
	return walks, nil
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

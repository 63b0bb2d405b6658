package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/webhook"
)

// Events lists events with their deliveries, newest first by the time of
// receipt, without bodies and histories. A bad cursor is [webhook.ErrCursor].
//
// The key filter finds the event that has the key now and those
// kept in addition to it.
// A page looks at no more than a fixed number of rows; where a filter matches
// little of much it may be short, even empty, and still have a next cursor.
func (s *Store) Events(ctx context.Context, query webhook.EventQuery) (webhook.EventPage, error) {
	after, err := parseCursor(query.After, eventList)
	if err != nil {
		return webhook.EventPage{}, err
	}
	var page webhook.EventPage
	owners, err := s.keyOwners(ctx, query)
	if err == nil {
		err = s.reads.readTx(ctx, func(tx readTx) (err error) {
			page, err = tx.eventPage(query, after, owners)
			return err
		})
	}
	if err != nil {
		return webhook.EventPage{}, fmt.Errorf("listing events: %w", err)
	}
	return page, nil
}

// eventPage reads a page; where the query has a key, owners are the seqs of
// the events that have it.
func (tx readTx) eventPage(query webhook.EventQuery, after cursor, owners []int64) (webhook.EventPage, error) {
	limit := pageLimit(query.Limit)
	base := indexScan{bodies: query.Contains != "", within: newSpan(query.Since, query.Until).below(after.seq), limit: limit + 1}
	if query.Key != "" {
		return tx.eventsOf(scansByKey(query, base, owners), limit)
	}
	scans, err := tx.eventScans(query, after, base)
	if err != nil {
		return webhook.EventPage{}, err
	}
	return tx.eventsOf(scans, limit)
}

// eventsOf runs the scans and reads the events that they find.
func (tx readTx) eventsOf(scans []indexScan, limit int) (webhook.EventPage, error) {
	seqs, rest, err := tx.seqs(scans)
	if err != nil {
		return webhook.EventPage{}, err
	}
	if len(seqs) > limit {
		seqs, rest = seqs[:limit], seqs[limit-1]
	}
	var page webhook.EventPage
	if rest > 0 {
		page.Next = cursor{seq: rest}.text(eventList)
		if len(seqs) < limit {
			page.SearchedTo = timeOfSeq(rest)
		}
	}
	page.Items = make([]webhook.EventDetail, len(seqs))
	for i, seq := range seqs {
		if page.Items[i], err = tx.summary(seq); err != nil {
			return webhook.EventPage{}, err
		}
	}
	return page, nil
}

// seqs runs the scans and returns what they found, newest first and each seq
// once, and the seq below which not everything has been read. Each scan is in
// order, so the newest of all of them are the newest.
func (tx readTx) seqs(scans []indexScan) (seqs []int64, rest int64, err error) {
	for _, w := range scans {
		below, err := tx.scan(w, w.seq, func(rows *sql.Rows) error {
			var seq int64
			err := rows.Scan(&seq)
			seqs = append(seqs, seq)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		rest = max(rest, below)
	}
	seqs = slices.DeleteFunc(seqs, func(seq int64) bool { return seq < rest })
	slices.SortFunc(seqs, func(a, b int64) int { return cmp.Compare(b, a) })
	return slices.Compact(seqs), rest, nil
}

// eventWalks chooses the indexes that fit the query.
func (tx readTx) eventScans(query webhook.EventQuery, after cursor, base indexScan) ([]indexScan, error) {
	if query.State == webhook.Pending || query.State == webhook.Dead {
		base.filter = ofContent(query)
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
	base.filter = slices.Concat(hasDelivery(query), ofContent(query))
	return []indexScan{base}, nil
}

// keyOwners finds the events that have the key of a query: of its source, or of
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
	var seqs []int64
	for _, source := range sources {
		seq, err := s.keyOwner(ctx, source, query.Key)
		if errors.Is(err, webhook.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, nil
}

// sources lists every source that has an event.
func (s *Store) sources(ctx context.Context) (names []string, err error) {
	err = s.reads.readTx(ctx, func(tx readTx) error {
		names, err = tx.names(allSources)
		return err
	})
	return names, err
}

// scansByKey finds the events that have the key, and those kept in addition to
// them.
func scansByKey(query webhook.EventQuery, base indexScan, owners []int64) []indexScan {
	base.along, base.seq, base.filter = alongEvents, `e.seq`, slices.Concat(hasDelivery(query), ofContent(query))
	var scans []indexScan
	for _, seq := range owners {
		first, kept := base, base
		first.fixed = base.fixed.and(`e.seq = +?`, seq)
		kept.fixed = base.fixed.and(`e.conflict_of = (SELECT id FROM events WHERE seq = +?)`, seq)
		scans = append(scans, first, kept)
	}
	return scans
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

// ofContent is the condition that an event has the query's type, and its body the
// query's text.
func ofContent(query webhook.EventQuery) conditions {
	list := ofType(query)
	if query.Contains != "" {
		list = list.and(`EXISTS (SELECT 1 FROM payloads p WHERE p.seq = e.seq AND instr(p.body, +?) > 0)`, []byte(query.Contains))
	}
	return list
}

// ofType is the condition that an event has the query's type, none where any
// will do.
func ofType(query webhook.EventQuery) conditions {
	if query.Type == "" {
		return nil
	}
	// What GLOB knows beside the star stands for itself.
	pattern := strings.NewReplacer("?", "[?]", "[", "[[]").Replace(query.Type)
	return conditions{}.and(`e.type GLOB +?`, pattern)
}

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"weir/webhook"
)

// Deliveries lists deliveries, newest first by the time of receipt; those of
// one event by destination. A bad cursor is [webhook.ErrCursor]. As with
// [Store.Events] a page may be short and still have a next cursor.
func (s *Store) Deliveries(ctx context.Context, query webhook.DeliveryQuery) (webhook.DeliveryPage, error) {
	after, err := parseCursor(query.After, deliveryList)
	if err != nil {
		return webhook.DeliveryPage{}, err
	}
	query, possible := implied(query)
	if !possible {
		return webhook.DeliveryPage{}, nil
	}
	var page webhook.DeliveryPage
	err = s.reads.readTx(ctx, func(tx readTx) (err error) {
		page, err = tx.deliveryPage(query, after)
		return err
	})
	if err != nil {
		return webhook.DeliveryPage{}, fmt.Errorf("listing deliveries: %w", err)
	}
	return page, nil
}

// implied writes out what other filters say about the state, and reports
// whether anything can match: only dead deliveries have a reason, and only
// pending ones are due.
func implied(query webhook.DeliveryQuery) (webhook.DeliveryQuery, bool) {
	demand := func(state webhook.State) bool {
		fits := query.State == "" || query.State == state
		query.State = state
		return fits
	}
	possible := (query.Reason == "" || demand(webhook.Dead)) &&
		(query.Due == webhook.DueAny || demand(webhook.Pending))
	return query, possible
}

// placedDelivery is a delivery with its seq.
type placedDelivery struct {
	seq      int64
	delivery webhook.Delivery
}

func (tx readTx) deliveryPage(query webhook.DeliveryQuery, after cursor) (webhook.DeliveryPage, error) {
	limit := pageLimit(query.Limit)
	scans, err := tx.deliveryScans(query, after, indexScan{
		within: newSpan(query.Since, query.Until),
		limit:  limit + 1 + len(query.Except),
	})
	if err != nil {
		return webhook.DeliveryPage{}, err
	}
	items, rest, err := tx.placedDeliveries(scans)
	if err != nil {
		return webhook.DeliveryPage{}, err
	}
	items = slices.DeleteFunc(items, func(p placedDelivery) bool {
		return slices.Contains(query.Except, p.delivery.EventID)
	})
	goOn := cursor{seq: rest}
	if len(items) > limit {
		items = items[:limit]
		goOn = cursor{items[limit-1].seq, items[limit-1].delivery.Destination}
	}
	page := webhook.DeliveryPage{Items: mapped(items, func(p placedDelivery) webhook.Delivery { return p.delivery })}
	if goOn.seq > 0 {
		page.Next = goOn.text(deliveryList)
	}
	return page, nil
}

// placedDeliveries runs the scans and returns what they found in the order of
// the list, and the seq below which not everything has been read.
func (tx readTx) placedDeliveries(scans []indexScan) (items []placedDelivery, rest int64, err error) {
	for _, w := range scans {
		below, err := tx.scan(w, `d.seq, `+deliveryColumns, func(rows *sql.Rows) error {
			var seq int64
			var row deliveryRow
			err := rows.Scan(append([]any{&seq}, row.dest()...)...)
			items = append(items, placedDelivery{seq, row.read()})
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		rest = max(rest, below)
	}
	items = slices.DeleteFunc(items, func(p placedDelivery) bool { return p.seq < rest })
	slices.SortFunc(items, func(a, b placedDelivery) int {
		return cmp.Or(cmp.Compare(b.seq, a.seq), cmp.Compare(a.delivery.Destination, b.delivery.Destination))
	})
	return items, rest, nil
}

// deliveryWalks chooses the indexes that fit the query.
func (tx readTx) deliveryScans(query webhook.DeliveryQuery, after cursor, base indexScan) ([]indexScan, error) {
	base.ties = `, d.destination`
	if query.Only != nil {
		return only(query, after, base), nil
	}
	if query.State == webhook.Pending || query.State == webhook.Dead {
		state, destination := query.State, query.Destination
		query.State, query.Destination = "", ""
		base.filter = deliveryFilter(query)
		return tx.unfinishedScans(base, after, state, destination)
	}
	base.along, base.join, base.seq = alongDeliveries, joinEvents, `d.seq`
	if query.Source != "" {
		base.along, base.join, base.seq = alongSource, joinDeliveries, `e.seq`
		base.fixed = base.fixed.and(`e.source = +?`, query.Source)
		query.Source = ""
	}
	base.filter = deliveryFilter(query)
	return []indexScan{behind(base, after)}, nil
}

// only returns a scan for each of the requested events.
func only(query webhook.DeliveryQuery, after cursor, base indexScan) []indexScan {
	base.along, base.join, base.seq = alongEvents, joinDeliveries, `e.seq`
	base.filter = deliveryFilter(query)
	var scans []indexScan
	for _, id := range query.Only {
		w := base
		w.fixed = base.fixed.and(`e.id = +?`, id[:])
		scans = append(scans, behind(w, after))
	}
	return scans
}

// behind returns the scan from a cursor on, where it meets all destinations of
// an event.
func behind(w indexScan, after cursor) indexScan {
	if after.destination == "" {
		w.within = w.within.below(after.seq)
		return w
	}
	w.within = w.within.below(after.seq + 1)
	w.filter = w.filter.and(`(d.seq < ? OR d.destination > ?)`, after.seq, after.destination)
	return w
}

// deliveryFilter is what the query asks of each delivery.
func deliveryFilter(query webhook.DeliveryQuery) conditions {
	var c conditions
	for _, equal := range []struct{ column, value string }{
		{`d.state`, string(query.State)},
		{`d.reason`, string(query.Reason)},
		{`d.destination`, query.Destination},
		{`e.source`, query.Source},
	} {
		if equal.value != "" {
			c = c.and(equal.column+` = +?`, equal.value)
		}
	}
	switch query.Due {
	case webhook.DueNow:
		c = c.and(`d.next_at <= ?`, query.DueAt.UnixMilli())
	case webhook.DueLater:
		c = c.and(`d.next_at > ?`, query.DueAt.UnixMilli())
	}
	return c
}

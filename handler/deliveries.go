package handler

import (
	"context"
	"net/http"
	"slices"

	"weir/webhook"
)

// listDeliveries is GET /v1/deliveries.
func (h *api) listDeliveries(r *http.Request) (result, error) {
	f := queryFields(r.URL.RawQuery, append(slices.Clone(filterNames), "limit", "cursor")...)
	selected := deliverySelection(f)
	selected.query.Limit, selected.query.After = f.limit(), f.text("cursor")
	if f.err != nil {
		return result{}, f.err
	}
	views := h.viewer()
	found, err := h.selectDeliveries(r.Context(), selected, views)
	if err != nil {
		return result{}, err
	}
	items := make([]deliveryView, 0, len(found.Items))
	for _, delivery := range found.Items {
		items = append(items, views.listed(delivery))
	}
	return ok(page{Items: items, NextCursor: orNull(found.Next)})
}

// selectDeliveries returns one page of a selection. What a delivery waits for
// is not stored, it follows from its destination's gates: such a list goes
// through one destination after the other.
func (h *api) selectDeliveries(ctx context.Context, s selection, at *viewer) (webhook.DeliveryPage, error) {
	if h.config.Deliveries == nil {
		return webhook.DeliveryPage{}, missing("a store")
	}
	if s.waitingFor == "" {
		return h.config.Deliveries.Deliveries(ctx, s.query)
	}
	current, place, err := splitCursor(s.query.After)
	if err != nil {
		return webhook.DeliveryPage{}, err
	}
	names, err := h.from(s.query.Destination, current)
	if err != nil {
		return webhook.DeliveryPage{}, err
	}
	return h.eachDestination(ctx, s, names, walk{place: place, at: at})
}

// walk is where a list that goes through destinations stands.
type walk struct {
	place string
	at    *viewer
}

// eachDestination fills a page from the named destinations in turn.
func (h *api) eachDestination(ctx context.Context, s selection, names []string, w walk) (webhook.DeliveryPage, error) {
	var found webhook.DeliveryPage
	for i, name := range names {
		query := s.query
		query.Destination, query.After = name, w.place
		query.Limit = s.query.Limit - len(found.Items)
		w.place = ""
		query, possible := narrow(query, s.waitingFor, w.at)
		if !possible {
			continue
		}
		part, err := h.config.Deliveries.Deliveries(ctx, query)
		if err != nil {
			return webhook.DeliveryPage{}, err
		}
		found.Items = append(found.Items, w.at.keep(part.Items, s.waitingFor)...)
		if part.Next != "" {
			found.Next = joinCursor(name, part.Next)
			return found, nil
		}
		if len(found.Items) >= s.query.Limit && i+1 < len(names) {
			found.Next = joinCursor(names[i+1], "")
			return found, nil
		}
	}
	return found, nil
}

// names lists the destinations, with those that were ones before.
func (h *api) names() []string {
	names := make([]string, 0, len(h.config.Downstreams))
	for _, downstream := range h.config.Downstreams {
		names = append(names, downstream.Name)
	}
	return append(names, h.config.Former...)
}

// from returns the destinations to go through, from the one that a cursor
// names on.
func (h *api) from(only, current string) ([]string, error) {
	names := slices.DeleteFunc(h.names(), func(name string) bool { return only != "" && name != only })
	if current == "" {
		return names, nil
	}
	at := slices.Index(names, current)
	if at < 0 {
		return nil, webhook.ErrCursor
	}
	return names[at:], nil
}

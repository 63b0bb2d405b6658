package handler

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"weir/webhook"
)

// listEvents is GET /v1/events.
func (h *api) listEvents(r *http.Request) (result, error) {
	query, err := eventQuery(r.URL.RawQuery)
	if err != nil {
		return result{}, err
	}
	if h.config.Events == nil {
		return result{}, missing("a store")
	}
	found, err := h.config.Events.Events(r.Context(), query)
	if err != nil {
		return result{}, err
	}
	views := h.viewer()
	items := make([]eventView, 0, len(found.Items))
	for _, detail := range found.Items {
		items = append(items, views.event(detail))
	}
	answer := page{Items: items, NextCursor: orNull(found.Next)}
	if !found.SearchedTo.IsZero() {
		to := stamp(found.SearchedTo)
		answer.SearchedBackTo = &to
	}
	return ok(answer)
}

// event is GET /v1/events/{id}.
func (h *api) event(r *http.Request) (result, error) {
	id, err := eventID(r)
	if err != nil {
		return result{}, err
	}
	if h.config.Events == nil {
		return result{}, missing("a store")
	}
	detail, err := h.config.Events.Event(r.Context(), id)
	if err != nil {
		return result{}, err
	}
	return ok(h.viewer().withAttempts(detail))
}

// eventByKey is GET /v1/sources/{source}/events/{key}. A key may have slashes,
// as they are or encoded.
func (h *api) eventByKey(r *http.Request) (result, error) {
	key := chi.URLParam(r, "*")
	if r.URL.RawPath != "" {
		decoded, err := url.PathUnescape(key)
		if err != nil {
			return result{}, badRequest("The key in the path is not encoded as a path's part is.")
		}
		key = decoded
	}
	if h.config.Events == nil {
		return result{}, missing("a store")
	}
	if key == "" {
		return result{}, webhook.ErrNotFound
	}
	detail, err := h.config.Events.EventByKey(r.Context(), chi.URLParam(r, "source"), key)
	if err != nil {
		return result{}, err
	}
	return ok(h.viewer().withAttempts(detail))
}

// body is GET /v1/events/{id}/body. The bytes are a stranger's: a browser must
// save them and never show them.
func (h *api) body(w http.ResponseWriter, r *http.Request) {
	body, err := h.readEventBody(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", `attachment; filename="`+chi.URLParam(r, "id")+`.bin"`)
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

func (h *api) readEventBody(r *http.Request) ([]byte, error) {
	if err := queryFields(r.URL.RawQuery).err; err != nil {
		return nil, err
	}
	id, err := eventID(r)
	if err != nil {
		return nil, err
	}
	if h.config.Bodies == nil || h.config.Events == nil {
		return nil, missing("a store")
	}
	detail, err := h.config.Events.Event(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if detail.Event.BodyGone {
		return nil, fault{http.StatusGone, CodeGone, "The body's retention has passed."}
	}
	return h.config.Bodies.Body(r.Context(), id)
}

// eventID reads the id in the path. What is not an id names no event.
func eventID(r *http.Request) (webhook.ID, error) {
	id, err := webhook.ParseID(chi.URLParam(r, "id"))
	if err != nil {
		return id, webhook.ErrNotFound
	}
	return id, nil
}

package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/webhook"
)

// accepted is a result that will take effect later.
func accepted(value any) (result, error) { return result{http.StatusAccepted, value}, nil }

// changed is the answer to a change of one delivery.
type changed struct {
	EventID     webhook.ID    `json:"event_id"`
	Destination string        `json:"destination"`
	State       webhook.State `json:"state"`
}

// redeliver is POST /v1/events/{id}/deliveries/{destination}/redeliver.
func (h *api) redeliver(r *http.Request) (result, error) {
	id, err := eventID(r)
	if err != nil {
		return result{}, err
	}
	var options struct {
		Force bool `json:"force"`
	}
	if err := readJSON(r, &options); err != nil {
		return result{}, err
	}
	if h.config.Operator == nil {
		return result{}, missing("a store")
	}
	name := chi.URLParam(r, "destination")
	err = h.config.Operator.Redeliver(r.Context(), webhook.Redelivery{
		EventID: id, Destination: name, Force: options.Force, At: webhook.Ceil(time.Now()),
	})
	if err != nil {
		return result{}, err
	}
	h.config.Wake(name)
	return accepted(changed{id, name, webhook.Pending})
}

// cancel is POST /v1/events/{id}/deliveries/{destination}/cancel.
func (h *api) cancel(r *http.Request) (result, error) {
	id, err := eventID(r)
	if err != nil {
		return result{}, err
	}
	if err := readJSON(r, &struct{}{}); err != nil {
		return result{}, err
	}
	if h.config.Operator == nil {
		return result{}, missing("a store")
	}
	name := chi.URLParam(r, "destination")
	if err := h.config.Operator.Cancel(r.Context(), id, name, webhook.Ceil(time.Now())); err != nil {
		return result{}, err
	}
	return accepted(changed{id, name, webhook.Dead})
}

// bulk is the body of POST /v1/redeliver.
type bulk struct {
	// Filter has the names of the query of GET /v1/deliveries. It must be
	// there, though it may be empty: whoever forgets it wants something else.
	Filter *map[string]string `json:"filter"`
	DryRun bool               `json:"dry_run"`
	Force  bool               `json:"force"`
}

// bulkResult says what a bulk redelivery found and did.
type bulkResult struct {
	DryRun  bool `json:"dry_run"`
	Matched int  `json:"matched"`
	// Redelivered are pending again; Skipped were refused by their state, or
	// would be as far as a dry run can tell.
	Redelivered int `json:"redelivered"`
	Skipped     int `json:"skipped"`
	// More says that Matched has reached its bound: ask again for the rest.
	More bool `json:"more"`
}

// The bounds of a bulk redelivery.
const (
	bulkMost     = 10_000
	bulkTogether = 16
	// bulkSpacing spreads the first attempts; the destination's own gates
	// come on top.
	bulkSpacing = 50 * time.Millisecond
)

// redeliverMany is POST /v1/redeliver.
func (h *api) redeliverMany(r *http.Request) (result, error) {
	var ask bulk
	if err := readJSON(r, &ask); err != nil {
		return result{}, err
	}
	selected, err := ask.selection()
	if err != nil {
		return result{}, err
	}
	if h.config.Operator == nil {
		return result{}, missing("a store")
	}
	found, err := h.redeliverAll(r.Context(), ask, selected)
	if err != nil {
		return result{}, err
	}
	if ask.DryRun {
		return ok(found)
	}
	h.config.Wake(h.names()...)
	return accepted(found)
}

// selection reads the filter; without a state it selects what is dead.
func (b bulk) selection() (selection, error) {
	if b.Filter == nil {
		return selection{}, badRequest("The body must have a filter; {} selects everything that is dead.")
	}
	f := &fields{of: "filter", values: map[string]string{}}
	for name, value := range *b.Filter {
		f.known(name, filterNames)
		f.set(name, value)
	}
	selected := deliverySelection(f)
	if selected.query.State == "" {
		selected.query.State = webhook.Dead
	}
	selected.query.Limit = webhook.MaxPage
	return selected, f.err
}

// redeliverAll goes through a selection page by page.
func (h *api) redeliverAll(ctx context.Context, ask bulk, selected selection) (bulkResult, error) {
	done := bulkResult{DryRun: ask.DryRun}
	start := time.Now()
	views := h.viewer()
	for {
		found, err := h.selectDeliveries(ctx, selected, views)
		if err != nil {
			return done, err
		}
		if ask.DryRun {
			done.Skipped += ask.unsendable(found.Items)
		} else {
			at := start.Add(time.Duration(done.Matched) * bulkSpacing)
			if err := h.redeliverPage(ctx, ask, found.Items, pageOf{at: at, done: &done}); err != nil {
				return done, err
			}
		}
		done.Matched += len(found.Items)
		if found.Next == "" {
			return done, nil
		}
		if done.Matched >= bulkMost {
			done.More = true
			return done, nil
		}
		selected.query.After = found.Next
	}
}

// unsendable counts what the store would refuse to send again. Bodies that
// retention has removed are found only when it is tried.
func (b bulk) unsendable(items []webhook.Delivery) int {
	n := 0
	for _, d := range items {
		if !b.Force && (d.State == webhook.Delivered || d.Reason == webhook.DeadTooLarge) {
			n++
		}
	}
	return n
}

// pageOf says when a page's first attempts may go and where to count.
type pageOf struct {
	at   time.Time
	done *bulkResult
}

// redeliverPage redelivers one page, several together so that they share a
// commit.
func (h *api) redeliverPage(ctx context.Context, ask bulk, items []webhook.Delivery, p pageOf) error {
	errs := make([]error, len(items))
	slots := make(chan struct{}, bulkTogether)
	var group sync.WaitGroup
	for i, delivery := range items {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = h.config.Operator.Redeliver(ctx, webhook.Redelivery{
				EventID: delivery.EventID, Destination: delivery.Destination, Force: ask.Force,
				At: webhook.Ceil(p.at.Add(time.Duration(i) * bulkSpacing)),
			})
		})
	}
	group.Wait()
	for _, err := range errs {
		switch {
		case err == nil:
			p.done.Redelivered++
		case errors.Is(err, webhook.ErrState), errors.Is(err, webhook.ErrNotFound):
			p.done.Skipped++
		default:
			return err
		}
	}
	return nil
}

// maxOperatorBody bounds what an operator may send.
const maxOperatorBody = 64 << 10

// readJSON reads the one JSON object of an operator's request. An empty body
// is as good as {}.
func readJSON(r *http.Request, into any) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxOperatorBody+1))
	if err != nil {
		return badRequest("The body broke off.")
	}
	if len(body) > maxOperatorBody {
		return fault{http.StatusRequestEntityTooLarge, CodeTooLarge, "The body is too large."}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return badRequest("The body must be a JSON object with the documented members.")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return badRequest("The body must be one JSON object and nothing else.")
	}
	return nil
}

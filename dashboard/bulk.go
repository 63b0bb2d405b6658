package dashboard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir/webhook"
)

// bulkSpacing spreads the first attempts of a bulk redelivery; the
// destination's own gates come on top.
const bulkSpacing = 50 * time.Millisecond

// bulkTogether is how many redeliveries wait for a commit together.
const bulkTogether = 16

// redeliverBulk is POST /dead/redeliver. Asked twice it finds nothing the
// second time.
func (d *Dashboard) redeliverBulk(v visit) (string, error) {
	query, err := selected(v.PostForm)
	if err != nil {
		return "", err
	}
	if d.config.Operator == nil || !d.serves(query.Destination) {
		return "", webhook.ErrNotFound
	}
	job := bulk{operator: d.config.Operator, start: v.now, template: webhook.Redelivery{
		Destination: query.Destination, Force: v.PostForm.Get("force") == "yes",
	}}
	more, err := d.eachDead(v.Context(), query, func(list []webhook.Delivery) error {
		return job.redeliver(v.Context(), list)
	})
	d.config.Wake(query.Destination)
	switch {
	case err != nil:
		return "", err
	case more:
		return "/dead?done=redelivered-some", nil
	case job.done == 0:
		return "/dead?done=nothing", nil
	default:
		return "/dead?done=redelivered", nil
	}
}

// bulk is a redelivery of many.
type bulk struct {
	operator Operator
	start    time.Time
	template webhook.Redelivery
	// done counts those that are pending again, seen all.
	done int
	seen int
}

// redeliver takes one page of deliveries.
func (b *bulk) redeliver(ctx context.Context, list []webhook.Delivery) error {
	errs := make([]error, len(list))
	slots := make(chan struct{}, bulkTogether)
	var group sync.WaitGroup
	for i, delivery := range list {
		request := b.template
		request.EventID = delivery.EventID
		request.At = webhook.Ceil(b.start.Add(time.Duration(b.seen+i) * bulkSpacing))
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = b.operator.Redeliver(ctx, request)
		})
	}
	group.Wait()
	b.seen += len(list)
	for _, err := range errs {
		switch {
		case err == nil:
			b.done++
		case errors.Is(err, webhook.ErrState), errors.Is(err, webhook.ErrNotFound):
			// It changed while the page was open.
		default:
			return fmt.Errorf("redelivery of many: %w", err)
		}
	}
	return nil
}

package dispatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weir/webhook"
)

// readAhead is how many due deliveries are read at once beyond those that may
// be in flight.
const readAhead = 64

// queue is one kind of due work of one destination, read ahead. It belongs to
// the loop that reads it.
type queue struct {
	which webhook.DueWhich
	ready []webhook.Delivery
	// next is when more is known to fall due; zero when nothing is.
	next time.Time
	// unread says that the table may hold due work that was not read.
	unread bool
	// outdated says that what was read may no longer be the first of it.
	outdated bool
}

// backlog is the due work of one destination, as one owner reads it: the
// destination's own owner, or that of its fallback.
type backlog struct {
	// source is the owner of the destination that the deliveries are for.
	source  *owner
	firsts  queue
	retries queue
	newest  queue
	express expressOrder
}

func newBacklog(source *owner) *backlog {
	return &backlog{
		source:  source,
		firsts:  queue{which: webhook.Firsts, unread: true},
		retries: queue{which: webhook.Retries, unread: true},
		newest:  queue{which: webhook.NewestFirsts, unread: true},
	}
}

// pick chooses the delivery for a slot: of those that the retry budget allows,
// the longest due; for an express slot the newest.
func (o *owner) pick(ctx context.Context, b *backlog, s slot) (webhook.Delivery, bool, error) {
	now := webhook.Floor(time.Now())
	allowed := o.budget(now)
	if s == expressSlot {
		return o.pickNewest(ctx, b, allowed, now)
	}
	if s == probeSlot {
		return o.pickProbe(ctx, b, allowed, now)
	}
	var best webhook.Delivery
	found := false
	for _, q := range allowed.queues(b) {
		delivery, ok, err := o.head(ctx, b, q, allowed)
		if err != nil {
			return best, false, err
		}
		if ok && (!found || delivery.NextAttemptAt.Before(best.NextAttemptAt)) {
			best, found = delivery, true
		}
	}
	return best, found, nil
}

// pickProbe chooses the delivery that tests a hold or the breaker. Probes take
// turns: never the last one again while there is another, and what was never
// attempted first. Where a hold presumes a fault, the probe is a witness:
// another event than the refused one, of another source where there is one.
func (o *owner) pickProbe(ctx context.Context, b *backlog, allowed budget, now time.Time) (webhook.Delivery, bool, error) {
	d := o.gates()
	witness := Check(d, o.policy, now).Witness
	var candidates []webhook.Delivery
	firsts := &b.firsts
	if underSameRefusal(d) {
		firsts = &b.newest // the oldest are like those that were refused
	}
	for _, q := range []*queue{firsts, &b.retries} {
		q.unread, q.outdated = true, true
		if err := b.read(ctx, q, now); err != nil {
			return webhook.Delivery{}, false, err
		}
		q.rotate(d.LastProbed)
		for _, delivery := range q.ready {
			inBudget := allowed.retries || allowed.firsts && o.isFirst(delivery)
			if inBudget && o.canSend(b, delivery) && (!witness || isWitness(d, delivery)) {
				candidates = append(candidates, delivery)
			}
		}
	}
	if len(candidates) == 0 {
		return webhook.Delivery{}, false, nil
	}
	return slices.MinFunc(candidates, func(a, b webhook.Delivery) int { return turn(d, a) - turn(d, b) }), true, nil
}

// turn is the place of a delivery among the candidates for a probe.
func turn(d webhook.Destination, delivery webhook.Delivery) int {
	switch suspicion := d.Suspicion; {
	case delivery.EventID == d.LastProbed:
		return 3
	case slices.Contains(d.Doubted, delivery.EventID):
		return 2
	case suspicion.Reason != "" && delivery.Source == suspicion.Source:
		return 1
	}
	return 0
}

// pickNewest chooses the delivery for an express slot.
func (o *owner) pickNewest(ctx context.Context, b *backlog, allowed budget, now time.Time) (webhook.Delivery, bool, error) {
	b.express.olderAt = time.Time{}
	if !allowed.firsts {
		return webhook.Delivery{}, false, nil
	}
	d, found, err := o.head(ctx, b, &b.newest, allowed)
	if err != nil || !found || !b.express.admit(d, o.policy.Slots(o.gates()), now) {
		return webhook.Delivery{}, false, err
	}
	return d, true, nil
}

// budget says which kinds of requests the retry budget allows.
type budget struct {
	firsts  bool
	retries bool
}

// budget asks the retry budget. First sends may always go, except that after a
// crash the first few may have to count as retries.
func (o *owner) budget(now time.Time) budget {
	o.mu.Lock()
	defer o.mu.Unlock()
	open := o.retriesOpen(now).IsZero()
	return budget{firsts: open || !o.possiblySent.counts(now), retries: open}
}

// queues lists the queues of a backlog that may be served.
func (a budget) queues(b *backlog) []*queue {
	var list []*queue
	if a.retries {
		list = append(list, &b.retries)
	}
	if a.firsts {
		list = append(list, &b.firsts)
	}
	return list
}

// head returns the next delivery of a queue that is not in flight and that this
// owner can send now. It leaves the delivery in the queue. A first send that may
// be the repeat of one which a crash has interrupted needs the retry budget.
func (o *owner) head(ctx context.Context, b *backlog, q *queue, allowed budget) (webhook.Delivery, bool, error) {
	if err := b.read(ctx, q, webhook.Floor(time.Now())); err != nil {
		return webhook.Delivery{}, false, err
	}
	for len(q.ready) > 0 && b.source.isClaimed(q.ready[0].EventID) {
		q.ready = q.ready[1:]
	}
	for _, delivery := range q.ready {
		if !b.source.isClaimed(delivery.EventID) && o.canSend(b, delivery) && (allowed.retries || o.isFirst(delivery)) {
			return delivery, true, nil
		}
	}
	return webhook.Delivery{}, false, nil
}

// canSend reports whether the byte budget has room for a delivery. One that is
// borrowed and too large for this destination waits for its own.
func (o *owner) canSend(b *backlog, d webhook.Delivery) bool {
	borrowed := b.source != o
	return !(borrowed && o.tooLarge(d)) && o.bytes.fits(d.Size)
}

// read fills a queue that is empty or outdated if the table may hold something
// for it.
func (b *backlog) read(ctx context.Context, q *queue, now time.Time) error {
	due := !q.next.IsZero() && !q.next.After(now)
	if len(q.ready) > 0 && !q.outdated || !q.unread && !due {
		return nil
	}
	limit := readAhead + 2*b.source.policy.Concurrency
	list, err := b.source.queue.Due(ctx, webhook.DueQuery{
		Destination: b.source.policy.Name, Now: now, Limit: limit, Which: q.which,
	})
	if err != nil {
		return fmt.Errorf("list what is due for %s: %w", b.source.policy.Name, err)
	}
	q.ready, q.next = b.source.notClaimed(list.Deliveries), list.Next
	q.unread, q.outdated = len(list.Deliveries) == limit, false
	return nil
}

// refresh notes that anything may have become due. Then the newest that was
// read is not the newest any more.
func (b *backlog) refresh() {
	b.firsts.unread, b.retries.unread, b.newest.unread = true, true, true
	b.newest.outdated = true
}

// remove takes a delivery out of every queue.
func (b *backlog) remove(id webhook.ID) {
	for _, q := range []*queue{&b.firsts, &b.retries, &b.newest} {
		switch i := slices.IndexFunc(q.ready, func(d webhook.Delivery) bool { return d.EventID == id }); {
		case i == 0:
			q.ready = q.ready[1:]
		case i > 0:
			q.ready = slices.Delete(q.ready, i, i+1)
		}
	}
}

// rotate moves the deliveries up to and including the last probed one behind
// the others, so that probes go through everything that waits.
func (q *queue) rotate(last webhook.ID) {
	for i, delivery := range q.ready {
		if delivery.EventID == last {
			q.ready = append(q.ready[i+1:len(q.ready):len(q.ready)], q.ready[:i+1]...)
			return
		}
	}
}

// nextDue returns when more falls due after now; zero for never. A delivery
// that is due already and was not sent waits for something else.
func (b *backlog) nextDue(now time.Time) time.Time {
	var next time.Time
	for _, at := range []time.Time{b.firsts.next, b.retries.next, b.express.olderAt} {
		if at.After(now) {
			next = sooner(next, at)
		}
	}
	return next
}

// sooner returns the earlier of two moments, where zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

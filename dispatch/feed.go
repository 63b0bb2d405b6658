package dispatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weir/webhook"
)

// lookAhead is how many due deliveries are read at once beyond those that may
// be in flight.
const lookAhead = 64

// lane is one kind of due work of one destination, read ahead. It belongs to
// the loop that reads it.
type lane struct {
	which webhook.DueWhich
	ready []webhook.Delivery
	// next is when more is known to fall due; zero when nothing is.
	next time.Time
	// unread says that the table may hold due work that was not read.
	unread bool
	// outdated says that what was read may no longer be the first of it.
	outdated bool
}

// feed is the due work of one destination, as one owner reads it: the
// destination's own, or the host that it falls back on.
type feed struct {
	home    *owner
	firsts  lane
	retries lane
	newest  lane
	// latest is when the newest that an express slot had fell due, and
	// olderAt when one that is older may have it.
	latest  time.Time
	olderAt time.Time
}

func newFeed(home *owner) *feed {
	return &feed{
		home:    home,
		firsts:  lane{which: webhook.Firsts, unread: true},
		retries: lane{which: webhook.Retries, unread: true},
		newest:  lane{which: webhook.NewestFirsts, unread: true},
	}
}

// refresh notes that anything may have become due. Then the newest that was
// read is not the newest any more.
func (f *feed) refresh() {
	f.firsts.unread, f.retries.unread, f.newest.unread = true, true, true
	f.newest.outdated = true
}

// head returns the next delivery of a lane that is not in flight and that the
// reader can send now, leaving it in the lane.
func (f *feed) head(ctx context.Context, l *lane, reader *owner) (webhook.Delivery, bool, error) {
	if err := f.read(ctx, l, webhook.Floor(time.Now())); err != nil {
		return webhook.Delivery{}, false, err
	}
	for len(l.ready) > 0 && f.home.flies(l.ready[0].EventID) {
		l.ready = l.ready[1:]
	}
	for _, delivery := range l.ready {
		if f.home.flies(delivery.EventID) {
			continue
		}
		// What is too large for a fallback waits for its own destination.
		guest := f.home != reader && reader.tooLarge(delivery)
		if !guest && reader.room.fits(delivery.Size) {
			return delivery, true, nil
		}
	}
	return webhook.Delivery{}, false, nil
}

// express returns the delivery for an express slot: the newest. One that is
// older than what such a slot has had before stood nearer to what hangs, and
// gets it only after nothing newer has come in for a while.
func (f *feed) express(ctx context.Context, reader *owner, now time.Time) (webhook.Delivery, bool, error) {
	f.olderAt = time.Time{}
	d, found, err := f.head(ctx, &f.newest, reader)
	if err != nil || !found {
		return webhook.Delivery{}, false, err
	}
	if f.latest.After(now) { // the clock was set back
		f.latest = now
	}
	if calm := f.latest.Add(expressCalm); reader.guarded() && d.NextAttemptAt.Before(f.latest) && now.Before(calm) {
		f.olderAt = calm
		return webhook.Delivery{}, false, nil
	}
	f.latest = webhook.Later(f.latest, d.NextAttemptAt)
	return d, true, nil
}

// read fills a lane that is empty or outdated if the table may hold something
// for it.
func (f *feed) read(ctx context.Context, l *lane, now time.Time) error {
	due := !l.next.IsZero() && !l.next.After(now)
	if len(l.ready) > 0 && !l.outdated || !l.unread && !due {
		return nil
	}
	limit := lookAhead + 2*f.home.policy.Concurrency
	list, err := f.home.queue.Due(ctx, webhook.DueQuery{
		Destination: f.home.policy.Name, Now: now, Limit: limit, Which: l.which,
	})
	if err != nil {
		return fmt.Errorf("list what is due for %s: %w", f.home.policy.Name, err)
	}
	l.ready, l.next = f.home.notInFlight(list.Deliveries), list.Next
	l.unread, l.outdated = len(list.Deliveries) == limit, false
	return nil
}

// take removes a delivery from every lane.
func (f *feed) take(id webhook.ID) {
	for _, l := range []*lane{&f.firsts, &f.retries, &f.newest} {
		switch i := slices.IndexFunc(l.ready, func(d webhook.Delivery) bool { return d.EventID == id }); {
		case i == 0:
			l.ready = l.ready[1:]
		case i > 0:
			l.ready = slices.Delete(l.ready, i, i+1)
		}
	}
}

// rotate moves the deliveries up to and including the last probed one behind
// the others, so that probes go through everything that waits.
func (l *lane) rotate(last webhook.ID) {
	for i, delivery := range l.ready {
		if delivery.EventID == last {
			l.ready = append(l.ready[i+1:len(l.ready):len(l.ready)], l.ready[:i+1]...)
			return
		}
	}
}

// nextDue returns when more falls due after now; zero for never. What is due
// already and was not sent waits for something else.
func (f *feed) nextDue(now time.Time) time.Time {
	var next time.Time
	for _, at := range []time.Time{f.firsts.next, f.retries.next, f.olderAt} {
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

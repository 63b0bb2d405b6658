package dispatch

import (
	"context"
	"fmt"
	"time"

	"weir/webhook"
)

// advanceStep bounds how many deliveries of each kind become due in one step, so
// that the store's writer is free in between.
const advanceStep = 200

// farFirst is how far ahead the first attempt of a delivery may lie: a bulk
// redelivery spreads what it sends again over less.
const farFirst = 15 * time.Minute

// releaseAfter is how long a destination must have been held before its release
// makes due what waits in backoff: after less, the backoff is still right.
const releaseAfter = 30 * time.Second

// ask says what of a destination's waiting deliveries is to become due. The
// loop carries it out in steps; what a crash loses of it becomes due by itself.
type ask struct {
	// backoffs asks for all that waits in backoff, firsts for what was never
	// attempted and lies ahead all the same.
	backoffs, firsts bool
	// far asks for what lies further ahead than the rules put anything.
	far bool
}

// query is what the store is asked for.
func (a ask) query(p webhook.Policy, now time.Time) webhook.AdvanceQuery {
	query := webhook.AdvanceQuery{Destination: p.Name, Now: now, Limit: advanceStep}
	if a.far {
		longest := max(p.BackoffMax, slowMax)
		refused := refusedWaits[len(refusedWaits)-1]
		query.Firsts = now.Add(farFirst)
		query.Backoffs = now.Add(longest + maxSpread)
		query.Refused = now.Add(refused + maxSpread)
	}
	if a.firsts {
		query.Firsts = now
	}
	if a.backoffs {
		query.Backoffs = now
	}
	return query
}

// release asks for what waits in backoff: the destination is well again.
func (o *owner) release(more ask) {
	o.mu.Lock()
	o.asked.backoffs = o.asked.backoffs || more.backoffs
	o.asked.firsts = o.asked.firsts || more.firsts
	o.asked.far = o.asked.far || more.far
	o.mu.Unlock()
	o.nudge()
}

// advance carries out one step of what is asked for, and reports whether there
// may be more.
func (o *owner) advance(ctx context.Context) (bool, error) {
	o.mu.Lock()
	asked := o.asked
	o.mu.Unlock()
	if asked == (ask{}) {
		return false, nil
	}
	n, err := o.queue.Advance(ctx, asked.query(o.policy, webhook.Floor(time.Now())))
	if err != nil {
		return false, fmt.Errorf("make due what waits for %s: %w", o.policy.Name, err)
	}
	if n > 0 {
		o.wakeUp()
		return true, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked == asked {
		o.asked = ask{}
	}
	return false, nil
}

// opens reports whether an answer has opened gates that were closed for long
// enough to make what waits in backoff due.
func opens(before, after webhook.Destination, now time.Time) bool {
	return closedSince(after).IsZero() && !closedSince(before).IsZero() && now.Sub(closedSince(before)) >= releaseAfter
}

// closedSince returns when the oldest hold of a destination began, or its breaker
// opened; zero where there is none. A presumed hold is none of the destination's.
func closedSince(d webhook.Destination) time.Time {
	since := d.Breaker.OpenSince
	for _, h := range d.Holds {
		if h.Basis != webhook.BasisPresumed {
			since = sooner(since, h.Since)
		}
	}
	return since
}

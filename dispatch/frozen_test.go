package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// TestAFreezeBreaksNoWindow: the requests of a burst are counted, and leave only
// after the process has stood still. What leaves then is counted then.
func TestAFreezeBreaksNoWindow(t *testing.T) {
	for _, frozen := range []time.Duration{0, 50 * time.Millisecond, time.Second, 2200 * time.Millisecond, time.Minute} {
		t.Run(fmt.Sprint(frozen), func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *ledger) {
				thaw := time.Now().Add(frozen)
				left := record(steady(ok))
				p := policy("app")
				p.Concurrency, p.Rate = 32, []webhook.Rate{{N: 40, Per: 2 * time.Second}}
				r := start(t, l, dispatch.AfterStop, route(p, sink(func(ctx context.Context, job webhook.Job) webhook.Answer {
					<-time.After(time.Until(thaw))
					if !job.MayLeave() {
						return webhook.Answer{Outcome: webhook.OutcomeNetwork, Unsent: true, At: time.Now()}
					}
					return left.Send(ctx, job)
				})))
				defer r.end(t, time.Second)
				for range 300 {
					l.accept(1, "app")
				}
				r.Wake("app")
				until(t, 5*time.Minute, func() bool { return l.count(webhook.Delivered) == 300 })
				if most := mostWithin(left.times(), 2*time.Second); most > 40 {
					t.Errorf("%d requests within the window of 40", most)
				}
				if left.count() != 300 {
					t.Errorf("%d requests for 300 events", left.count())
				}
			})
		})
	}
}

// mostWithin returns the largest number of requests in any window.
func mostWithin(times []time.Duration, per time.Duration) int {
	slices.Sort(times)
	most, first := 0, 0
	for i, at := range times {
		for at-times[first] >= per {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// TestAHoldTakesBackWhatHasNotLeft: four requests are counted and their connections
// take a second; the first that leaves is told to wait, and the others do not leave.
func TestAHoldTakesBackWhatHasNotLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		left := record(thenOK(limited(time.Minute)))
		n := 0
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink(func(ctx context.Context, job webhook.Job) webhook.Answer {
			l.mu.Lock()
			n++
			wait := time.Duration(n) * 300 * time.Millisecond
			l.mu.Unlock()
			<-time.After(wait)
			if !job.MayLeave() {
				return webhook.Answer{Outcome: webhook.OutcomeNetwork, Unsent: true, At: time.Now()}
			}
			return left.Send(ctx, job)
		})))
		defer r.end(t, time.Second)
		for range 4 {
			l.accept(1, "app")
		}
		r.Wake("app")
		<-time.After(30 * time.Second)
		if left.count() != 1 {
			t.Errorf("requests at %v, want one", left.times())
		}
		until(t, 5*time.Minute, func() bool { return l.count(webhook.Delivered) == 4 })
		for _, d := range l.all() {
			if d.Spent > 1 { // the probe spends nothing
				t.Errorf("%d spent", d.Spent)
			}
		}
	})
}

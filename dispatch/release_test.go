package dispatch_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// thenOK answers the first request with a, and all others with success.
func thenOK(a webhook.Answer) func(int, webhook.Job) (webhook.Answer, time.Duration) {
	return func(n int, _ webhook.Job) (webhook.Answer, time.Duration) {
		if n == 0 {
			return a, 0
		}
		return ok, 0
	}
}

// waits are answers that leave the delivery to a hold of the destination.
func waits() map[string]webhook.Answer {
	long := webhook.Hint{Wait: 9 * time.Hour, From: "Retry-After"}
	return map[string]webhook.Answer{
		"rate_limited":        {Outcome: webhook.OutcomeRateLimited, Status: 429, Hint: long},
		"quota_exhausted":     {Outcome: webhook.OutcomeQuotaExhausted, Status: 429, Hint: long},
		"transient with hint": {Outcome: webhook.OutcomeTransient, Status: 503, Hint: long},
		"auth":                {Outcome: webhook.OutcomeAuth, Status: 401},
		"gone":                {Outcome: webhook.OutcomeGone, Status: 410},
	}
}

// TestResumeReleasesTheDeliveryThatBeganTheHold: not only those that came after
// it. The wait was the destination's, and the operator has ended it.
func TestResumeReleasesTheDeliveryThatBeganTheHold(t *testing.T) {
	for name, refusal := range waits() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *ledger) {
				sink := record(thenOK(refusal))
				r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
				defer r.end(t, time.Second)
				l.accept(1, "app")
				r.Wake("app")
				<-time.After(time.Minute)
				if sink.count() != 1 {
					t.Fatalf("%d requests before the resume", sink.count())
				}
				if err := r.Resume(t.Context(), "app"); err != nil {
					t.Fatal(err)
				}
				until(t, 5*time.Second, func() bool { return l.count(webhook.Delivered) == 1 })
			})
		})
	}
}

// TestMendedCredentialsReleaseTheDeliveryThatWasRefused: at the start, not after
// the interval of a probe.
func TestMendedCredentialsReleaseTheDeliveryThatWasRefused(t *testing.T) {
	for _, name := range []string{"auth", "gone"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *ledger) {
				sink := record(thenOK(waits()[name]))
				r := start(t, l, dispatch.AfterStop, route(policyWith("wrong"), sink))
				l.accept(1, "app")
				r.Wake("app")
				<-time.After(time.Minute)
				r.end(t, time.Second)
				r = start(t, l, dispatch.AfterStop, route(policyWith("right"), sink))
				defer r.end(t, time.Second)
				until(t, 5*time.Second, func() bool { return l.count(webhook.Delivered) == 1 })
			})
		})
	}
}

// TestTheDeliveryThatBeganTheHoldGoesToTheFallback: it is as due as those that
// come after it.
func TestTheDeliveryThatBeganTheHoldGoesToTheFallback(t *testing.T) {
	for name, refusal := range waits() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *ledger) {
				p := policy("app")
				p.Fallback = "spare"
				main, spare := record(steady(refusal)), record(steady(ok))
				r := start(t, l, dispatch.AfterStop, route(p, main), route(policy("spare"), spare))
				defer r.end(t, time.Second)
				l.accept(1, "app")
				r.Wake("app")
				until(t, 10*time.Second, func() bool { return l.count(webhook.Delivered) == 1 })
				if main.count() != 1 || spare.count() != 1 {
					t.Errorf("%d to the destination, %d to the fallback", main.count(), spare.count())
				}
			})
		})
	}
}

// TestResumeEndsAPaceThatAHeaderSet: "remaining 0, reset in 20 h" would stop
// the destination for that long, and nobody could help it.
func TestResumeEndsAPaceThatAHeaderSet(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		paced := ok
		paced.Pacing = webhook.Pacing{NotBefore: 20 * time.Hour}
		sink := record(thenOK(paced))
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Second)
		l.accept(1, "app")
		r.Wake("app")
		until(t, 5*time.Second, func() bool { return l.count(webhook.Delivered) == 1 })
		l.accept(1, "app")
		r.Wake("app")
		<-time.After(time.Hour)
		if sink.count() != 1 {
			t.Fatalf("%d requests while the headers say no", sink.count())
		}
		if err := r.Resume(t.Context(), "app"); err != nil {
			t.Fatal(err)
		}
		until(t, 5*time.Second, func() bool { return l.count(webhook.Delivered) == 2 })
	})
}

// TestAnAttemptTellsWhenTheHoldEnds: the delivery is due, but the history says
// when the next request was to be expected.
func TestAnAttemptTellsWhenTheHoldEnds(t *testing.T) {
	for name, refusal := range waits() {
		r := dispatch.Decide(sent(refusal), never)
		h := r.Gates.Holds[0]
		if !r.Attempt.NextAttemptAt.Equal(h.Until) {
			t.Errorf("%s: the attempt says %s, the hold ends %s", name, r.Attempt.NextAttemptAt, h.Until)
		}
		if r.Delivery.NextAttemptAt.After(noon.Add(15 * time.Second)) {
			t.Errorf("%s: the delivery keeps the hold's wait until %s", name, r.Delivery.NextAttemptAt)
		}
	}
}

// TestWhatWaitsInBackoffGoesOnWhenTheDestinationIsWell: a resume makes it due, and
// so does the end of a breaker that was open for long; the breaker's probe is one
// of the other deliveries.
func TestWhatWaitsInBackoffGoesOnWhenTheDestinationIsWell(t *testing.T) {
	for _, resumed := range []bool{true, false} {
		t.Run(fmt.Sprintf("resumed=%v", resumed), func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *ledger) {
				var well atomic.Bool
				sink := record(func(int, webhook.Job) (webhook.Answer, time.Duration) {
					if well.Load() {
						return ok, 0
					}
					return unavailable, 0
				})
				p := policy("app")
				p.Backoff, p.BackoffMax = 12*time.Hour, 12*time.Hour
				r := start(t, l, dispatch.AfterStop, route(p, sink))
				defer r.end(t, time.Second)
				for range 20 {
					l.accept(1, "app")
				}
				r.Wake("app")
				<-time.After(time.Minute)
				well.Store(true)
				if resumed {
					if err := r.Resume(t.Context(), "app"); err != nil {
						t.Fatal(err)
					}
				}
				until(t, 15*time.Minute, func() bool { return l.count(webhook.Delivered) == 20 })
			})
		})
	}
}

// TestAShortHoldLeavesBackoffAlone: what fails by itself keeps its own schedule
// though the destination is limited again and again.
func TestAShortHoldLeavesBackoffAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		var bad webhook.ID
		sink := record(func(n int, job webhook.Job) (webhook.Answer, time.Duration) {
			switch {
			case job.Event.ID == bad:
				return unavailable, 0
			case n%2 == 1:
				return limited(time.Second), 0
			}
			return ok, 0
		})
		p := policy("app")
		p.Backoff, p.BackoffMax = 12*time.Hour, 12*time.Hour
		bad = l.accept(1, "app")
		r := start(t, l, dispatch.AfterStop, route(p, sink))
		defer r.end(t, time.Second)
		for range 20 {
			<-time.After(10 * time.Second)
			l.accept(1, "app")
			r.Wake("app")
		}
		if d := l.delivery(bad, "app"); d.Spent != 1 {
			t.Errorf("%d attempts of what is in backoff", d.Spent)
		}
	})
}

// TestAFarPaceIsAHold: a person is told, and a probe asks again.
func TestAFarPaceIsAHold(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		far := ok
		far.Pacing = webhook.Pacing{NotBefore: 20 * 24 * time.Hour}
		r := start(t, l, dispatch.AfterStop, route(policy("app"), record(thenOK(far))))
		defer r.end(t, time.Second)
		l.accept(1, "app")
		r.Wake("app")
		<-time.After(time.Second)
		l.accept(1, "app")
		r.Wake("app")
		<-time.After(time.Minute)
		s, err := r.Status("app", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if h, held := s.Destination.Hold(webhook.HoldQuota); !held || !h.NeedsOperator || h.Evidence.Note == "" {
			t.Errorf("%+v", s.Destination.Holds)
		}
		until(t, 20*time.Minute, func() bool { return l.count(webhook.Delivered) == 2 })
	})
}

// TestARacedConnectionIsNobodysFailure: it spends nothing and opens no breaker,
// and who ends every connection so meets the bound of attempts.
func TestARacedConnectionIsNobodysFailure(t *testing.T) {
	in := sent(webhook.Answer{Outcome: webhook.OutcomeNetwork, Raced: true})
	for n := 1; n <= 2*in.Policy.MaxAttempts; n++ {
		in.Number = n
		r := dispatch.Decide(in, never)
		counts := n > in.Policy.MaxAttempts
		if r.Attempt.Spent != counts || (r.Gates.Breaker.InARow > 0) != counts || r.Delivery.State != webhook.Pending {
			t.Errorf("attempt %d: spent %v, breaker %+v, %s", n, r.Attempt.Spent, r.Gates.Breaker, r.Delivery.State)
		}
		if wait := r.Delivery.NextAttemptAt.Sub(noon); wait < 500*time.Millisecond {
			t.Errorf("attempt %d: again after %s", n, wait)
		}
	}
}

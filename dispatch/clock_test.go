package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// TestAClockThatWasAheadStopsNothing: events came, were tried and waited by a
// clock that was ahead; then it was set right. What waits goes within the longest
// wait that the rules allow.
func TestAClockThatWasAheadStopsNothing(t *testing.T) {
	for _, ahead := range []time.Duration{3 * time.Second, time.Hour, 24 * time.Hour, 10 * 365 * 24 * time.Hour} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *ledger) {
				sink := record(steady(ok))
				wrong := time.Now().Add(ahead)
				fresh, tried := l.accept(1, "app"), l.accept(1, "app")
				l.shift(fresh, "app", func(d *webhook.Delivery) { d.NextAttemptAt, d.AgeFrom = wrong, wrong })
				l.shift(tried, "app", func(d *webhook.Delivery) {
					d.NextAttemptAt, d.AgeFrom = wrong.Add(10*time.Minute), wrong
					d.Attempts, d.Spent = 1, 1
				})
				l.gates["app"] = webhook.Destination{
					Name: "app", LastSentAt: wrong, Fingerprint: "f",
					Pace: webhook.Pace{NotBefore: wrong.Add(time.Minute)},
					Holds: []webhook.Hold{{
						Reason: webhook.HoldRetryAfter, Since: wrong, Until: wrong.Add(30 * time.Second),
					}},
				}
				r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
				defer r.end(t, time.Second)
				until(t, 75*time.Minute, func() bool { return l.count(webhook.Delivered) == 2 })
				if first := sink.times()[0]; first < 30*time.Second {
					t.Errorf("the first request after %s, though the hold lasts for 30 s", first)
				}
			})
		})
	}
}

// TestAHintOutlivesAClockThatWasAhead: a hold that the right clock may have set is
// not shortened.
func TestAHintOutlivesAClockThatWasAhead(t *testing.T) {
	hold := webhook.Hold{Reason: webhook.HoldRetryAfter, Since: noon.Add(-time.Minute), Until: noon.Add(9 * time.Hour)}
	for _, ahead := range []time.Duration{0, 3 * time.Second, time.Hour, 24 * time.Hour} {
		stored := webhook.Destination{Name: "app", Fingerprint: "f", LastSentAt: noon.Add(ahead), Holds: []webhook.Hold{hold}}
		got, _ := dispatch.TakeOver(stored, policy("app"), noon).Hold(webhook.HoldRetryAfter)
		if !got.Until.Equal(hold.Until) {
			t.Errorf("ahead by %s: held until %s", ahead, got.Until)
		}
	}
}

// TestNothingExpiresBeforeItsTurnAfterAStart: the clock may be wrong, and what
// has waited for weir itself deserves an attempt.
func TestNothingExpiresBeforeItsTurnAfterAStart(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		for range 20 {
			l.accept(1, "app")
		}
		<-time.After(10 * 365 * 24 * time.Hour)
		r := start(t, l, dispatch.AfterStop, route(policy("app"), record(steady(ok))))
		defer r.end(t, time.Second)
		until(t, time.Minute, func() bool { return l.count(webhook.Delivered) == 20 })
	})
}

// TestTheAnnouncedTimeIsTrue: what is said of a lone delivery's next attempt, right
// after an answer and while it waits, is when it is sent: for every gate.
func TestTheAnnouncedTimeIsTrue(t *testing.T) {
	refusals := waits()
	refusals["backoff"] = unavailable
	refusals["presumed auth"] = webhook.Answer{Outcome: webhook.OutcomeAuth, Status: 401, Presumed: true}
	refusals["misdirected"] = webhook.Answer{Outcome: webhook.OutcomeMisdirected, Status: 301}
	refusals["aged"] = webhook.Answer{Outcome: webhook.OutcomeAuth, Status: 401, Aged: true}
	delete(refusals, "gone") // has no time
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *ledger) { announcedThenSent(t, l, refusal, policy("app"), 1) })
		})
	}
	t.Run("breaker", func(t *testing.T) {
		inBubble(t, func(t *testing.T, l *ledger) { announcedThenSent(t, l, unavailable, policy("app"), 7) })
	})
	t.Run("rate", func(t *testing.T) {
		p := policy("app")
		p.Rate = []webhook.Rate{{N: 1, Per: 10 * time.Minute}}
		inBubble(t, func(t *testing.T, l *ledger) { announcedThenSent(t, l, unavailable, p, 1) })
	})
	t.Run("retry budget", func(t *testing.T) {
		p := policy("app")
		p.RetryBudget = webhook.Rate{N: 1, Per: 10 * time.Minute}
		inBubble(t, func(t *testing.T, l *ledger) { announcedThenSent(t, l, unavailable, p, 2) })
	})
}

// announcedThenSent refuses a lone delivery some times, and then compares what is
// announced with when it is sent.
func announcedThenSent(t *testing.T, l *ledger, refusal webhook.Answer, p webhook.Policy, refusals int) {
	p.Backoff = time.Minute
	sink := record(func(n int, _ webhook.Job) (webhook.Answer, time.Duration) {
		if n < refusals {
			return refusal, 0
		}
		return ok, 0
	})
	r := start(t, l, dispatch.AfterStop, route(p, sink))
	defer r.end(t, time.Second)
	id := l.accept(1, "app")
	r.Wake("app")
	for sink.count() < refusals {
		<-time.After(time.Second)
	}
	<-time.After(100 * time.Millisecond)
	status, err := r.Status("app", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, announced := dispatch.Waiting(status, l.delivery(id, "app"), time.Now())
	history := l.attempts(id, "app")
	if kept := history[len(history)-1].NextAttemptAt; kept.Sub(announced).Abs() > time.Second {
		t.Errorf("the history says %s, the status %s", kept, announced)
	}
	until(t, 10*time.Hour, func() bool { return l.count(webhook.Delivered) == 1 })
	at := sink.begun.Add(sink.times()[refusals])
	if late := at.Sub(announced); late < 0 || late > 2*time.Second {
		t.Errorf("announced for %s, sent %s later", announced, late)
	}
}

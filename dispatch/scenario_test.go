package dispatch_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// recorder is a sink that notes what it was sent and answers as told.
type recorder struct {
	reply func(n int, job webhook.Job) (webhook.Answer, time.Duration)

	mu    sync.Mutex
	seen  []request
	jobs  []webhook.Job
	begun time.Time
}

func record(reply func(n int, job webhook.Job) (webhook.Answer, time.Duration)) *recorder {
	return &recorder{reply: reply, begun: time.Now()}
}

func (r *recorder) Send(ctx context.Context, job webhook.Job) webhook.Answer {
	r.mu.Lock()
	n := len(r.seen)
	r.seen = append(r.seen, request{time.Now(), job.Event.ID})
	r.jobs = append(r.jobs, job)
	r.mu.Unlock()
	a, after := r.reply(n, job)
	return answer(ctx, after, a)
}

// times returns when requests came, since the recorder was made.
func (r *recorder) times() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []time.Duration
	for _, q := range r.seen {
		list = append(list, q.at.Sub(r.begun))
	}
	return list
}

func (r *recorder) count() int { return len(r.times()) }

// inBubble runs a scenario in fake time over a fresh ledger.
func inBubble(t *testing.T, scenario func(t *testing.T, l *ledger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { scenario(t, newLedger(t)) })
}

func route(p webhook.Policy, s dispatch.Sender) dispatch.Route {
	return dispatch.Route{Policy: p, Sender: s}
}

// steady always answers the same, quickly.
func steady(a webhook.Answer) func(int, webhook.Job) (webhook.Answer, time.Duration) {
	return func(int, webhook.Job) (webhook.Answer, time.Duration) { return a, 10 * time.Millisecond }
}

// TestB4ALoneEventIsTakenAtOnce: no traffic follows that could wake the loop.
func TestB4ALoneEventIsTakenAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(steady(ok))
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Second)
		<-time.After(time.Hour)
		l.accept(1, "app")
		at := time.Now()
		r.Wake("app")
		synctest.Wait()
		if sink.count() != 1 || sink.seen[0].at.Sub(at) > time.Second {
			t.Errorf("requests at %v", sink.times())
		}
	})
}

// TestB4WhatFallsDueBeforeItsAttemptIsDoneIsTaken: an attempt is done
// late, its delivery falls due again meanwhile, and another event wakes the loop
// in between.
func TestB4WhatFallsDueBeforeItsAttemptIsDoneIsTaken(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(func(n int, _ webhook.Job) (webhook.Answer, time.Duration) {
			if n == 0 {
				return unavailable, 0
			}
			return ok, 0
		})
		p := policy("app")
		p.Backoff = time.Millisecond
		r := start(t, l, dispatch.AfterStop, route(p, sink))
		r.handle.lag = time.Second
		defer r.end(t, 5*time.Second)
		first := l.accept(1, "app")
		r.Wake("app")
		<-time.After(500 * time.Millisecond)
		l.accept(1, "app")
		r.Wake("app")
		until(t, 5*time.Second, func() bool { return l.delivery(first, "app").State == webhook.Delivered })
	})
}

// TestB4WhatFellDueWhileDownIsTakenAtStart.
func TestB4WhatFellDueWhileDownIsTakenAtStart(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		id := l.accept(1, "app")
		<-time.After(time.Hour)
		r := start(t, l, dispatch.AfterCrash, route(policy("app"), record(steady(ok))))
		defer r.end(t, time.Second)
		until(t, 5*time.Second, func() bool { return l.delivery(id, "app").State == webhook.Delivered })
	})
}

// TestB30ARetryAfterIsKeptAcrossACrash: a hint of 30 s, a kill one second
// later, and nothing goes before the time.
func TestB30ARetryAfterIsKeptAcrossACrash(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(func(n int, _ webhook.Job) (webhook.Answer, time.Duration) {
			if n == 0 {
				return limited(30 * time.Second), 0
			}
			return ok, 0
		})
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		for range 5 {
			l.accept(1, "app")
		}
		r.Wake("app")
		<-time.After(time.Second)
		first := sink.count()
		r.kill()
		r = start(t, l, dispatch.AfterCrash, route(policy("app"), sink))
		defer r.end(t, time.Second)
		l.accept(1, "app")
		r.Wake("app")
		until(t, 2*time.Minute, func() bool { return l.count(webhook.Delivered) == 6 })
		if next := sink.times()[first]; next < 30*time.Second || next > 45*time.Second {
			t.Errorf("%d requests before the hint, the next after %s", first, next)
		}
	})
}

// TestB31AQuotaHoldsTheDestinationNotTheDeliveries is the second incident: a
// daily quota is spent, the reset is nine hours away, 45 deliveries wait.
func TestB31AQuotaHoldsTheDestinationNotTheDeliveries(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		reset := time.Now().Add(9 * time.Hour)
		sink := record(func(int, webhook.Job) (webhook.Answer, time.Duration) {
			if left := time.Until(reset); left > 0 {
				return webhook.Answer{Outcome: webhook.OutcomeQuotaExhausted, Status: 429, Hint: webhook.Hint{Wait: left, From: "Retry-After"}}, 0
			}
			return ok, 10 * time.Millisecond
		})
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Second)
		for range 45 {
			l.accept(1, "app")
		}
		r.Wake("app")
		<-time.After(8 * time.Hour)
		if n := sink.count(); n > 4 {
			t.Errorf("%d requests while the quota was spent", n)
		}
		for _, d := range l.all() {
			s, _ := r.Status("app", time.Now())
			if word, next := dispatch.Waiting(s, d, time.Now()); word != webhook.WaitQuota || next.Before(reset) || d.Spent != 0 {
				t.Fatalf("waits for %s until %s, spent %d", word, next, d.Spent)
			}
		}
		until(t, 2*time.Hour, func() bool { return l.count(webhook.Delivered) == 45 })
	})
}

// TestAQuotaWithoutATimeIsProbedHourlyAtTheMost.
func TestAQuotaWithoutATimeIsProbedHourlyAtTheMost(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(steady(webhook.Answer{Outcome: webhook.OutcomeQuotaExhausted, Status: 429}))
		p := policy("app")
		p.Concurrency = 1
		r := start(t, l, dispatch.AfterStop, route(p, sink))
		defer r.end(t, time.Second)
		for range 10 {
			l.accept(1, "app")
		}
		r.Wake("app")
		<-time.After(12 * time.Hour)
		times := sink.times()
		if len(times) < 12 || len(times) > 14 {
			t.Errorf("%d requests in twelve hours", len(times))
		}
		for i := 1; i < len(times); i++ {
			if gap := times[i] - times[i-1]; gap < 15*time.Minute {
				t.Errorf("probe %d after %s", i, gap)
			}
		}
		probed := map[webhook.ID]bool{}
		for _, q := range sink.seen[:10] {
			probed[q.id] = true
		}
		if len(probed) < 9 {
			t.Errorf("ten probes went to only %d deliveries", len(probed))
		}
	})
}

// TestB32OnePayloadTooLargeAmongHundreds is the third incident: it is sent
// once, and the others are not slowed.
func TestB32OnePayloadTooLargeAmongHundreds(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(func(_ int, job webhook.Job) (webhook.Answer, time.Duration) {
			if job.Event.Size > 10_000 {
				return webhook.Answer{Outcome: webhook.OutcomeTooLarge, Status: 429}, 10 * time.Millisecond
			}
			return ok, 10 * time.Millisecond
		})
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Second)
		big := webhook.ID{}
		for n := range 400 {
			l.accept(100, "app")
			if n == 7 {
				big = l.accept(20_000, "app")
			}
		}
		r.Wake("app")
		took := until(t, time.Minute, func() bool { return l.count(webhook.Delivered) == 400 })
		if took > 3*time.Second {
			t.Errorf("the others took %s", took)
		}
		if d := l.delivery(big, "app"); d.Reason != webhook.DeadTooLarge || d.Attempts != 1 {
			t.Errorf("the large one: %+v", d)
		}
		if s, _ := r.Status("app", time.Now()); s.Destination.Breaker.Open() || len(s.Destination.Holds) > 0 || s.Destination.Sizes.SmallestRefused != 20_000 {
			t.Errorf("the destination: %+v", s.Destination)
		}
	})
}

// TestABodyOverMaxBodyNeverReachesTheNetwork.
func TestABodyOverMaxBodyNeverReachesTheNetwork(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(steady(ok))
		p := policy("app")
		p.MaxBody = 1000
		r := start(t, l, dispatch.AfterStop, route(p, sink))
		defer r.end(t, time.Second)
		over, exact := l.accept(1001, "app"), l.accept(1000, "app")
		r.Wake("app")
		<-time.After(time.Second)
		if d := l.delivery(over, "app"); d.Reason != webhook.DeadTooLarge || d.Attempts != 0 || !strings.Contains(d.Detail, "1001") {
			t.Errorf("over: %+v", d)
		}
		if d := l.delivery(exact, "app"); d.State != webhook.Delivered || sink.count() != 1 {
			t.Errorf("exact: %+v, %d requests", d, sink.count())
		}
	})
}

// TestABodyThatHasChangedOnTheDiskIsNotSent: its delivery ends, and the others go
// on.
func TestABodyThatHasChangedOnTheDiskIsNotSent(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(steady(ok))
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Second)
		changed, good := l.accept(10, "app"), l.accept(10, "app")
		l.damaged = map[webhook.ID]bool{changed: true}
		r.Wake("app")
		<-time.After(time.Second)
		if d := l.delivery(changed, "app"); d.Reason != webhook.DeadRejected || d.Attempts != 0 || !strings.Contains(d.Detail, "changed") {
			t.Errorf("the changed one: %+v", d)
		}
		if d := l.delivery(good, "app"); d.State != webhook.Delivered || sink.count() != 1 {
			t.Errorf("the other: %+v, %d requests", d, sink.count())
		}
	})
}

// TestB34HangingRequestsLeaveRoomForOthers: one destination, 20 events hang,
// 80 do not, and the slow ones are first in the queue.
func TestB34HangingRequestsLeaveRoomForOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		slow := map[webhook.ID]bool{}
		sink := record(func(_ int, job webhook.Job) (webhook.Answer, time.Duration) {
			if slow[job.Event.ID] {
				return webhook.Answer{Outcome: webhook.OutcomeNetwork}, 15 * time.Second
			}
			return ok, 10 * time.Millisecond
		})
		for range 20 {
			slow[l.accept(1, "app")] = true
		}
		<-time.After(time.Second)
		for range 80 {
			l.accept(1, "app")
		}
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Minute)
		took := until(t, time.Minute, func() bool { return l.count(webhook.Delivered) == 80 })
		if took > 10*time.Second {
			t.Errorf("the fast ones took %s", took)
		}
	})
}

// TestB34WhatHangsWhileItComesInLeavesRoom: the queue is served while the
// events come in, one by one, the slow ones first; slots open for the others
// before the last or in the midst of them.
func TestB34WhatHangsWhileItComesInLeavesRoom(t *testing.T) {
	for _, gap := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond} {
		t.Run(gap.String(), func(t *testing.T) { hangWhileComingIn(t, gap) })
	}
}

func hangWhileComingIn(t *testing.T, gap time.Duration) {
	inBubble(t, func(t *testing.T, l *ledger) {
		const slow, quick = 2, 1 // sizes
		sink := record(func(_ int, job webhook.Job) (webhook.Answer, time.Duration) {
			if job.Event.Size == slow {
				return webhook.Answer{Outcome: webhook.OutcomeNetwork}, 15 * time.Second
			}
			return ok, 10 * time.Millisecond
		})
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Minute)
		for i := range 100 {
			size := int64(quick)
			if i < 20 {
				size = slow
			}
			l.accept(size, "app")
			r.Wake("app")
			<-time.After(gap)
		}
		took := until(t, time.Minute, func() bool { return l.count(webhook.Delivered) == 80 })
		if took > 10*time.Second {
			t.Errorf("the fast ones took %s", took)
		}
	})
}

// TestB36TheRetryBudgetBoundsAllRetries: 500 events, 503 to all, 20 retries a
// minute allowed; and the breaker leaves only probes.
func TestB36TheRetryBudgetBoundsAllRetries(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(steady(unavailable))
		p := policy("app")
		p.RetryBudget, p.MaxAttempts = webhook.Rate{N: 20, Per: time.Minute}, 5
		r := start(t, l, dispatch.AfterStop, route(p, sink))
		defer r.end(t, time.Second)
		for range 500 {
			l.accept(1, "app")
		}
		r.Wake("app")
		<-time.After(6 * time.Hour)
		seen := map[webhook.ID]bool{}
		var retries []time.Duration
		for i, q := range sink.seen {
			if seen[q.id] {
				retries = append(retries, sink.times()[i])
			}
			seen[q.id] = true
		}
		for i := 20; i < len(retries); i++ {
			if gap := retries[i] - retries[i-20]; gap < time.Minute {
				t.Errorf("21 retries within %s", gap)
			}
		}
		if dead := l.count(webhook.Dead); dead > 0 {
			t.Errorf("%d events died of the outage", dead)
		}
		if n := sink.count(); n > 80 {
			t.Errorf("%d requests in six hours with the breaker open", n)
		}
	})
}

// TestWithTheBreakerOpenOnlyProbesLeave, one at a time, and a success lets the
// rest go, slowly at first.
func TestWithTheBreakerOpenOnlyProbesLeave(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		up := time.Now().Add(time.Hour)
		sink := record(func(int, webhook.Job) (webhook.Answer, time.Duration) {
			if time.Now().Before(up) {
				return unavailable, 50 * time.Millisecond
			}
			return ok, 50 * time.Millisecond
		})
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Second)
		for range 40 {
			l.accept(1, "app")
		}
		r.Wake("app")
		until(t, 2*time.Hour, func() bool { return l.count(webhook.Delivered) == 40 })
		var after []time.Duration
		for i, at := range sink.times() {
			if i > 8 && at < time.Hour && at-sink.times()[i-1] < 30*time.Second {
				t.Errorf("request %d came %s after the one before", i, at-sink.times()[i-1])
			}
			if at >= time.Hour {
				after = append(after, at)
			}
		}
		if len(after) != 40 || after[1]-after[0] < 900*time.Millisecond {
			t.Errorf("after the outage: %v", after)
		}
		for _, d := range l.all() {
			if d.Spent > 3 {
				t.Errorf("the outage has spent %d attempts", d.Spent)
			}
		}
	})
}

// TestAHangingProbeKeepsAllOthersBack: while a trial is out no other leaves,
// however long it takes.
func TestAHangingProbeKeepsAllOthersBack(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(func(n int, _ webhook.Job) (webhook.Answer, time.Duration) {
			if n == 0 {
				return limited(4 * time.Second), 0
			}
			return ok, 10 * time.Minute
		})
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, 0)
		l.accept(1, "app")
		r.Wake("app")
		<-time.After(time.Second)
		for range 5 {
			l.accept(1, "app")
		}
		r.Wake("app")
		<-time.After(9 * time.Minute)
		if sink.count() != 2 {
			t.Errorf("%d requests while the probe was out", sink.count())
		}
	})
}

// TestALostProbeFreesItsPlace: a crash in the middle of a probe counts as a
// lost one; the next goes an interval later, not at once and not never.
func TestALostProbeFreesItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(func(n int, _ webhook.Job) (webhook.Answer, time.Duration) {
			switch n {
			case 0:
				return webhook.Answer{Outcome: webhook.OutcomeQuotaExhausted}, 0
			case 1:
				return ok, time.Hour
			}
			return ok, 0
		})
		p := policy("app")
		p.Concurrency = 1
		r := start(t, l, dispatch.AfterStop, route(p, sink))
		l.accept(1, "app")
		r.Wake("app")
		until(t, time.Hour, func() bool { return sink.count() == 2 })
		r.kill()
		r = start(t, l, dispatch.AfterCrash, route(p, sink))
		defer r.end(t, time.Second)
		until(t, time.Hour, func() bool { return sink.count() == 3 })
		if gap := sink.times()[2] - sink.times()[1]; gap < 14*time.Minute || gap > 17*time.Minute {
			t.Errorf("the next probe came after %s", gap)
		}
	})
}

// TestB35APanicInOneDelivery ends that delivery and nothing else.
func TestB35APanicInOneDelivery(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		var poison webhook.ID
		sink := record(func(_ int, job webhook.Job) (webhook.Answer, time.Duration) {
			if job.Event.ID == poison {
				panic("a null object")
			}
			return ok, 0
		})
		p := policy("app")
		p.MaxAttempts = 3
		r := start(t, l, dispatch.AfterStop, route(p, sink))
		defer r.end(t, time.Second)
		poison = l.accept(1, "app")
		for range 20 {
			l.accept(1, "app")
		}
		r.Wake("app")
		until(t, time.Hour, func() bool { return l.count(webhook.Pending) == 0 })
		if d := l.delivery(poison, "app"); d.Reason != webhook.DeadExhausted || d.Spent != 3 {
			t.Errorf("the poisonous one: %+v", d)
		}
		if l.count(webhook.Delivered) != 20 {
			t.Errorf("%d others were delivered", l.count(webhook.Delivered))
		}
	})
}

// TestAGoneDestinationWaitsForAPerson, and MAX_AGE ends what waits forever.
func TestAGoneDestinationWaitsForAPerson(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(func(n int, _ webhook.Job) (webhook.Answer, time.Duration) {
			if n == 0 {
				return webhook.Answer{Outcome: webhook.OutcomeGone, Status: 410}, 0
			}
			return ok, 0
		})
		p := policy("app")
		p.Concurrency, p.MaxAge = 1, 10*time.Hour
		r := start(t, l, dispatch.AfterStop, route(p, sink))
		defer r.end(t, time.Second)
		first := l.accept(1, "app")
		r.Wake("app")
		<-time.After(6 * time.Hour)
		second := l.accept(1, "app")
		r.Wake("app")
		<-time.After(6 * time.Hour)
		if d := l.delivery(first, "app"); d.Reason != webhook.DeadExpired || !strings.Contains(d.Detail, "gone") {
			t.Errorf("the first: %+v", d)
		}
		s, _ := r.Status("app", time.Now())
		if word, next := dispatch.Waiting(s, l.delivery(second, "app"), time.Now()); word != webhook.WaitGone || !next.IsZero() {
			t.Errorf("the second waits for %s until %s", word, next)
		}
		if sink.count() != 1 {
			t.Errorf("%d requests", sink.count())
		}
		if err := r.Resume(t.Context(), "app"); err != nil {
			t.Fatal(err)
		}
		until(t, 5*time.Second, func() bool { return l.delivery(second, "app").State == webhook.Delivered })
	})
}

// TestPauseStopsAndResumeGoesOn.
func TestPauseStopsAndResumeGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(steady(ok))
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		if err := r.Pause(t.Context(), "app"); err != nil {
			t.Fatal(err)
		}
		l.accept(1, "app")
		r.Wake("app")
		<-time.After(time.Hour)
		r.kill()
		r = start(t, l, dispatch.AfterCrash, route(policy("app"), sink))
		defer r.end(t, time.Second)
		<-time.After(time.Hour)
		if sink.count() != 0 {
			t.Errorf("%d requests while paused", sink.count())
		}
		if err := r.Resume(t.Context(), "app"); err != nil {
			t.Fatal(err)
		}
		until(t, 5*time.Second, func() bool { return sink.count() == 1 })
	})
}

// TestB2AStopCutsUnspent: what was on the wire when the grace ended is kept as
// cut, what was not stays as it was; both are delivered after the next start.
func TestB2AStopCutsUnspent(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(func(n int, _ webhook.Job) (webhook.Answer, time.Duration) {
			if n < 4 {
				return ok, 10 * time.Minute
			}
			return ok, 0
		})
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		for range 10 {
			l.accept(1, "app")
		}
		r.Wake("app")
		<-time.After(5 * time.Second) // the express slot opens
		r.end(t, 20*time.Second)
		cut := 0
		for _, d := range l.all() {
			if d.State != webhook.Pending || d.Spent != 0 {
				t.Errorf("after the stop: %+v", d)
			}
			cut += d.Attempts
		}
		if cut != 4 {
			t.Errorf("%d attempts are kept as cut", cut)
		}
		r = start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Second)
		until(t, time.Minute, func() bool { return l.count(webhook.Delivered) == 10 })
	})
}

// TestAHeldDestinationLendsToItsFallback: under the fallback's gates, with the
// same id, and only what its own destination does not need as a probe.
func TestAHeldDestinationLendsToItsFallback(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		main := record(steady(limited(time.Hour)))
		spare := record(steady(ok))
		p, q := policy("app"), policy("spare")
		p.Fallback = "spare"
		q.Rate = []webhook.Rate{{N: 10, Per: time.Minute}}
		r := start(t, l, dispatch.AfterStop, route(p, main), route(q, spare))
		defer r.end(t, time.Second)
		for range 24 {
			l.accept(1, "app")
		}
		r.Wake("app")
		until(t, 10*time.Minute, func() bool { return l.count(webhook.Delivered) >= 20 })
		if spare.count() < 20 || main.count() > 4 {
			t.Errorf("%d to the fallback, %d to the destination", spare.count(), main.count())
		}
		for i := 10; i < spare.count(); i++ {
			if gap := spare.times()[i] - spare.times()[i-10]; gap < time.Minute {
				t.Errorf("11 requests to the fallback within %s", gap)
			}
		}
		for _, d := range l.all() {
			for _, a := range l.attempts(d.EventID, "app") {
				if a.Outcome == webhook.OutcomeDelivered && a.SentTo != "spare" {
					t.Errorf("delivered by %s", a.SentTo)
				}
			}
		}
	})
}

// TestAPayloadsOwnRefusalIsNotMovedOn: what the destination rejects is dead and
// never tried at the fallback, and a pause lends nothing.
func TestAPayloadsOwnRefusalIsNotMovedOn(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		main := record(steady(webhook.Answer{Outcome: webhook.OutcomeRejected, Status: 400}))
		spare := record(steady(ok))
		p := policy("app")
		p.Fallback = "spare"
		r := start(t, l, dispatch.AfterStop, route(p, main), route(policy("spare"), spare))
		defer r.end(t, time.Second)
		l.accept(1, "app")
		r.Wake("app")
		<-time.After(time.Minute)
		if err := r.Pause(t.Context(), "app"); err != nil {
			t.Fatal(err)
		}
		l.accept(1, "app")
		r.Wake("app")
		<-time.After(time.Hour)
		if spare.count() != 0 || main.count() != 1 {
			t.Errorf("%d to the fallback, %d to the destination", spare.count(), main.count())
		}
	})
}

// TestBigBodiesDoNotCrowdOutSmallOnes: their bytes are bounded together, and
// what is small goes past.
func TestBigBodiesDoNotCrowdOutSmallOnes(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		var mu sync.Mutex
		var out, most int64
		sink := sink(func(ctx context.Context, job webhook.Job) webhook.Answer {
			mu.Lock()
			out += job.Event.Size
			most = max(most, out)
			mu.Unlock()
			a := answer(ctx, 2*time.Second, ok)
			mu.Lock()
			out -= job.Event.Size
			mu.Unlock()
			return a
		})
		p := policy("app")
		p.Concurrency = 16
		for range 20 {
			l.accept(25<<20, "app")
		}
		var small []webhook.ID
		for range 20 {
			small = append(small, l.accept(1000, "app"))
		}
		r := start(t, l, dispatch.AfterStop, route(p, sink))
		defer r.end(t, time.Minute)
		until(t, 15*time.Second, func() bool {
			return !slices.ContainsFunc(small, func(id webhook.ID) bool { return l.delivery(id, "app").State != webhook.Delivered })
		})
		mu.Lock()
		if most > 41<<20 {
			t.Errorf("%d bytes were out at once", most)
		}
		mu.Unlock()
		until(t, time.Hour, func() bool { return l.count(webhook.Delivered) == 40 })
	})
}

// TestACrowdDoesNotReturnInOneBurst: what was overdue when weir started leaves
// at a growing rate.
func TestACrowdDoesNotReturnInOneBurst(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		for range 300 {
			l.accept(1, "app")
		}
		<-time.After(time.Hour)
		sink := record(steady(ok))
		p := policy("app")
		p.Concurrency, p.RetryBudget.N = 100, 200
		r := start(t, l, dispatch.AfterCrash, route(p, sink))
		defer r.end(t, time.Second)
		until(t, time.Minute, func() bool { return l.count(webhook.Delivered) == 300 })
		within := func(d time.Duration) (n int) {
			for _, at := range sink.times() {
				if at <= d {
					n++
				}
			}
			return n
		}
		if within(time.Second) > 5 || within(3*time.Second) > 30 {
			t.Errorf("%d in the first second, %d in the first three", within(time.Second), within(3*time.Second))
		}
	})
}

// TestAnotherOwnerEndsThisOne: a late writer is refused, and stops.
func TestAnotherOwnerEndsThisOne(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(steady(ok))
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		if _, err := (&process{ledger: l}).Own(t.Context(), "app"); err != nil {
			t.Fatal(err)
		}
		l.accept(1, "app")
		r.Wake("app")
		if err := <-r.done; err == nil || !strings.Contains(err.Error(), "another owner") {
			t.Errorf("Run returned %v", err)
		}
	})
}

package dispatch_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// faults are answers of which only the status suggests a fault of the
// destination.
func faults() map[int]webhook.Answer {
	list := map[int]webhook.Answer{}
	for status, outcome := range map[int]webhook.Outcome{
		401: webhook.OutcomeAuth, 403: webhook.OutcomeAuth, 402: webhook.OutcomeQuotaExhausted,
		404: webhook.OutcomeMisdirected, 501: webhook.OutcomeMisdirected,
	} {
		list[status] = webhook.Answer{Outcome: outcome, Status: status, Presumed: true, Fingerprint: fmt.Sprint(status)}
	}
	return list
}

// poison answers some events with a fault, and takes all others.
type poison struct {
	fault webhook.Answer
	mu    sync.Mutex // guards ids
	ids   map[webhook.ID]bool
}

// refuse says whether an event is refused from now on.
func (p *poison) refuse(id webhook.ID, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[id] = is
}

// acceptRefused stores an event that is refused from its first request on.
func (p *poison) acceptRefused(l *ledger) webhook.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := l.accept(1, "app")
	p.ids[id] = true
	return id
}

func (p *poison) reply(_ int, job webhook.Job) (webhook.Answer, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids[job.Event.ID] {
		return p.fault, 5 * time.Millisecond
	}
	return ok, 5 * time.Millisecond
}

// TestPoisonousPayloadsStopNobody: two payloads are refused with a status that
// would hold the destination, eight behind them are taken within ten seconds,
// whether they come at once or one after the other.
func TestPoisonousPayloadsStopNobody(t *testing.T) {
	for status, fault := range faults() {
		for _, gap := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, time.Second} {
			t.Run(fmt.Sprint(status, gap), func(t *testing.T) {
				inBubble(t, func(t *testing.T, l *ledger) { poisonous(t, l, fault, gap) })
			})
		}
	}
}

func poisonous(t *testing.T, l *ledger, fault webhook.Answer, gap time.Duration) {
	downstream := &poison{fault: fault, ids: map[webhook.ID]bool{}}
	sink := record(downstream.reply)
	r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
	defer r.end(t, time.Second)
	var bad []webhook.ID
	for i := range 10 {
		if i < 2 {
			bad = append(bad, downstream.acceptRefused(l))
		} else {
			l.accept(1, "app")
		}
		r.Wake("app")
		<-time.After(gap)
	}
	until(t, 10*time.Second, func() bool { return l.count(webhook.Delivered) == 8 })
	<-time.After(time.Minute)
	status, _ := r.Status("app", time.Now())
	if len(status.Destination.Holds) != 0 {
		t.Errorf("held though all others are taken: %+v", status.Destination.Holds)
	}
	for _, id := range bad {
		d := l.delivery(id, "app")
		word, next := dispatch.Waiting(status, d, time.Now())
		if word != webhook.WaitRefused || d.Spent != 0 || next.Before(time.Now().Add(3*time.Minute)) {
			t.Errorf("%+v waits for %s until %s", d, word, next)
		}
	}
	if n := sink.count(); n > 16 {
		t.Errorf("%d requests for ten events", n)
	}
	<-time.After(72 * time.Hour)
	for _, id := range bad {
		if d := l.delivery(id, "app"); d.Reason != webhook.DeadRefused || d.Spent != 10 {
			t.Errorf("ends as %+v", d)
		}
	}
}

// TestWhatIsSetAsideStaysAside: the record of the refused delivery is still on its
// way to the store when another answer shows that it is refused alone.
func TestWhatIsSetAsideStaysAside(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		bad := l.accept(1, "app")
		l.slow = func(r webhook.Record) time.Duration {
			if r.Delivery.EventID == bad {
				return 2 * time.Second
			}
			return 0
		}
		downstream := &poison{fault: faults()[403], ids: map[webhook.ID]bool{bad: true}}
		r := start(t, l, dispatch.AfterStop, route(policy("app"), record(downstream.reply)))
		defer r.end(t, time.Second)
		<-time.After(100 * time.Millisecond)
		l.accept(1, "app")
		r.Wake("app")
		<-time.After(time.Minute)
		if d := l.delivery(bad, "app"); d.Refusals != 1 || d.Attempts != 1 || !d.NextAttemptAt.After(time.Now().Add(3*time.Minute)) {
			t.Errorf("the refused one is %+v", d)
		}
	})
}

// TestAFaultOfTheDestinationIsHeldByTwoWitnesses: 401 for all of twenty.
func TestAFaultOfTheDestinationIsHeldByTwoWitnesses(t *testing.T) {
	for status, fault := range faults() {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *ledger) {
				sink := record(steady(fault))
				r := start(t, l, dispatch.AfterStop, route(policyWith("wrong"), sink))
				for range 20 {
					l.accept(1, "app")
				}
				r.Wake("app")
				<-time.After(6 * time.Second)
				if n := sink.count(); n > 6 {
					t.Errorf("%d requests in six seconds", n)
				}
				<-time.After(24 * time.Hour)
				if n := sink.count(); n > 110 {
					t.Errorf("%d requests in a day", n)
				}
				s, _ := r.Status("app", time.Now())
				if holds := s.Destination.Holds; len(holds) != 1 || holds[0].Basis != webhook.BasisWitnessed {
					t.Errorf("holds %+v", holds)
				}
				for _, d := range l.all() {
					if d.State != webhook.Pending || d.Spent != 0 || d.Refusals != 0 {
						t.Errorf("%+v is not as it was", d)
					}
				}
				r.end(t, time.Second)
				r = start(t, l, dispatch.AfterStop, route(policyWith("right"), record(steady(ok))))
				defer r.end(t, time.Second)
				until(t, 20*time.Second, func() bool { return l.count(webhook.Delivered) == 20 })
			})
		})
	}
}

// TestALonePayloadIsPresumedUntilAnotherArrives, also over a crash.
func TestALonePayloadIsPresumedUntilAnotherArrives(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		downstream := &poison{fault: faults()[403], ids: map[webhook.ID]bool{}}
		sink := record(downstream.reply)
		first := l.accept(1, "app")
		downstream.refuse(first, true)
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		<-time.After(time.Minute)
		r.kill()
		r = start(t, l, dispatch.AfterCrash, route(policy("app"), sink))
		defer r.end(t, time.Second)
		<-time.After(5 * time.Minute)
		s, _ := r.Status("app", time.Now())
		if h, held := s.Destination.Hold(webhook.HoldAuth); sink.count() != 1 || !held || h.Basis != webhook.BasisPresumed {
			t.Fatalf("%d requests, holds %+v", sink.count(), s.Destination.Holds)
		}
		second := l.accept(1, "app")
		r.Wake("app")
		until(t, time.Second, func() bool { return l.delivery(second, "app").State == webhook.Delivered })
		if d := l.delivery(first, "app"); d.Refusals != 1 || d.State != webhook.Pending {
			t.Errorf("the first: %+v", d)
		}
		if a := l.attempts(second, "app"); len(a) != 1 || a[0].WitnessFor != first {
			t.Errorf("the witness: %+v", a)
		}
	})
}

// TestALonePayloadIsTriedAgainByItself: nothing else arrives, and the fault was
// the destination's.
func TestALonePayloadIsTriedAgainByItself(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(thenOK(faults()[401]))
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Second)
		l.accept(1, "app")
		r.Wake("app")
		took := until(t, 20*time.Minute, func() bool { return l.count(webhook.Delivered) == 1 })
		if took < 15*time.Minute || sink.count() != 2 {
			t.Errorf("delivered after %s by request %d", took, sink.count())
		}
	})
}

// TestAWitnessWithoutAVerdictIsFollowedByAnotherSlowly: at most one each 30 s.
func TestAWitnessWithoutAVerdictIsFollowedByAnotherSlowly(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(func(n int, _ webhook.Job) (webhook.Answer, time.Duration) {
			if n == 0 {
				return faults()[401], 0
			}
			return webhook.Answer{Outcome: webhook.OutcomeRejected, Status: 400, Presumed: true, Fingerprint: fmt.Sprint(n)}, 0
		})
		r := start(t, l, dispatch.AfterStop, route(policy("app"), sink))
		defer r.end(t, time.Second)
		for range 200 {
			l.accept(1, "app")
			r.Wake("app")
			<-time.After(time.Second)
		}
		times := sink.times()
		if len(times) < 5 {
			t.Fatalf("only %d requests", len(times))
		}
		for i := 2; i < len(times); i++ {
			if gap := times[i] - times[i-1]; gap < 30*time.Second {
				t.Errorf("witness %d after %s", i, gap)
			}
		}
	})
}

// TestTheSameRefusalOfEverythingHoldsTheDestination: one answer for forty unlike
// payloads.
func TestTheSameRefusalOfEverythingHoldsTheDestination(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		bare := webhook.Answer{Outcome: webhook.OutcomeRejected, Status: 400, Presumed: true, Fingerprint: "plain HTTP"}
		sink := record(steady(bare))
		r := start(t, l, dispatch.AfterStop, route(policyWith("wrong"), sink))
		for range 40 {
			l.accept(1, "app")
		}
		r.Wake("app")
		<-time.After(50 * time.Second)
		s, _ := r.Status("app", time.Now())
		h, held := s.Destination.Hold(webhook.HoldMisdirected)
		if !held || !h.NeedsOperator || h.Basis != webhook.BasisSameRefusal || l.count(webhook.Dead) != 0 || sink.count() > 8 {
			t.Errorf("%d requests, %d dead, holds %+v", sink.count(), l.count(webhook.Dead), s.Destination.Holds)
		}
		<-time.After(time.Hour)
		for _, d := range l.all() {
			if d.State != webhook.Pending || d.Spent != 0 {
				t.Errorf("%+v is not pending and unspent", d)
			}
		}
		r.end(t, time.Second)
		r = start(t, l, dispatch.AfterStop, route(policyWith("right"), record(steady(ok))))
		defer r.end(t, time.Second)
		until(t, 20*time.Second, func() bool { return l.count(webhook.Delivered) == 40 })
	})
}

// TestAKindThatIsAlwaysRejectedHoldsOnce: others are taken, so that its rejections
// are about these payloads, and they die.
func TestAKindThatIsAlwaysRejectedHoldsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		downstream := &poison{ids: map[webhook.ID]bool{}, fault: webhook.Answer{
			Outcome: webhook.OutcomeRejected, Status: 400, Presumed: true, Fingerprint: "unknown kind",
		}}
		r := start(t, l, dispatch.AfterStop, route(policy("app"), record(downstream.reply)))
		defer r.end(t, time.Second)
		for range 10 {
			downstream.acceptRefused(l)
		}
		r.Wake("app")
		<-time.After(10 * time.Second)
		other := l.accept(1, "app")
		r.Wake("app")
		until(t, 20*time.Minute, func() bool { return l.delivery(other, "app").State == webhook.Delivered })
		until(t, 10*time.Minute, func() bool { return l.count(webhook.Dead) == 10 })
	})
}

// TestUnlikeRefusalsAndSuccessesEndTheCount.
func TestUnlikeRefusalsAndSuccessesEndTheCount(t *testing.T) {
	words := webhook.Answer{Outcome: webhook.OutcomeRejected, Status: 400, Presumed: true, Fingerprint: "words"}
	others, named, aged := words, words, words
	others.Fingerprint, named.NamesPayload, aged.Aged = "others", true, true
	for name, test := range map[string]struct {
		answers []webhook.Answer
		same    bool // one body in all of them
		held    bool
	}{
		"five":            {answers: slices.Repeat([]webhook.Answer{words}, 5), held: true},
		"four":            {answers: slices.Repeat([]webhook.Answer{words}, 4)},
		"five of a body":  {answers: slices.Repeat([]webhook.Answer{words}, 5), same: true},
		"a success":       {answers: []webhook.Answer{words, words, words, words, ok, words}},
		"other words":     {answers: []webhook.Answer{words, words, words, words, others, words}},
		"nineteen named":  {answers: slices.Repeat([]webhook.Answer{named}, 19)},
		"twenty named":    {answers: slices.Repeat([]webhook.Answer{named}, 20), held: true},
		"for their age":   {answers: slices.Repeat([]webhook.Answer{aged}, 30)},
		"with an outage":  {answers: []webhook.Answer{words, words, unavailable, words, words, words}, held: true},
		"sure, and a few": {answers: slices.Repeat([]webhook.Answer{{Outcome: webhook.OutcomeRejected, Fingerprint: "declined"}}, 19)},
	} {
		t.Run(name, func(t *testing.T) {
			in := sent(ok)
			var last webhook.Record
			for i, answer := range test.answers {
				in.Answer = answer
				in.Answer.At = noon.Add(time.Duration(i) * time.Second)
				in.Delivery.EventID = webhook.ID{byte(i + 1)}
				if in.Body = uint64(i + 1); test.same {
					in.Body = 1
				}
				last = dispatch.Decide(in, never)
				in.To = last.Gates
			}
			_, held := in.To.Hold(webhook.HoldMisdirected)
			if held != test.held || held != (last.Delivery.State == webhook.Pending && len(last.Reopen) == len(in.To.Refusals.Events)-1) {
				if name != "for their age" || held {
					t.Errorf("held: %t, reopened %d, %+v", held, len(last.Reopen), last.Delivery)
				}
			}
		})
	}
}

// TestOneAgedAnswerNeverLocksTheDestination: a stale event is refused for its
// age; fresh ones go at once, and the stale one goes on by itself.
func TestOneAgedAnswerNeverLocksTheDestination(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		stale := webhook.Answer{Outcome: webhook.OutcomeAuth, Status: 401, Aged: true}
		downstream := &poison{fault: stale, ids: map[webhook.ID]bool{}}
		r := start(t, l, dispatch.AfterStop, route(policy("app"), record(downstream.reply)))
		defer r.end(t, time.Second)
		old := downstream.acceptRefused(l)
		r.Wake("app")
		for n := range 77 {
			<-time.After(28 * time.Second)
			l.accept(1, "app")
			r.Wake("app")
			until(t, time.Second, func() bool { return l.count(webhook.Delivered) == n+1 })
		}
		s, _ := r.Status("app", time.Now())
		if d := l.delivery(old, "app"); len(s.Destination.Holds) > 0 || d.State != webhook.Pending || d.Detail == "" {
			t.Errorf("holds %+v, the old one %+v", s.Destination.Holds, d)
		}
		downstream.refuse(old, false) // its signature is renewed
		until(t, 7*time.Hour, func() bool { return l.delivery(old, "app").State == webhook.Delivered })
	})
}

// TestASurePoisonKeepsNoHoldAlive: words in the answer to one payload hold the
// destination, but once others are taken they are weighed anew.
func TestASurePoisonKeepsNoHoldAlive(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		downstream := &poison{fault: webhook.Answer{Outcome: webhook.OutcomeAuth, Status: 403}, ids: map[webhook.ID]bool{}}
		r := start(t, l, dispatch.AfterStop, route(policy("app"), record(downstream.reply)))
		defer r.end(t, time.Second)
		downstream.acceptRefused(l)
		r.Wake("app")
		<-time.After(time.Minute)
		for range 40 {
			l.accept(1, "app")
		}
		r.Wake("app")
		until(t, 17*time.Minute, func() bool { return l.count(webhook.Delivered) == 40 })
	})
}

// TestProbesTakeTurns: behind a breaker, too, the delivery that fails is never
// the probe twice while there is another, also over restarts.
func TestProbesTakeTurns(t *testing.T) {
	inBubble(t, func(t *testing.T, l *ledger) {
		sink := record(steady(unavailable))
		p := policy("app")
		p.MaxAttempts = 100
		for range 7 {
			l.accept(1, "app")
		}
		for life := range 6 {
			r := start(t, l, dispatch.AfterStop, route(p, sink))
			<-time.After(40 * time.Minute)
			if life%2 == 0 {
				r.kill()
			} else {
				r.end(t, time.Second)
			}
		}
		for i := 8; i < len(sink.seen); i++ {
			if sink.seen[i].id == sink.seen[i-1].id {
				t.Errorf("requests %d and %d of %d are for one delivery", i-1, i, len(sink.seen))
			}
		}
	})
}

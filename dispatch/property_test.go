package dispatch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// request is one that a referee has seen.
type request struct {
	at time.Time
	id webhook.ID
}

// referee is an adversarial downstream that watches the bounds: whatever it
// answers, the requests that it sees must keep them.
type referee struct {
	t      *testing.T
	policy webhook.Policy
	random *rand.Rand

	mu       sync.Mutex
	life     int // counts the processes
	requests []request
	seen     map[webhook.ID]bool
	retries  []time.Time
	out      map[webhook.ID]bool
	// notBefore is the latest time that an answer has asked for.
	notBefore time.Time
	// gates tells what applies at the destination when a request arrives.
	gates func() webhook.Destination
	// lastProbe is the last request that came while a hold or the breaker
	// was active, and began is since when that has been so.
	lastProbe time.Time
	// suspected is the event of the suspicion under which a request came last,
	// and witnessed when that was.
	suspected webhook.ID
	witnessed time.Time
	mood      int
	moodUntil time.Time
}

func newReferee(t *testing.T, p webhook.Policy, seed uint64) *referee {
	return &referee{
		t: t, policy: p, random: rand.New(rand.NewPCG(seed, 7)),
		seen: map[webhook.ID]bool{}, out: map[webhook.ID]bool{},
	}
}

// restart forgets what was out: it died with its process.
func (r *referee) restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.life++
	clear(r.out)
}

// watch takes the view of the destination that a new process has.
func (r *referee) watch(gates func() webhook.Destination) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gates = gates
}

// pardon forgets what was asked for: the operator has ended all holds.
func (r *referee) pardon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notBefore, r.suspected = time.Time{}, webhook.ID{}
}

func (r *referee) Send(ctx context.Context, job webhook.Job) webhook.Answer {
	var a webhook.Answer
	life := r.arrive(job.Event.ID)
	defer func() { r.leave(life, job.Event.ID, a) }()
	next, after := r.answer(job.Event.ID)
	a = answer(ctx, after, next)
	return a
}

// arrive checks every bound that a new request could break.
func (r *referee) arrive(id webhook.ID) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.out[id] {
		r.t.Errorf("two requests at once for %s", id)
	}
	r.out[id] = true
	if len(r.out) > r.policy.Concurrency {
		r.t.Errorf("%d requests in flight, CONCURRENCY is %d", len(r.out), r.policy.Concurrency)
	}
	if now.Before(r.notBefore) {
		r.t.Errorf("a request %s before the time that was asked for", r.notBefore.Sub(now))
	}
	r.requests = append(r.requests, request{now, id})
	for _, rate := range r.policy.Rate {
		var times []time.Time
		for _, q := range r.requests {
			times = append(times, q.at)
		}
		r.within("RATE", rate, times, now)
	}
	if r.seen[id] {
		r.retries = append(r.retries, now)
		r.within("RETRY_BUDGET", r.policy.RetryBudget, r.retries, now)
	}
	r.seen[id] = true
	r.probes(now)
	return r.life
}

// within checks that the window that ends now holds no more than allowed.
func (r *referee) within(name string, rate webhook.Rate, times []time.Time, now time.Time) {
	n := 0
	for _, at := range times {
		if at.After(now.Add(-rate.Per)) {
			n++
		}
	}
	if n > rate.N {
		r.t.Errorf("%d requests within %s, %s allows %d", n, rate.Per, name, rate.N)
	}
}

// probes checks that while a hold or the breaker applies, requests come at
// least the shortest interval apart.
func (r *referee) probes(now time.Time) {
	d := r.gates()
	if d = r.witnesses(d, now); len(d.Holds) == 0 && !d.Breaker.Open() {
		r.lastProbe = time.Time{}
		return
	}
	if !r.lastProbe.IsZero() && now.Sub(r.lastProbe) < 4*time.Second {
		r.t.Errorf("two requests within %s while held", now.Sub(r.lastProbe))
	}
	r.lastProbe = now
}

// witnesses checks that under one suspicion requests come at least half a minute
// apart, and returns the destination without the presumed hold.
func (r *referee) witnesses(d webhook.Destination, now time.Time) webhook.Destination {
	h, held := d.Hold(d.Suspicion.Reason)
	if !held || h.Basis != webhook.BasisPresumed {
		r.suspected = webhook.ID{}
		return d
	}
	if r.suspected == d.Suspicion.Event && now.Sub(r.witnessed) < 30*time.Second {
		r.t.Errorf("two requests within %s under one suspicion", now.Sub(r.witnessed))
	}
	r.suspected, r.witnessed = d.Suspicion.Event, now
	return d.WithoutHold(h.Reason)
}

// leave notes what an answer asks for, if anyone is still there to hear it.
func (r *referee) leave(life int, id webhook.ID, a webhook.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if life != r.life {
		return
	}
	delete(r.out, id)
	holds := a.Outcome == webhook.OutcomeRateLimited || a.Outcome == webhook.OutcomeQuotaExhausted ||
		a.Outcome == webhook.OutcomeTransient || a.Outcome == webhook.OutcomeAuth
	if !a.Cut && holds && a.Hint.Given() {
		r.notBefore = webhook.Later(r.notBefore, a.At.Add(a.Hint.Wait))
	}
	if !a.Cut {
		r.notBefore = webhook.Later(r.notBefore, a.At.Add(a.Pacing.NotBefore))
	}
}

// answer is in a mood for a while, and then in another.
func (r *referee) answer(id webhook.ID) (webhook.Answer, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.After(r.moodUntil) {
		r.mood = r.random.IntN(11)
		r.moodUntil = now.Add(time.Duration(r.random.Int64N(int64(20 * time.Minute))))
	}
	quick := time.Duration(r.random.Int64N(int64(300 * time.Millisecond)))
	hint := webhook.Hint{Wait: time.Duration(r.random.Int64N(int64(3 * time.Minute))), From: "Retry-After"}
	switch r.mood {
	case 0, 1:
		return ok, quick
	case 2:
		return unavailable, quick
	case 3:
		return webhook.Answer{Outcome: webhook.OutcomeNetwork}, 15 * time.Second
	case 4:
		return webhook.Answer{Outcome: webhook.OutcomeRateLimited, Status: 429, Hint: hint}, quick
	case 5:
		return webhook.Answer{Outcome: webhook.OutcomeQuotaExhausted, Status: 429}, quick
	case 6:
		a := ok
		a.Pacing = webhook.Pacing{NotBefore: time.Duration(r.random.Int64N(int64(time.Second)))}
		return a, quick
	case 7, 8:
		return natureOf(id), quick
	}
	return r.anything(hint), quick
}

// natureOf is the answer that a payload always gets: most are taken, some are
// refused, surely or presumably, whatever the others get.
func natureOf(id webhook.ID) webhook.Answer {
	random := rand.New(rand.NewPCG(uint64(id[15])<<8|uint64(id[14]), 5))
	refusals := []webhook.Answer{
		{Outcome: webhook.OutcomeAuth, Status: 403, Presumed: true, Fingerprint: "403"},
		{Outcome: webhook.OutcomeAuth, Status: 401},
		{Outcome: webhook.OutcomeAuth, Status: 401, Aged: true},
		{Outcome: webhook.OutcomeMisdirected, Status: 404, Presumed: true, Fingerprint: "404"},
		{Outcome: webhook.OutcomeMisdirected, Status: 308},
		{Outcome: webhook.OutcomeGone, Status: 410, Presumed: true, Fingerprint: "410"},
		{Outcome: webhook.OutcomeQuotaExhausted, Status: 402, Presumed: true, Fingerprint: "402"},
		{Outcome: webhook.OutcomeRejected, Status: 400, Presumed: true, Fingerprint: "400"},
		{Outcome: webhook.OutcomeRejected, Status: 422, NamesPayload: true, Fingerprint: "422"},
	}
	if random.IntN(10) < 7 {
		return ok
	}
	return refusals[random.IntN(len(refusals))]
}

// anything is any answer at all.
func (r *referee) anything(hint webhook.Hint) webhook.Answer {
	outcomes := webhook.Outcomes()
	a := webhook.Answer{Outcome: outcomes[r.random.IntN(len(outcomes))]}
	switch {
	case a.Outcome == webhook.OutcomeGone && r.random.IntN(10) > 0:
		a.Outcome = webhook.OutcomeRejected
	case r.random.IntN(3) == 0:
		a.Hint = hint
	case r.random.IntN(3) == 0:
		a.Slow = true
	case r.random.IntN(50) == 0:
		panic("a fault in this delivery")
	}
	a.Presumed, a.Aged, a.NamesPayload = r.random.IntN(2) == 0, r.random.IntN(20) == 0, r.random.IntN(5) == 0
	if a.Outcome != webhook.OutcomeDelivered {
		a.Fingerprint = fmt.Sprint(r.random.IntN(2))
	}
	return a
}

// TestBoundsHoldWhateverTheDownstreamDoes is promise 3, "no storm, ever", for
// hours of fake time, with stops and crashes at any moment.
func TestBoundsHoldWhateverTheDownstreamDoes(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { torture(t, seed) })
		})
	}
}

func torture(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 99))
	p := policy("app")
	p.Concurrency = 1 + random.IntN(8)
	p.Rate = []webhook.Rate{{N: 20 + random.IntN(40), Per: time.Minute}, {N: 600, Per: time.Hour}}
	p.RetryBudget = webhook.Rate{N: 3 + random.IntN(20), Per: time.Minute}
	p.MaxAge = 6 * time.Hour
	l := newLedger(t)
	ref := newReferee(t, p, seed)
	clean := dispatch.AfterStop
	for begun := time.Now(); time.Since(begun) < 12*time.Hour; {
		r := start(t, l, clean, dispatch.Route{Policy: p, Sender: ref})
		ref.watch(func() webhook.Destination {
			s, _ := r.Status("app", time.Now())
			return s.Destination
		})
		for life := time.Duration(random.Int64N(int64(time.Hour))); life > 0; {
			nap := time.Duration(random.Int64N(int64(5 * time.Minute)))
			for range random.IntN(12) {
				l.accept(random.Int64N(1000), "app")
			}
			r.Wake("app")
			<-time.After(nap)
			life -= nap
		}
		if random.IntN(3) == 0 {
			ref.pardon()
			if err := r.Resume(t.Context(), "app"); err != nil {
				t.Error(err)
			}
		}
		if clean = dispatch.Start(random.IntN(2)); clean == dispatch.AfterCrash {
			r.kill()
			ref.restart()
		} else {
			r.end(t, time.Duration(random.Int64N(int64(20*time.Second))))
		}
		<-time.After(time.Duration(random.Int64N(int64(time.Minute))))
	}
	explained(t, l, p)
}

// explained checks that every delivery has ended with a reason, or waits with
// one and a time, or for a person.
func explained(t *testing.T, l *ledger, p webhook.Policy) {
	t.Helper()
	r := start(t, l, dispatch.AfterStop, dispatch.Route{Policy: p, Sender: sink(
		func(ctx context.Context, _ webhook.Job) webhook.Answer { return answer(ctx, time.Minute, unavailable) })})
	defer r.end(t, 0)
	synctest.Wait()
	now := time.Now()
	s, _ := r.Status("app", now)
	if len(l.all()) < 100 {
		t.Fatalf("only %d deliveries: the scenario tests nothing", len(l.all()))
	}
	for _, d := range l.all() {
		word, next := dispatch.Waiting(s, d, now)
		_, byPerson := s.Destination.Hold(webhook.HoldGone)
		switch {
		case d.State == webhook.Dead && (d.Reason == "" || d.FinishedAt.IsZero()):
			t.Errorf("a dead delivery without a reason: %+v", d)
		case d.State == webhook.Pending && (word == "" || next.IsZero() && !byPerson):
			t.Errorf("a pending delivery without a reason or a time: %q %s %+v", word, next, d)
		case d.State == webhook.Pending && d.AgeFrom.Before(now.Add(-p.MaxAge-time.Minute)):
			t.Errorf("a delivery older than MAX_AGE is still pending: %+v", d)
		}
	}
}

// TestNoPayloadStopsTheOthers: each payload gets the answer of its nature, and
// processes are stopped and killed at any moment. What is taken by nature is
// delivered, whatever holds the others begin; what is not ends with a reason.
func TestNoPayloadStopsTheOthers(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { mixed(t, seed) })
		})
	}
}

func mixed(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 11))
	l, p := newLedger(t), policy("app")
	lag := lockedChance(rand.New(rand.NewPCG(seed, 12)))
	sink := record(func(_ int, job webhook.Job) (webhook.Answer, time.Duration) {
		return natureOf(job.Event.ID), time.Duration(lag() * float64(50*time.Millisecond))
	})
	clean := dispatch.AfterStop
	live := func(life time.Duration) {
		r := start(t, l, clean, route(p, sink))
		for end := time.Now().Add(life); time.Now().Before(end); {
			for range random.IntN(4) {
				l.accept(1, "app")
			}
			r.Wake("app")
			<-time.After(time.Duration(random.Int64N(int64(10 * time.Minute))))
		}
		// Two odd payloads that say "gone" look like a withdrawn address: a
		// person has to say that it is none.
		if err := r.Resume(t.Context(), "app"); err != nil {
			t.Error(err)
		}
		if clean = dispatch.Start(random.IntN(2)); clean == dispatch.AfterCrash {
			r.kill()
		} else {
			r.end(t, time.Second)
		}
	}
	l.seq = seed * 1000
	for range 12 {
		live(time.Duration(random.Int64N(int64(time.Hour))))
	}
	r := start(t, l, clean, route(p, sink))
	for range 50 { // at last somebody looks after it now and then
		<-time.After(2 * time.Hour)
		if err := r.Resume(t.Context(), "app"); err != nil {
			t.Error(err)
		}
	}
	r.end(t, time.Second)
	for _, d := range l.all() {
		taken := natureOf(d.EventID).Outcome == webhook.OutcomeDelivered
		if taken && (d.State != webhook.Delivered || d.FinishedAt.Sub(d.AgeFrom) > 6*time.Hour) {
			t.Errorf("a payload that would be taken is %s after %s", d.State, d.FinishedAt.Sub(d.AgeFrom))
		}
		if !taken && (d.State != webhook.Dead || d.Reason == "") {
			t.Errorf("a payload that is refused has no end: %+v", d)
		}
	}
}

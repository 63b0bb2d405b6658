package dispatch_test

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// sink is a downstream in fake time: a function from request to answer.
type sink func(ctx context.Context, job webhook.Job) webhook.Answer

func (s sink) Send(ctx context.Context, job webhook.Job) webhook.Answer { return s(ctx, job) }

// policy is what the tests configure unless they say otherwise: the defaults.
func policy(name string) webhook.Policy {
	return webhook.Policy{
		Name: name, Fingerprint: "f", Timeout: 15 * time.Second, Concurrency: 4,
		RetryBudget: webhook.Rate{N: 30, Per: time.Minute}, MaxAttempts: 10, MaxAge: 72 * time.Hour,
		Backoff: 2 * time.Second, BackoffMax: 15 * time.Minute, MaxHold: 24 * time.Hour,
	}
}

// running is a dispatcher that runs in a bubble.
type running struct {
	*dispatch.Dispatcher
	handle *process
	stop   context.CancelFunc
	cut    context.CancelFunc
	done   chan error
}

// start begins a process over the ledger.
func start(t *testing.T, l *ledger, before dispatch.Start, routes ...dispatch.Route) *running {
	t.Helper()
	handle := &process{ledger: l}
	random := rand.New(rand.NewPCG(1, uint64(len(l.gates))))
	d, err := dispatch.New(t.Context(), dispatch.Config{
		Queue: handle, Ledger: handle, InFlightLog: l.inFlightLog, Routes: routes, Start: before, MaxBytes: 40 << 20,
		Chance: lockedChance(random), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Observe: func(dispatch.Observation) {
			if handle.lag > 0 {
				<-time.After(handle.lag)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Dispatcher: d, handle: handle, done: make(chan error, 1)}
	var ctx, hard context.Context
	ctx, r.stop = context.WithCancel(context.WithoutCancel(t.Context()))
	hard, r.cut = context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { r.done <- d.Run(ctx, hard) }()
	return r
}

// end stops the process after a grace, as SIGTERM does.
func (r *running) end(t *testing.T, grace time.Duration) {
	t.Helper()
	r.stop()
	timer := time.AfterFunc(grace, r.cut)
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	timer.Stop()
	r.cut()
}

// kill ends the process as SIGKILL does: nothing that it has not yet committed
// is ever committed.
func (r *running) kill() {
	r.handle.dead.Store(true)
	r.stop()
	r.cut()
	<-r.done
}

// answer makes an answer that took some time to come.
func answer(ctx context.Context, after time.Duration, a webhook.Answer) webhook.Answer {
	begun := time.Now()
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		a = webhook.Answer{Outcome: webhook.OutcomeNetwork, Rule: "cut", Cut: true}
	case <-timer.C:
	}
	a.At, a.Duration = time.Now(), time.Since(begun)
	return a
}

var (
	ok          = webhook.Answer{Outcome: webhook.OutcomeDelivered, Status: 200}
	unavailable = webhook.Answer{Outcome: webhook.OutcomeTransient, Status: 503}
)

func limited(wait time.Duration) webhook.Answer {
	return webhook.Answer{Outcome: webhook.OutcomeRateLimited, Status: 429, Hint: webhook.Hint{Wait: wait, From: "Retry-After"}}
}

// until waits in fake time for a condition, looking every second.
func until(t *testing.T, limit time.Duration, condition func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	for !condition() {
		if time.Since(begun) > limit {
			t.Fatalf("not so within %s", limit)
		}
		<-time.After(time.Second)
	}
	return time.Since(begun)
}

// delivered counts the deliveries in a state.
func (l *ledger) count(state webhook.State) int {
	n := 0
	for _, d := range l.all() {
		if d.State == state {
			n++
		}
	}
	return n
}

func TestDeliversWhatComesIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		r := start(t, l, dispatch.AfterStop, dispatch.Route{Policy: policy("app"), Sender: sink(
			func(ctx context.Context, _ webhook.Job) webhook.Answer { return answer(ctx, 10*time.Millisecond, ok) })})
		for range 100 {
			l.accept(10, "app")
		}
		r.Wake("app")
		took := until(t, time.Minute, func() bool { return l.count(webhook.Delivered) == 100 })
		if took > 2*time.Second {
			t.Errorf("100 deliveries took %s", took)
		}
		r.end(t, time.Second)
	})
}

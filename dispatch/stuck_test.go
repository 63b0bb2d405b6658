package dispatch_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"weir/dispatch"
	"weir/webhook"
)

// jam is a queue that hangs for one destination as soon as it is shut.
type jam struct {
	*process
	of   string
	shut chan struct{} // closed: Due hangs
	open chan struct{} // closed: it goes on
}

func (j *jam) Due(ctx context.Context, query webhook.DueQuery) (webhook.DueList, error) {
	select {
	case <-j.shut:
		if query.Destination == j.of {
			<-j.open // whatever ctx says: a call that never returns
		}
	default:
	}
	return j.process.Due(ctx, query)
}

// TestB79ABlockedLoopShowsWithinAMinute: ten events are due and the loop of
// their destination hangs in the store. That destination is named, and only
// that one; an idle loop and one whose downstream is down are not.
func TestB79ABlockedLoopShowsWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		queue := &jam{process: &process{ledger: l}, of: "app", shut: make(chan struct{}), open: make(chan struct{})}
		down := sink(func(ctx context.Context, _ webhook.Job) webhook.Answer { return answer(ctx, time.Second, unavailable) })
		up := sink(func(ctx context.Context, _ webhook.Job) webhook.Answer { return answer(ctx, time.Second, ok) })
		d, err := dispatch.New(t.Context(), dispatch.Config{
			Queue: queue, Ledger: queue, Start: dispatch.AfterStop, MaxBytes: 40 << 20,
			Routes: []dispatch.Route{
				{Policy: policy("app"), Sender: up}, {Policy: policy("idle"), Sender: up}, {Policy: policy("down"), Sender: down},
			},
			Chance: func() float64 { return 0.5 }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Observe: func(dispatch.Observation) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx, t.Context()) }()
		for range 10 {
			l.accept(10, "down")
		}
		d.Wake("down")
		// All is well for ten minutes, though a downstream is down.
		for range 600 {
			<-time.After(time.Second)
			if stuck := d.Stuck(); len(stuck) > 0 {
				t.Fatalf("stuck without a reason: %v", stuck)
			}
		}
		close(queue.shut)
		for range 10 {
			l.accept(10, "app")
		}
		d.Wake("app")
		took := until(t, 2*time.Minute, func() bool { return slices.Equal(d.Stuck(), []string{"app"}) })
		if took > time.Minute {
			t.Errorf("a blocked loop shows after %s", took)
		}
		close(queue.open)
		until(t, 5*time.Second, func() bool { return len(d.Stuck()) == 0 })
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// slowLedger takes its time to record.
type slowLedger struct{ *process }

func (s slowLedger) Record(ctx context.Context, record webhook.Record) error {
	<-time.After(5 * time.Second)
	return s.process.Record(ctx, record)
}

// TestALoopThatNeverRestsIsNotTakenForABlockedOne: one turn of the loop goes on
// for minutes while it ends bodies that are too large, one after the other.
func TestALoopThatNeverRestsIsNotTakenForABlockedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		handle := slowLedger{&process{ledger: l}}
		small := policy("app")
		small.MaxBody = 5
		d, err := dispatch.New(t.Context(), dispatch.Config{
			Queue: handle, Ledger: handle, Start: dispatch.AfterStop, MaxBytes: 40 << 20,
			Routes: []dispatch.Route{{Policy: small, Sender: sink(
				func(ctx context.Context, _ webhook.Job) webhook.Answer { return answer(ctx, time.Millisecond, ok) })}},
			Chance: func() float64 { return 0.5 }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Observe: func(dispatch.Observation) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx, t.Context()) }()
		for range 50 {
			l.accept(10, "app")
		}
		d.Wake("app")
		until(t, 20*time.Minute, func() bool {
			if stuck := d.Stuck(); len(stuck) > 0 {
				t.Fatalf("%v are taken for blocked with %d ended", stuck, l.count(webhook.Dead))
			}
			return l.count(webhook.Dead) == 50
		})
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"weir/webhook"
)

// together calls f with 0 … n-1 at the same time.
func (b *bench) together(n int, f func(i int) error) {
	b.Helper()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if err := f(i); err != nil {
				b.Errorf("call %d: %v", i, err)
			}
		})
	}
	group.Wait()
}

var togetherCases = []testCase{
	{"B60 senders, recorders, pruning and polling readers never meet a lock", func(b *bench) {
		const senders, each = 64, 32
		arrivals := make([][]webhook.Arrival, senders)
		for i := range arrivals {
			for j := range each {
				arrivals[i] = append(arrivals[i], b.arrival(fmt.Sprint(i, " ", j), "body"))
			}
		}
		gates := b.own()
		ctx, stop := context.WithCancel(b.Context())
		var polls sync.WaitGroup
		var polled atomic.Int64
		for _, poll := range b.polls() {
			polls.Go(func() {
				for ctx.Err() == nil {
					if err := poll(b.Context()); err != nil {
						b.Error(err)
						return
					}
					polled.Add(1)
				}
			})
		}
		b.together(senders, func(i int) error { return b.acceptAndDeliver(arrivals[i], gates) })
		stop()
		polls.Wait()
		queue, err := b.Queue(b.Context(), "app", b.now)
		b.must(err)
		if queue.Pending != senders*each/2 || polled.Load() == 0 {
			b.Errorf("%d pending after %d polls, want %d and some", queue.Pending, polled.Load(), senders*each/2)
		}
	}},
	{"a caller whose time is up gets its cause", func(b *bench) {
		ctx, cancel := context.WithCancelCause(b.Context())
		cancel(errUp)
		_, err := b.Accept(ctx, b.arrival("k", "body"))
		b.wantError(err, errUp)
		b.accept(b.arrival("k", "body"), webhook.ResultAccepted)
	}},
}

var errUp = fmt.Errorf("the time is up")

// polls are what status views and housekeeping ask for.
func (b *bench) polls() []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := b.Events(ctx, webhook.EventQuery{})
			return err
		},
		func(ctx context.Context) error {
			_, err := b.Deliveries(ctx, webhook.DeliveryQuery{State: webhook.Pending})
			return err
		},
		func(ctx context.Context) error {
			_, err := b.Queue(ctx, "app", b.now)
			return err
		},
		func(ctx context.Context) error {
			_, err := b.Due(ctx, webhook.DueQuery{Destination: "app", Now: b.now, Limit: 10})
			return err
		},
		func(ctx context.Context) error { return b.PruneAll(ctx, b.now.Add(-time.Hour), b.now.Add(-time.Hour)) },
		b.Ping,
	}
}

// acceptAndDeliver accepts events and records the delivery of every second.
func (b *bench) acceptAndDeliver(arrivals []webhook.Arrival, gates webhook.Destination) error {
	for j, a := range arrivals {
		receipt, err := b.Accept(b.Context(), a)
		if err != nil {
			return err
		}
		if receipt.Result != webhook.ResultAccepted {
			return fmt.Errorf("result %s", receipt.Result)
		}
		if j%2 == 0 {
			continue
		}
		_, d, err := b.Load(b.Context(), receipt.ID, "app")
		if err != nil {
			return err
		}
		if err := b.Record(b.Context(), b.record(gates, d, webhook.OutcomeDelivered)); err != nil {
			return err
		}
	}
	return nil
}

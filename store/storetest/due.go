package storetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

// due lists the keys of what is due now, and checks when more falls due.
func (b *bench) due(query webhook.DueQuery, next time.Time) []string {
	b.Helper()
	query.Destination, query.Now = "app", b.now
	if query.Limit == 0 {
		query.Limit = 100
	}
	list, err := b.Due(b.Context(), query)
	b.must(err)
	if !list.Next.Equal(next) {
		b.Errorf("next due at %v, want %v", list.Next, next)
	}
	var keys []string
	for _, d := range list.Deliveries {
		detail, err := b.Event(b.Context(), d.EventID)
		b.must(err)
		keys = append(keys, detail.Event.Key)
		if diff := cmp.Diff(detail.Deliveries[0].Delivery, d); diff != "" {
			b.Error(diff)
		}
	}
	return keys
}

func (b *bench) wantKeys(got []string, want ...string) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Error(diff)
	}
}

var dueCases = []testCase{
	{"B4 a delivery is due at its time and not before", func(b *bench) {
		id := b.event("k")
		at := b.stored()
		b.now = at.Add(-time.Microsecond)
		b.wantKeys(b.due(webhook.DueQuery{}, at))
		b.now = at
		b.wantKeys(b.due(webhook.DueQuery{}, time.Time{}), "k")
		b.try(b.own(), b.delivery(id), webhook.OutcomeTransient)
		again := b.stored().Add(time.Minute)
		b.now = again.Add(-time.Nanosecond)
		b.wantKeys(b.due(webhook.DueQuery{Which: webhook.Retries}, again))
		b.now = again
		b.wantKeys(b.due(webhook.DueQuery{Which: webhook.Retries}, time.Time{}), "k")
	}},
	{"B4 what is long overdue is due", func(b *bench) {
		b.event("k")
		b.pass(1000 * time.Hour)
		b.wantKeys(b.due(webhook.DueQuery{}, time.Time{}), "k")
	}},
	{"tells first sends from retries", func(b *bench) {
		gates := b.own()
		b.event("first")
		b.try(gates, b.delivery(b.event("retry")), webhook.OutcomeTransient)
		retryAt := b.stored().Add(time.Minute)
		b.pass(time.Second)
		b.wantKeys(b.due(webhook.DueQuery{Which: webhook.Firsts}, time.Time{}), "first")
		b.wantKeys(b.due(webhook.DueQuery{Which: webhook.Retries}, retryAt))
		b.pass(time.Hour)
		b.wantKeys(b.due(webhook.DueQuery{Which: webhook.Firsts}, time.Time{}), "first")
		b.wantKeys(b.due(webhook.DueQuery{Which: webhook.Retries}, time.Time{}), "retry")
		b.wantKeys(b.due(webhook.DueQuery{Which: webhook.NewestFirsts}, time.Time{}), "first")
	}},
	{"lists the longest due first and obeys the limit", func(b *bench) {
		for i := range 5 {
			b.event(fmt.Sprint(i))
			b.pass(time.Second)
		}
		b.wantKeys(b.due(webhook.DueQuery{Limit: 3}, time.Time{}), "0", "1", "2")
		b.wantKeys(b.due(webhook.DueQuery{Limit: 3, Which: webhook.NewestFirsts}, time.Time{}), "4", "3", "2")
	}},
	{"what is received in one millisecond stays in its order", func(b *bench) {
		var want []string
		for i := range 20 {
			b.event(fmt.Sprint(i))
			want = append(want, fmt.Sprint(i))
		}
		b.pass(time.Second)
		b.wantKeys(b.due(webhook.DueQuery{}, time.Time{}), want...)
	}},
	{"leaves out other destinations and what is final", func(b *bench) {
		b.finish("done", webhook.OutcomeDelivered)
		b.finish("dead", webhook.OutcomeRejected)
		other := b.arrival("other", "")
		other.To = []string{"elsewhere"}
		b.accept(other, webhook.ResultAccepted)
		b.event("k")
		b.pass(time.Second)
		b.wantKeys(b.due(webhook.DueQuery{}, time.Time{}), "k")
		b.wantKeys(b.due(webhook.DueQuery{Which: webhook.Retries}, time.Time{}))
	}},
	{"a pending delivery without a next time is due at once", func(b *bench) {
		id := b.event("k")
		r := b.record(b.own(), b.delivery(id), webhook.OutcomeAuth)
		r.Delivery.NextAttemptAt = time.Time{}
		b.must(b.Record(b.Context(), r))
		b.wantKeys(b.due(webhook.DueQuery{Which: webhook.Retries}, time.Time{}), "k")
		if d := b.delivery(id); !d.NextAttemptAt.IsZero() {
			b.Errorf("next time %v, want none", d.NextAttemptAt)
		}
	}},
	{"counts the queue", func(b *bench) {
		b.finish("dead", webhook.OutcomeRejected)
		b.finish("done", webhook.OutcomeDelivered)
		gates := b.own()
		b.pass(time.Second)
		b.event("first")
		oldest := b.stored()
		b.pass(time.Second)
		b.try(gates, b.delivery(b.event("retry")), webhook.OutcomeTransient)
		b.pass(time.Second)
		for wait, want := range map[time.Duration]webhook.Queue{
			0:          {Pending: 2, Due: 1, Dead: 1, Retries: 1, OldestDue: oldest, Oldest: oldest},
			time.Hour:  {Pending: 2, Due: 2, Dead: 1, Retries: 1, DueRetries: 1, OldestDue: oldest, Oldest: oldest},
			-time.Hour: {Pending: 2, Dead: 1, Retries: 1, Oldest: oldest},
		} {
			queue, err := b.Queue(b.Context(), "app", b.now.Add(wait))
			b.must(err)
			if diff := cmp.Diff(want, queue); diff != "" {
				b.Errorf("after %s: %s", wait, diff)
			}
		}
	}},
	{"tells when each source was last accepted from", func(b *bench) {
		b.event("1")
		b.pass(time.Minute)
		b.event("2")
		last := b.stored()
		b.pass(time.Minute)
		b.accept(b.arrival("2", "body of 2"), webhook.ResultDuplicate)
		got, err := b.LastAccepted(b.Context(), []string{"github", "stripe"})
		b.must(err)
		if diff := cmp.Diff(map[string]time.Time{"github": last}, got); diff != "" {
			b.Error(diff)
		}
	}},
	{"names every destination that was ever taken over", func(b *bench) {
		for _, name := range []string{"old", "app", "old"} {
			_, err := b.Own(b.Context(), name)
			b.must(err)
		}
		got, err := b.Owned(b.Context())
		b.must(err)
		if diff := cmp.Diff([]string{"app", "old"}, got); diff != "" {
			b.Error(diff)
		}
	}},
}

var expireCases = []testCase{
	{"ends what is too old and says how old the rest is", func(b *bench) {
		old := b.event("old")
		age := b.stored()
		b.pass(time.Second)
		b.event("young")
		rest := b.stored()
		b.pass(time.Hour)
		query := webhook.ExpireQuery{Destination: "app", AgeBefore: age, Now: b.now, Detail: "a sentence", Limit: 10}
		done, err := b.Expire(b.Context(), query)
		b.must(err)
		if diff := cmp.Diff(webhook.Expired{Count: 1, Oldest: rest}, done); diff != "" {
			b.Error(diff)
		}
		d := b.delivery(old)
		if d.Reason != webhook.DeadExpired || d.Detail != "a sentence" || !d.FinishedAt.Equal(b.stored()) {
			b.Errorf("delivery %+v, want it expired", d)
		}
	}},
	{"ends nothing a moment too early", func(b *bench) {
		b.event("k")
		age := b.stored()
		query := webhook.ExpireQuery{Destination: "app", AgeBefore: age.Add(-time.Nanosecond), Now: b.now, Limit: 10}
		done, err := b.Expire(b.Context(), query)
		b.must(err)
		if diff := cmp.Diff(webhook.Expired{Oldest: age}, done); diff != "" {
			b.Error(diff)
		}
	}},
	{"leaves out what is in flight and obeys the limit", func(b *bench) {
		first := b.event("0")
		age := b.stored()
		for i := range 4 {
			b.event(fmt.Sprint(i + 1))
		}
		b.pass(time.Hour)
		query := webhook.ExpireQuery{Destination: "app", AgeBefore: b.now, Now: b.now, Except: []webhook.ID{first}, Limit: 3}
		for _, want := range []int{3, 1, 0} {
			done, err := b.Expire(b.Context(), query)
			b.must(err)
			if done.Count != want || !done.Oldest.Equal(age) {
				b.Errorf("%+v, want %d ended and the one in flight the oldest", done, want)
			}
		}
	}},
	{"touches neither other destinations nor what is final", func(b *bench) {
		b.finish("done", webhook.OutcomeDelivered)
		other := b.arrival("other", "")
		other.To = []string{"elsewhere"}
		b.accept(other, webhook.ResultAccepted)
		done, err := b.Expire(b.Context(), webhook.ExpireQuery{Destination: "app", AgeBefore: b.now.Add(time.Hour), Now: b.now, Limit: 9})
		b.must(err)
		if diff := cmp.Diff(webhook.Expired{}, done); diff != "" {
			b.Error(diff)
		}
	}},
	{"counts the age from the last redelivery", func(b *bench) {
		id := b.finish("k", webhook.OutcomeRejected)
		b.pass(time.Hour)
		b.must(b.Redeliver(b.Context(), webhook.Redelivery{EventID: id, Destination: "app", At: b.now}))
		done, err := b.Expire(b.Context(), webhook.ExpireQuery{
			Destination: "app", AgeBefore: b.now.Add(-time.Minute), Now: b.now, Limit: 9,
		})
		b.must(err)
		if diff := cmp.Diff(webhook.Expired{Oldest: b.stored()}, done); diff != "" {
			b.Error(diff)
		}
	}},
}

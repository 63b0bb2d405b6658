package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

// inState brings a new event's delivery to a state by its usual path.
func (b *bench) inState(name string) webhook.ID {
	b.Helper()
	switch name {
	case "delivered":
		return b.finish(name, webhook.OutcomeDelivered)
	case "rejected":
		return b.finish(name, webhook.OutcomeRejected)
	case "too_large":
		return b.finish(name, webhook.OutcomeTooLarge)
	}
	id := b.event(name)
	switch name {
	case "cancelled":
		b.must(b.Cancel(b.Context(), id, "app", b.now))
	case "expired":
		query := webhook.ExpireQuery{Destination: "app", AgeBefore: b.stored(), Now: b.now, Limit: 1}
		query.Except = b.pendingBut(id)
		_, err := b.Expire(b.Context(), query)
		b.must(err)
	}
	return id
}

// pendingBut names the events of all pending deliveries but one.
func (b *bench) pendingBut(id webhook.ID) []webhook.ID {
	b.Helper()
	page, err := b.Deliveries(b.Context(), webhook.DeliveryQuery{State: webhook.Pending, Limit: webhook.MaxPage})
	b.must(err)
	var ids []webhook.ID
	for _, d := range page.Items {
		if d.EventID != id {
			ids = append(ids, d.EventID)
		}
	}
	return ids
}

// allowed is whether a step succeeds, or the error that refuses it.
type allowed struct {
	state string
	plain error
	force error
}

var operateCases = []testCase{
	{"redelivers by state", func(b *bench) {
		for _, c := range []allowed{
			{"pending", nil, nil},
			{"delivered", webhook.ErrState, nil},
			{"rejected", nil, nil},
			{"too_large", webhook.ErrState, nil},
			{"cancelled", nil, nil},
			{"expired", nil, nil},
		} {
			id := b.inState(c.state)
			b.pass(time.Minute)
			before := b.delivery(id)
			request := webhook.Redelivery{EventID: id, Destination: "app", At: b.now.Add(time.Second)}
			b.wantError(b.Redeliver(b.Context(), request), c.plain)
			if c.plain != nil {
				if diff := cmp.Diff(before, b.delivery(id)); diff != "" {
					b.Errorf("%s: %s", c.state, diff)
				}
				request.Force = true
				b.wantError(b.Redeliver(b.Context(), request), c.force)
			}
			b.wantRevived(before, request)
		}
	}},
	{"cancels what is pending only", func(b *bench) {
		for _, c := range []allowed{
			{state: "pending"},
			{state: "cancelled"},
			{state: "delivered", plain: webhook.ErrState},
			{state: "rejected", plain: webhook.ErrState},
			{state: "too_large", plain: webhook.ErrState},
			{state: "expired", plain: webhook.ErrState},
		} {
			id := b.inState(c.state)
			before := b.delivery(id)
			b.wantError(b.Cancel(b.Context(), id, "app", b.now), c.plain)
			after := b.delivery(id)
			if c.plain == nil {
				before.State, before.Reason, before.FinishedAt = webhook.Dead, webhook.DeadCancelled, b.stored()
			}
			if diff := cmp.Diff(before, after); diff != "" {
				b.Errorf("%s: %s", c.state, diff)
			}
		}
	}},
	{"a redelivery goes on in the history", func(b *bench) {
		id := b.finish("k", webhook.OutcomeRejected)
		b.must(b.Redeliver(b.Context(), webhook.Redelivery{EventID: id, Destination: "app", At: b.now}))
		b.try(b.own(), b.delivery(id), webhook.OutcomeDelivered)
		b.wantHistory(id, 1, 2)
	}},
	{"a payload that is gone cannot be sent again", func(b *bench) {
		id := b.finish("k", webhook.OutcomeRejected)
		b.must(b.PruneAll(b.Context(), b.now, b.now.Add(time.Second)))
		request := webhook.Redelivery{EventID: id, Destination: "app", At: b.now, Force: true}
		b.wantError(b.Redeliver(b.Context(), request), webhook.ErrState)
	}},
	{"knows nothing of a delivery that does not exist", func(b *bench) {
		id := b.event("k")
		for _, request := range []webhook.Redelivery{
			{EventID: id, Destination: "elsewhere", At: b.now},
			{EventID: b.newID(), Destination: "app", At: b.now},
		} {
			b.wantError(b.Redeliver(b.Context(), request), webhook.ErrNotFound)
			b.wantError(b.Cancel(b.Context(), request.EventID, request.Destination, b.now), webhook.ErrNotFound)
		}
	}},
}

// wantRevived checks a delivery after a redelivery that was allowed: what was
// pending before is due, anything else begins afresh.
func (b *bench) wantRevived(before webhook.Delivery, request webhook.Redelivery) {
	b.Helper()
	want := before
	if want.NextAttemptAt.After(webhook.Ceil(request.At)) {
		want.NextAttemptAt = webhook.Ceil(request.At)
		if want.AgeFrom.After(want.NextAttemptAt) {
			want.AgeFrom = want.NextAttemptAt
		}
	}
	if before.State != webhook.Pending {
		want = webhook.Delivery{
			EventID: before.EventID, Source: before.Source, Destination: before.Destination, Size: before.Size,
			State: webhook.Pending, Attempts: before.Attempts, Forced: request.Force,
			NextAttemptAt: webhook.Ceil(request.At), AgeFrom: webhook.Ceil(request.At),
		}
	}
	if diff := cmp.Diff(want, b.delivery(before.EventID)); diff != "" {
		b.Errorf("%s: %s", before.Reason, diff)
	}
}

var pruneCases = []testCase{
	{"removes payloads and attempts of what is finished long enough", func(b *bench) {
		ids := map[string]webhook.ID{}
		for _, state := range []string{"delivered", "rejected", "cancelled", "expired", "pending"} {
			ids[state] = b.inState(state)
		}
		cutoff := b.stored()
		b.pass(time.Second)
		ids["young"] = b.finish("young", webhook.OutcomeDelivered)
		b.must(b.PruneAll(b.Context(), b.now, cutoff.Add(-time.Millisecond)))
		for state, id := range ids {
			if detail, err := b.Event(b.Context(), id); err != nil || detail.Event.BodyGone {
				b.Errorf("%s: gone a moment too early (%v)", state, err)
			}
		}
		b.must(b.PruneAll(b.Context(), b.now, cutoff))
		for state, id := range ids {
			detail, err := b.Event(b.Context(), id)
			b.must(err)
			gone := state != "pending" && state != "young"
			if detail.Event.BodyGone != gone {
				b.Errorf("%s: body gone is %v, want %v", state, detail.Event.BodyGone, gone)
			}
			if gone && len(detail.Deliveries[0].Attempts) > 0 {
				b.Errorf("%s: attempts are kept", state)
			}
		}
	}},
	{"removes nothing while one of several deliveries waits", func(b *bench) {
		a := b.arrival("k", "body")
		a.To = []string{"app", "slow"}
		b.accept(a, webhook.ResultAccepted)
		b.try(b.own(), b.delivery(a.Event.ID), webhook.OutcomeDelivered)
		b.pass(10 * Window)
		b.must(b.PruneAll(b.Context(), b.now, b.now))
		event, _, err := b.Load(b.Context(), a.Event.ID, "slow")
		b.must(err)
		if string(event.Body) != "body" {
			b.Errorf("body %q", event.Body)
		}
	}},
	{"removes events once their key is forgotten", func(b *bench) {
		id := b.finish("k", webhook.OutcomeDelivered)
		waiting := b.event("waiting")
		b.pass(Window)
		b.must(b.PruneAll(b.Context(), b.now, b.now))
		_, err := b.Event(b.Context(), id)
		b.must(err)
		b.pass(2 * time.Millisecond)
		b.must(b.PruneAll(b.Context(), b.now, b.now))
		_, err = b.Event(b.Context(), id)
		b.wantError(err, webhook.ErrNotFound)
		_, err = b.Event(b.Context(), waiting)
		b.must(err)
		b.accept(b.arrival("k", "body of k"), webhook.ResultAccepted)
	}},
}

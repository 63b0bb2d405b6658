package storetest

import (
	"fmt"
	"time"

	"weir/webhook"
)

// waiting makes a delivery of each kind that waits for an hour: never attempted,
// in backoff, and set aside alone.
func (b *bench) waiting() map[string]webhook.ID {
	b.Helper()
	ids := map[string]webhook.ID{}
	gates := b.own()
	for _, kind := range []string{"backoff", "refused"} {
		ids[kind] = b.event(kind)
		r := b.record(gates, b.delivery(ids[kind]), webhook.OutcomeTransient)
		r.Delivery.State, r.Delivery.Reason, r.Delivery.FinishedAt = webhook.Pending, "", time.Time{}
		r.Delivery.NextAttemptAt = b.stored().Add(time.Hour)
		if kind == "refused" {
			r.Delivery.Refusals = 1
		}
		gates = r.Gates
		b.must(b.Record(b.Context(), r))
	}
	b.now = b.now.Add(time.Hour) // the clock is ahead, and then set right
	ids["first"] = b.event("first")
	b.now = b.now.Add(-time.Hour)
	return ids
}

var advanceCases = []testCase{
	{"makes due what waits beyond the time of its kind, and nothing else", func(b *bench) {
		ids := b.waiting()
		at, hour := b.stored(), b.stored().Add(time.Hour)
		for _, step := range []struct {
			query webhook.AdvanceQuery
			want  string
		}{
			{webhook.AdvanceQuery{Firsts: hour, Backoffs: hour, Refused: hour}, ""},
			{webhook.AdvanceQuery{Backoffs: at}, "backoff"},
			{webhook.AdvanceQuery{Refused: at}, "refused"},
			{webhook.AdvanceQuery{Firsts: hour.Add(-time.Millisecond)}, "first"},
			{webhook.AdvanceQuery{Firsts: at, Backoffs: at, Refused: at}, ""},
		} {
			step.query.Destination, step.query.Now, step.query.Limit = "app", b.now, 10
			n, err := b.Advance(b.Context(), step.query)
			b.must(err)
			if (n == 1) != (step.want != "") {
				b.Errorf("%+v changes %d", step.query, n)
			}
			for kind, id := range ids {
				due := b.delivery(id).NextAttemptAt.Equal(at)
				if kind == step.want && !due {
					b.Errorf("%s is not due", kind)
				}
				if due {
					delete(ids, kind)
				}
				if due && kind != step.want {
					b.Errorf("%s is due as well", kind)
				}
			}
		}
	}},
	{"goes on in steps", func(b *bench) {
		for i := range 5 {
			b.event(fmt.Sprint(i))
		}
		query := webhook.AdvanceQuery{
			Destination: "app", Now: b.now.Add(-time.Hour), Firsts: b.now.Add(-time.Hour), Limit: 2,
		}
		for _, want := range []int{2, 2, 1, 0} {
			n, err := b.Advance(b.Context(), query)
			b.must(err)
			if n != want {
				b.Errorf("%d changed, want %d", n, want)
			}
		}
	}},
	{"leaves other destinations and what is final", func(b *bench) {
		b.finish("done", webhook.OutcomeDelivered)
		other := b.arrival("other", "")
		other.To = []string{"elsewhere"}
		b.accept(other, webhook.ResultAccepted)
		past := b.now.Add(-time.Hour)
		n, err := b.Advance(b.Context(), webhook.AdvanceQuery{
			Destination: "app", Now: past, Firsts: past, Backoffs: past, Refused: past, Limit: 9,
		})
		b.must(err)
		if n != 0 {
			b.Errorf("%d changed", n)
		}
	}},
	{"a redelivery of what is pending makes it due, and changes nothing else", func(b *bench) {
		for kind, id := range b.waiting() {
			before := b.delivery(id)
			request := webhook.Redelivery{EventID: id, Destination: "app", At: b.now.Add(time.Second)}
			b.must(b.Redeliver(b.Context(), request))
			b.wantRevived(before, request)
			if !b.delivery(id).NextAttemptAt.Equal(webhook.Ceil(request.At)) {
				b.Errorf("%s is not due", kind)
			}
		}
	}},
}

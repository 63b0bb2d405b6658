package sqlite_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/webhook"
)

func TestWhatIsAcceptedIsDueLoadedRecordedAndShown(t *testing.T) {
	store, ctx := open(t), t.Context()
	in := sample(1)
	receipt, err := store.Accept(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	gates, err := store.Own(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.Due(ctx, webhook.DueQuery{Destination: "default", Now: time.Now().Add(time.Second), Limit: 10})
	if err != nil || len(list.Deliveries) != 1 {
		t.Fatalf("due %v, %v; want one delivery", list, err)
	}
	event, delivery, err := store.Load(ctx, receipt.ID, "default")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in.Event.Body, event.Body); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(in.Event.Header, event.Header); diff != "" {
		t.Error(diff)
	}
	now := webhook.Ceil(time.Now())
	delivery.State, delivery.FinishedAt, delivery.Attempts, delivery.Spent = webhook.Delivered, now, 1, 1
	gates.Rev++
	attempt := webhook.Attempt{
		Number: 1, At: now, Duration: time.Millisecond, SentTo: "default", Outcome: webhook.OutcomeDelivered,
		Status: 200, Spent: true, Rule: "success", Decision: webhook.Delivered,
	}
	err = store.Record(ctx, webhook.Record{Attempt: &attempt, Delivery: delivery, Gates: gates, Epoch: gates.Epoch})
	if err != nil {
		t.Fatal(err)
	}
	detail, err := store.Event(ctx, receipt.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := []webhook.History{{Delivery: delivery, Attempts: []webhook.Attempt{attempt}}}
	if diff := cmp.Diff(want, detail.Deliveries); diff != "" {
		t.Error(diff)
	}
	if err := store.Save(ctx, gates); err != nil {
		t.Error(err)
	}
	if err := store.Ping(ctx); err != nil {
		t.Error(err)
	}
}

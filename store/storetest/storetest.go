// Package storetest is the suite that every engine of weir's store must pass.
// It knows an engine only through the interfaces here, and holds it to the
// contract of package weir/store.
//
// # Guarantee
//
// An engine that passes loses no event, accepts none twice, keeps every
// attempt, refuses late owners, and lists everything exactly once, also when
// all of that happens at the same time.
//
// # Vocabulary
//
// An [Engine] is an open, empty store whose dedupe window is [Window]. The
// model is a second store, of maps and slices, that is too simple to be wrong:
// the engine must answer as it does after any sequence of steps.
//
// # Example
//
//	func TestEngine(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Engine { return open(t) })
//	}
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"weir/webhook"
)

// Window is the dedupe window that engines must be opened with.
const Window = 14 * 24 * time.Hour

// Intake takes events in.
type Intake interface {
	Accept(ctx context.Context, arrival webhook.Arrival) (webhook.Receipt, error)
	Ping(ctx context.Context) error
}

// Ledger keeps what happened.
type Ledger interface {
	Own(ctx context.Context, name string) (webhook.Destination, error)
	Save(ctx context.Context, destination webhook.Destination) error
	Record(ctx context.Context, record webhook.Record) error
}

// Queue lists what is to be sent.
type Queue interface {
	Due(ctx context.Context, query webhook.DueQuery) (webhook.DueList, error)
	Load(ctx context.Context, event webhook.ID, destination string) (webhook.Event, webhook.Delivery, error)
	Expire(ctx context.Context, query webhook.ExpireQuery) (webhook.Expired, error)
	Advance(ctx context.Context, query webhook.AdvanceQuery) (int, error)
}

// Reader shows single events.
type Reader interface {
	Event(ctx context.Context, id webhook.ID) (webhook.EventDetail, error)
	EventByKey(ctx context.Context, source, key string) (webhook.EventDetail, error)
	Body(ctx context.Context, id webhook.ID) ([]byte, error)
}

// Lister shows many.
type Lister interface {
	Events(ctx context.Context, query webhook.EventQuery) (webhook.EventPage, error)
	Deliveries(ctx context.Context, query webhook.DeliveryQuery) (webhook.DeliveryPage, error)
}

// Counter counts.
type Counter interface {
	Queue(ctx context.Context, destination string, now time.Time) (webhook.Queue, error)
	LastAccepted(ctx context.Context, sources []string) (map[string]time.Time, error)
	Owned(ctx context.Context) ([]string, error)
}

// Operator changes single deliveries.
type Operator interface {
	Redeliver(ctx context.Context, request webhook.Redelivery) error
	Cancel(ctx context.Context, event webhook.ID, destination string, now time.Time) error
}

// Pruner removes what is past its retention: payloads of what was finished at
// or before a time, and events that nothing needs, until none is left.
type Pruner interface {
	PruneAll(ctx context.Context, now, finishedBefore time.Time) error
}

// Engine is a whole store.
type Engine interface {
	Intake
	Ledger
	Queue
	Reader
	Lister
	Counter
	Operator
	Pruner
}

// Run holds the engines that open returns, a new one for each test, to the
// contract.
func Run(t *testing.T, open func(t *testing.T) Engine) {
	for name, cases := range map[string][]testCase{
		"Accept":   acceptCases,
		"Repeat":   repeatCases,
		"Conflict": conflictCases,
		"Gates":    gatesCases,
		"Record":   recordCases,
		"Due":      dueCases,
		"Expire":   expireCases,
		"Advance":  advanceCases,
		"Operate":  operateCases,
		"Prune":    pruneCases,
		"Together": togetherCases,
		"Model":    modelCases,
	} {
		t.Run(name, func(t *testing.T) { run(t, open, cases) })
	}
	t.Run("List", func(t *testing.T) { RunLists(t, open) })
}

// RunLists is the part of Run that is about lists, for an engine that has
// several ways to make them.
func RunLists(t *testing.T, open func(t *testing.T) Engine) { run(t, open, listCases) }

func run(t *testing.T, open func(t *testing.T) Engine, cases []testCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.run(&bench{T: t, Engine: open(t), now: noon})
		})
	}
}

// testCase is one rule of the contract.
type testCase struct {
	name string
	run  func(*bench)
}

// noon is when every test begins: in the night in which clocks go back in
// parts of the world, and not a whole millisecond.
var noon = time.Date(2026, time.November, 1, 8, 30, 0, 123_456_789, time.UTC)

// bench is an engine with a clock that does not move between steps.
type bench struct {
	*testing.T
	Engine
	now   time.Time
	count uint32
}

// must ends the test on an error that the contract does not allow here.
func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// wantError checks that err wraps a sentinel.
func (b *bench) wantError(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Errorf("error %v, want %v", err, want)
	}
}

// pass lets time go by.
func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d) }

// stored is the present time as stores keep it.
func (b *bench) stored() time.Time { return webhook.Ceil(b.now) }

// newID returns a UUIDv7 of the present time.
func (b *bench) newID() webhook.ID {
	b.count++
	ms := uint64(b.now.UnixMilli())
	return webhook.ID{
		byte(ms >> 40), byte(ms >> 32), byte(ms >> 24), byte(ms >> 16), byte(ms >> 8), byte(ms),
		0x70, 0, 0x80, 0, 0, 0, byte(b.count >> 24), byte(b.count >> 16), byte(b.count >> 8), byte(b.count),
	}
}

// arrival is an event of source "github" with a key and a body, for the
// destination "app".
func (b *bench) arrival(key, body string) webhook.Arrival {
	return webhook.Arrival{
		Event: webhook.Event{
			ID: b.newID(), Source: "github", Key: key, KeyFrom: "header:X-GitHub-Delivery", Type: "push",
			ReceivedAt: b.now,
			Header:     map[string][]string{"Content-Type": {"application/json"}},
			Body:       []byte(body),
		},
		To:         []string{"app"},
		OnConflict: webhook.KeepConflict,
	}
}

// accept stores an arrival and checks what became of it.
func (b *bench) accept(a webhook.Arrival, want webhook.Result) webhook.Receipt {
	b.Helper()
	receipt, err := b.Accept(b.Context(), a)
	b.must(err)
	if receipt.Result != want {
		b.Fatalf("result %s, want %s", receipt.Result, want)
	}
	if want == webhook.ResultAccepted && receipt.ID != a.Event.ID {
		b.Fatalf("accepted as %s, want %s", receipt.ID, a.Event.ID)
	}
	return receipt
}

// event accepts a new event and returns its id.
func (b *bench) event(key string) webhook.ID {
	b.Helper()
	return b.accept(b.arrival(key, "body of "+key), webhook.ResultAccepted).ID
}

// delivery reads one delivery.
func (b *bench) delivery(id webhook.ID) webhook.Delivery {
	b.Helper()
	_, d, err := b.Load(b.Context(), id, "app")
	b.must(err)
	return d
}

// own takes the destination "app" over.
func (b *bench) own() webhook.Destination {
	b.Helper()
	d, err := b.Own(b.Context(), "app")
	b.must(err)
	return d
}

// try records one attempt for a delivery, with the next number.
func (b *bench) try(gates webhook.Destination, d webhook.Delivery, outcome webhook.Outcome) {
	b.Helper()
	b.must(b.Record(b.Context(), b.record(gates, d, outcome)))
}

// record is an attempt with the state that follows from it: delivered, dead
// (rejected, too large) or waiting for a minute.
func (b *bench) record(gates webhook.Destination, d webhook.Delivery, outcome webhook.Outcome) webhook.Record {
	d.Attempts++
	d.Spent++
	d.State = webhook.Pending
	d.NextAttemptAt = webhook.Ceil(b.now.Add(time.Minute))
	switch outcome {
	case webhook.OutcomeDelivered:
		d.State = webhook.Delivered
	case webhook.OutcomeRejected:
		d.State, d.Reason = webhook.Dead, webhook.DeadRejected
	case webhook.OutcomeTooLarge:
		d.State, d.Reason = webhook.Dead, webhook.DeadTooLarge
	}
	if d.State != webhook.Pending {
		d.FinishedAt = b.stored()
	}
	attempt := webhook.Attempt{
		Number: d.Attempts, At: b.stored(), Duration: 1234567 * time.Nanosecond, SentTo: d.Destination,
		Outcome: outcome, Status: 200, Spent: true, Rule: "a rule", Decision: d.State,
	}
	if d.State == webhook.Pending {
		attempt.NextAttemptAt = d.NextAttemptAt
	}
	return webhook.Record{Attempt: &attempt, Delivery: d, Gates: gates, Epoch: gates.Epoch}
}

// finish brings a new event's delivery to a final state.
func (b *bench) finish(key string, outcome webhook.Outcome) webhook.ID {
	b.Helper()
	id := b.event(key)
	b.try(b.own(), b.delivery(id), outcome)
	return id
}

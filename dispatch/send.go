package dispatch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"weir/webhook"
)

// InFlightLog knows which attempts are out, also after a crash: the store learns
// of an attempt only with its answer. It promises nothing: where it is lost, an
// attempt that a crash interrupted is repeated under its own number.
type InFlightLog interface {
	// Begin notes that an attempt leaves now.
	Begin(event webhook.ID, destination string, number int)
	// End notes that the attempt which is out is in the store.
	End(event webhook.ID, destination string)
	// Unfinished returns the number of the attempt that left before a crash
	// and is not known to be in the store, 0 for none.
	Unfinished(event webhook.ID, destination string) int
	// Left returns how many attempts for a destination's deliveries were
	// unfinished when the log was opened, and whether these are all: after the
	// loss of power, or where the log could not be written, nobody knows.
	Left(destination string) (attempts int, all bool)
}

// noLog keeps nothing.
type noLog struct{}

func (noLog) Begin(webhook.ID, string, int)     {}
func (noLog) End(webhook.ID, string)            {}
func (noLog) Unfinished(webhook.ID, string) int { return 0 }
func (noLog) Left(string) (int, bool)           { return 0, false }

// send sends one request, decides what the answer means, and records it.
func (o *owner) send(hard context.Context, a attempt) {
	event, delivery, err := o.queue.Load(hard, a.delivery.EventID, a.source.policy.Name)
	changed := delivery.State != webhook.Pending || delivery.NextAttemptAt.After(webhook.Floor(time.Now()))
	if errors.Is(err, webhook.ErrDamaged) && !changed {
		err, changed = a.source.refuse(hard, delivery, webhook.DeadRejected, "not sent: "+webhook.ErrDamaged.Error()), true
	}
	if err != nil || changed {
		o.abandon(a)
		o.notLoaded(a, err)
		return
	}
	job := webhook.Job{
		Event: event, Delivery: delivery, Number: o.number(delivery),
		MayLeave: func() bool { return o.mayLeave(&a) },
	}
	o.inFlightLog.Begin(job.Event.ID, delivery.Destination, job.Number)
	at := time.Now()
	answer := o.call(hard, job)
	if answer.Unsent {
		o.inFlightLog.End(job.Event.ID, delivery.Destination)
		o.abandon(a)
		return
	}
	after := o.record(hard, a, Sent{
		Delivery: delivery, Policy: o.policy, Probe: a.slot == probeSlot, WitnessFor: a.witnessFor, Body: binary.BigEndian.Uint64(event.SHA256[:]),
		Number: job.Number, At: at, Answer: answer,
	}, event.ReceivedAt)
	o.done(a)
	a.source.reschedule(after)
}

// number returns that of a delivery's next attempt. One that a crash has
// interrupted keeps its number, so that the downstream can tell the repeat from
// a new attempt.
func (o *owner) number(d webhook.Delivery) int {
	return max(d.Attempts, o.inFlightLog.Unfinished(d.EventID, d.Destination)) + 1
}

// notLoaded handles a delivery that could not be loaded: it stays due.
func (o *owner) notLoaded(a attempt, err error) {
	if err == nil || errors.Is(err, webhook.ErrNotFound) || errors.Is(err, context.Canceled) {
		return
	}
	o.log.Error("delivery cannot be loaded", webhook.LogDestination, a.source.policy.Name,
		webhook.LogEvent, a.delivery.EventID, webhook.LogError, err)
	a.source.dueAt(time.Now().Add(storeAgain))
}

// call calls the sender and turns a panic into an answer: one poisonous event
// must not end the process.
func (o *owner) call(ctx context.Context, job webhook.Job) (answer webhook.Answer) {
	begun := time.Now()
	defer func() {
		if fault := recover(); fault != nil {
			o.log.Error("delivery panicked", webhook.LogDestination, o.policy.Name,
				webhook.LogEvent, job.Event.ID, webhook.LogError, panicText(fault))
			now := time.Now()
			answer = webhook.Answer{
				Outcome: webhook.OutcomeTransient, At: now, Duration: now.Sub(begun),
				Rule: "internal.panic", Internal: true,
				Evidence: webhook.Evidence{Note: "a fault inside weir ended this attempt"},
			}
		}
	}()
	return o.sender.Send(ctx, job)
}

// panicText says what a panic was. Its value may quote a body, so that only
// faults of the runtime are shown as text, and of others the type.
func panicText(fault any) string {
	if err, ok := fault.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", fault)
}

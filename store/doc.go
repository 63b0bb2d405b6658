// Package store states what weir requires of the engine that keeps its events.
// The engine is in store/sqlite; the suite that any engine must pass is in
// store/storetest.
//
// # Guarantees
//
// A method that returns without an error has committed, with full
// synchronisation, before it returns: what it was given survives a crash of
// the process and, on storage that honours a sync, of the machine. A method
// that returns an error has either changed nothing or committed everything;
// asking again is always safe. It never commits a part.
//
// Accept. The event, its deliveries and its key become visible in one step.
// Uniqueness of (source, key) is decided where the event is inserted, by the
// one writer there is, so of any number of simultaneous copies exactly one is
// accepted and the others are duplicates of it. The key is remembered from the
// first copy on for the dedupe window,
// independently of the retention of bodies, and is never overwritten by a repeat. A repeat with other bytes is treated as
// [weir/webhook.OnConflict] says; an event that is kept beside another has a
// key and a window of its own. A repeat makes the event's dead deliveries
// pending again with a fresh allowance, except those that were too large, and
// brings back a payload that retention has removed; it does nothing to pending
// and delivered ones. At the cap new events are refused with
// [weir/webhook.ErrFull]; repeats, records and everything else go on.
//
// Own. Each call takes the destination over from whoever owned it before: it
// returns the state last saved with a higher Epoch. From then on Save and
// Record with an older epoch return [weir/webhook.ErrFenced] and change
// nothing.
//
// Due. Lists pending deliveries whose own next time is reached, without
// claiming them: the owner keeps what is in flight. Its cost follows what it
// returns, not what is stored.
//
// Record. One attempt with the delivery's new state and the destination's new
// gates, in one step. Of the gates the highest Rev is kept, whatever order
// records arrive in. A delivery that is final stays as it is, with one
// exception: a success is recorded even if the delivery was cancelled or
// expired while its request was out. A delivery that was redelivered while its
// request was out keeps its fresh allowance, unless the answer was a success.
// The attempt is kept in every case; recording the same one again changes
// nothing.
//
// Prune. Removes payloads and attempts of what is finished and past its
// retention, and events whose key is past the window, in steps so small that
// intake does not feel them. It removes nothing of an event while one of its
// deliveries is pending.
//
// Lists. Newest first by the time of receipt, each item once, however much
// comes in meanwhile. The work for one page is bounded: where a filter matches
// little of much, a page may be short, even empty, and have a cursor to go on
// with.
//
// # Writers and readers
//
// One goroutine owns the only writing connection and commits what has gathered
// in one transaction. An operation that fails harms no other in its batch. When
// the disk is full, or another process holds a lock, callers get
// [weir/webhook.ErrUnavailable] and the writer goes on as soon as it can; when
// the writer itself dies every caller gets that error, and the process ends.
// Readers never wait for it. No rows and no transaction stay open across a call
// into another package.
//
// # Clock
//
// The store never asks the clock. Times come in with the values and are kept as
// integers in UTC milliseconds.
//
// # Example
//
//	receipt, err := engine.Accept(ctx, webhook.Arrival{Event: event, To: []string{"app"}})
//	// err == nil: committed and synced. Later its owner brings it on:
//	due, err := engine.Due(ctx, webhook.DueQuery{Destination: "app", Now: now, Limit: 8})
//	event, delivery, err := engine.Load(ctx, due.Deliveries[0].EventID, "app")
//	err = engine.Record(ctx, webhook.Record{Attempt: &attempt, Delivery: delivery, Gates: gates, Epoch: gates.Epoch})
package store

// Package store states what weir demands of the engine that keeps its events.
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
// Uniqueness of (source, key) is decided by the inserting statement, so of any
// number of simultaneous copies exactly one is accepted and the others are
// duplicates of it. The key is remembered from the first copy on for the
// dedupe window, independently of the retention of bodies, and is never
// overwritten by a repeat. A repeat with other bytes is treated as
// [weir/webhook.OnConflict] says. A repeat makes the event's dead deliveries
// pending again with a fresh allowance, except those that were too large; it
// does nothing to pending and delivered ones.
//
// Own. Each call takes the destination over from whoever owned it before: it
// returns the state last saved with a higher Epoch. From then on Save and
// Record with an older epoch return [weir/webhook.ErrFenced] and change
// nothing.
//
// Due. Lists pending deliveries whose own next time is reached, longest due
// first, without claiming them: the owner keeps what is in flight. Its cost
// follows what it returns, not what is stored.
//
// Record. One attempt with the delivery's new state and the destination's new
// gates, in one step. Of the gates the highest Rev is kept, whatever order
// records arrive in. A delivery that is final stays as it is, with one
// exception: a success is recorded even if the delivery was cancelled or
// expired while its request was out. The attempt is kept in every case.
//
// # Writers and readers
//
// One goroutine owns the only writing connection and commits what has gathered
// in one transaction. Readers never block it. No rows and no transaction stay
// open across a call into another room.
//
// # Clock
//
// The store never asks the clock. Times come in with the values and are kept as
// integers in UTC milliseconds.
package store

// Package dispatch brings deliveries to their destinations without ever
// overrunning one.
//
// # Guarantees
//
// For each destination, whatever it answers and across restarts: never more
// requests in any window than RATE allows, never more than RETRY_BUDGET
// requests in its window that are not a delivery's first, never more than
// CONCURRENCY in flight, never two for one delivery at once, never one before
// a time that the destination asked for, and while a hold stands or the
// breaker is open one probe per interval. Every delivery ends with a reason or
// waits with a reason and a time.
//
// # Vocabulary
//
// An owner is the goroutine that serves one destination: it takes what is due,
// asks the gates, sends, decides and records. [Check] is the gates, [Decide]
// the decision; both are pure functions over a [webhook.Destination] value
// that take the time and chance as arguments. A probe is the single request
// that finds out whether a hold still stands. A guest is a delivery of another
// destination that is held and names this one as its fallback.
//
// # What happens to an answer
//
// [Table] is the whole table of outcomes; the rest of the package only works
// it out.
//
// # Example
//
//	d, err := dispatch.New(ctx, dispatch.Config{
//		Queue: store, Ledger: store, MaxBytes: 40 << 20,
//		Routes:  []dispatch.Route{{Policy: policy, Sender: client}},
//		Chance:  rand.Float64,
//		Log:     log,
//		Observe: func(o dispatch.Observation) { count(o.Record) },
//	})
//	if err != nil {
//		return err
//	}
//	return d.Run(ctx, hard) // until ctx ends; the end of hard cuts what is out then
//
// Whoever stores an event calls [Dispatcher.Wake] with its destinations.
package dispatch

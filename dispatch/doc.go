// Package dispatch brings deliveries to their destinations without ever
// overrunning one.
//
// # Guarantees
//
// For each destination, whatever it answers and across restarts: never more
// requests in any window than RATE allows, never more than RETRY_BUDGET
// requests in its window that are not a delivery's first, never more than
// CONCURRENCY in flight, never two for one delivery at once, never one before
// a time that the destination asked for, and while a hold applies or the
// breaker is open one probe per interval. Every delivery ends with a reason or
// waits with a reason and a time.
//
// # Vocabulary
//
// An owner is the goroutine that serves one destination. Its steps for one
// delivery are in the files of their names, in this order:
//
//	owner.go    wait until something may be due
//	gates.go    may a request leave now, and of which kind? ([Check])
//	pick.go     which delivery is next?
//	reserve.go  count its request before it leaves
//	send.go     send it and wait for the answer
//	decide.go   what does the answer mean? ([Decide])
//	record.go   commit the attempt, the delivery and the gates
//
// [Check] and [Decide] are pure functions over a [webhook.Destination] value that
// take the time and chance as arguments. A probe is the single request that finds
// out whether a hold still applies. A backlog is the due work of one destination;
// a delivery is borrowed when its destination is held and it is sent to the
// fallback instead.
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

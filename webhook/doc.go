// Package webhook holds the nouns and the words that every other room of weir
// speaks: events, deliveries, attempts, outcomes, destinations and their holds.
//
// # Guarantees
//
// Nothing here does I/O, takes a clock or keeps state: types are values, and
// what works on them ([Window], [Queue.ByWait], [Destination.WithHold]) returns
// new ones. The package imports the standard library only, so any room may
// import it and none needs another room to be understood.
//
// # Vocabulary
//
//   - A source is a configured sender. An [Event] is one webhook as it was
//     received, immutable, with the sender's own id as its key.
//   - A [Delivery] is the duty to bring one event to one destination. Its
//     state is pending, delivered or dead; pending says what it waits for,
//     dead says why.
//   - An [Attempt] is one request that was sent for a delivery and what came
//     back. Its [Outcome] is one of a closed set.
//   - A [Destination] is the durable state of a downstream's gates: the
//     [Hold] that keeps it from being sent to, its [Breaker], its sliding
//     [Window] of requests, its pace.
//
// # Times
//
// Times are UTC and whole milliseconds, because that is what the store keeps.
// [Ceil] rounds a moment up to the next one, so that a wait is never cut short
// by being written down.
//
// # Example
//
//	window := webhook.Window{Rate: webhook.Rate{N: 60, Per: time.Minute}}
//	window = window.Add(now, 1)
//	fmt.Println(window.Left(now), window.Next(now)) // 59, and now: there is room
package webhook

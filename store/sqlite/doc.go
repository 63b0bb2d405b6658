// Package sqlite keeps weir's events in one SQLite file. It fulfils the
// contract of package weir/store; what follows is how.
//
// # Guarantee
//
// A commit is synced before it is reported (journal_mode=WAL,
// synchronous=FULL, read back on every connection). What was acknowledged
// survives a crash of the process, and of the machine on storage that honours
// a sync; it does not survive the loss of the volume. One process owns the
// file: a lock turns a second one away.
//
// # Vocabulary
//
//   - The writer is the goroutine that owns the only writing connection; an
//     operation is a piece of work for it, and what has gathered while it
//     committed is the next batch: one transaction, one sync.
//   - writeConn is that connection with its prepared statements and what is
//     cached while nobody else can write.
//   - A seq is an event's position in the order of receipt: its time and a
//     counter in one number.
//   - The memtable holds the newest keys until they are flushed to their table
//     with thousands of others; see memtable.
//   - A payload is headers and body; it leaves before its event does, and the
//     event that stays behind remembers the key until the dedupe window has
//     passed.
//
// # Statements
//
// Parameters that are compared with = or that limit are written +?1. The plus
// changes no value, and hides from the planner that a parameter stands there:
// SQLite compiles a statement anew for another value when the value might
// change the plan, and the driver clears all values between two uses, so that
// a bare ?1 would have each statement compiled each time, which costs several
// times what the statement does.
//
// # Example
//
//	store, err := sqlite.Open(ctx, sqlite.Config{Path: "weir.db"})
//	if err != nil {
//		return err
//	}
//	defer store.Close(context.WithoutCancel(ctx))
//	receipt, err := store.Accept(ctx, webhook.Arrival{Event: event, To: []string{"default"}})
package sqlite

package store

import "time"

// DefaultPruneLimit is how many rows of each table one step of pruning looks
// at: few enough that an event that comes in meanwhile waits a few
// milliseconds.
const DefaultPruneLimit = 100

// Commit reports one transaction of the writer, committed or failed.
type Commit struct {
	Operations int           // how many were in it
	Took       time.Duration // from its begin to the end of its sync
	// NearlyFull says that little room is left below the cap: it is time to
	// prune, which then also removes payloads of delivered events.
	NearlyFull bool
	// Full says that new events are refused, because there is no space for them
	// below the cap.
	Full bool
	// Err is nil when it was committed. It wraps webhook.ErrUnavailable when
	// the disk or the file is at fault, and not the operation.
	Err error
}

// Size is how much room the store takes, in bytes.
type Size struct {
	Database int64 // the database file
	Free     int64 // of it, pages that the next events will take
	Log      int64 // the write-ahead log beside it
	Max      int64 // the cap; 0 is none
}

// Used is what counts against Max.
func (s Size) Used() int64 { return s.Database - s.Free + s.Log }

// PruneQuery says what may be removed.
type PruneQuery struct {
	// Now decides which keys are past the dedupe window.
	Now time.Time
	// DeliveredBefore and DeadBefore are the times of finishing up to which
	// payloads and attempts are removed.
	DeliveredBefore, DeadBefore time.Time
	// Limit bounds the rows that are looked at. 0 is DefaultPruneLimit.
	Limit int
}

// PruneResult reports what one step of pruning did.
type PruneResult struct {
	Payloads int // payloads removed, with their attempts
	Events   int // events removed altogether
	Pages    int // pages returned to the file system
	// Arrived is how many events were stored since the step before: the next one
	// keeps up with intake if it looks at more than that.
	Arrived int
	// NearlyFull says that little room is left below the cap, as in [Commit].
	NearlyFull bool
	// More says that the next step may be asked for at once; otherwise
	// everything has been looked at.
	More bool
}

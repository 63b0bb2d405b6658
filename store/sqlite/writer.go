package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"weir/store"
	"weir/webhook"
)

// The bounds of one transaction. What has gathered beyond them waits for the
// next.
const (
	queueLength   = 1024
	maxBatchOps   = 256
	maxBatchBytes = 8 << 20
	// maxLog is the length of the write-ahead log from which the writer helps
	// to empty it.
	maxLog = 32 << 20
	// logShare is the part of MaxBytes that the log may take.
	logShare = 4
	// logVolumeShare is the part of the volume that the log may take.
	logVolumeShare = 8
)

// An operation is waiting, then either begun by the writer or abandoned by its
// caller; whoever comes first decides.
const (
	waiting int32 = iota
	begun
	abandoned
)

// operation is one piece of work for the writer.
type operation struct {
	// apply does the work inside a transaction. It may run twice, with a
	// rollback between. Where it refuses (see rejection) it has written nothing.
	apply func(*writeConn) error
	bytes int
	state atomic.Int32
	err   error
	// done is closed when err is final.
	done chan struct{}
}

// writer owns the only writing connection and commits what has gathered in one
// transaction. There is no timer: the batch is what arrived during the last
// commit, so an idle store commits at once and a busy one shares the sync.
type writer struct {
	conn    *writeConn
	readers *readers
	queue   chan *operation
	// stop asks it to finish what is queued; gone is closed when it has ended
	// and the connection is free.
	stop chan struct{}
	gone chan struct{}
	// failed is closed when it died, after err was set.
	failed chan struct{}
	err    error

	// observe is called for every transaction; it may be nil.
	observe func(store.Commit)

	// full says that new events are refused for want of space.
	full atomic.Bool
	// started and committed (since then, 0 when the last transaction failed)
	// say when something was last written.
	started   time.Time
	committed atomic.Int64

	transactions atomic.Int64
	operations   atomic.Int64
	batch        []*operation // reused
}

func newWriter(conn *writeConn, readers *readers) *writer {
	return &writer{
		conn:    conn,
		readers: readers,
		queue:   make(chan *operation, queueLength),
		stop:    make(chan struct{}),
		gone:    make(chan struct{}),
		failed:  make(chan struct{}),
		started: time.Now(),
	}
}

// errClosed answers work that comes after Close.
var errClosed = fmt.Errorf("%w: the store is closed", webhook.ErrUnavailable)

// do hands an operation to the writer and waits for its commit. When ctx ends
// first the operation is dropped if it has not begun; otherwise the commit
// is kept, and the caller does not learn of it.
func (w *writer) do(ctx context.Context, bytes int, apply func(*writeConn) error) error {
	op := &operation{apply: apply, bytes: bytes, done: make(chan struct{})}
	select {
	case <-w.stop:
		return errClosed
	case <-ctx.Done():
		return fmt.Errorf("waiting for the writer: %w", context.Cause(ctx))
	default:
	}
	select {
	case w.queue <- op:
	case <-ctx.Done():
		return fmt.Errorf("waiting for the writer: %w", context.Cause(ctx))
	case <-w.gone:
		return w.ended()
	}
	select {
	case <-op.done:
		return op.err
	case <-ctx.Done():
		op.state.CompareAndSwap(waiting, abandoned)
		return fmt.Errorf("waiting for the commit: %w", context.Cause(ctx))
	case <-w.gone:
		return w.afterEnd(op)
	}
}

// afterEnd answers for an operation whose writer has ended: it may have been
// the last that was finished.
func (w *writer) afterEnd(op *operation) error {
	select {
	case <-op.done:
		return op.err
	default:
		return w.ended()
	}
}

// ended says why there is no writer. It may be called after gone is closed.
func (w *writer) ended() error {
	if w.err != nil {
		return unavailable(w.err)
	}
	return errClosed
}

// run is the writer goroutine.
func (w *writer) run() {
	defer close(w.gone)
	defer func() {
		if p := recover(); p != nil {
			w.fail(fmt.Errorf("the writer panicked: %v", p))
		}
	}()
	for w.err == nil {
		select {
		case op := <-w.queue:
			w.process(w.gather(op))
		case <-w.stop:
			if len(w.queue) == 0 {
				return
			}
		}
	}
}

// fail stores why the writer ends and closes failed.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
		close(w.failed)
	}
}

// gather takes what is queued behind the first operation, within the bounds.
func (w *writer) gather(first *operation) []*operation {
	batch := append(w.batch[:0], first)
	bytes := first.bytes
	for len(batch) < maxBatchOps && bytes < maxBatchBytes {
		select {
		case op := <-w.queue:
			batch = append(batch, op)
			bytes += op.bytes
			continue
		default:
		}
		break
	}
	w.batch = batch
	return batch
}

// process commits a batch and answers everyone in it.
func (w *writer) process(batch []*operation) {
	live := batch[:0]
	for _, op := range batch {
		if op.state.CompareAndSwap(waiting, begun) {
			live = append(live, op)
		}
	}
	if len(live) == 0 {
		return
	}
	err := w.transact(live)
	if err != nil && len(live) > 1 && !transient(err) && w.err == nil {
		w.separately(live)
	} else if err != nil {
		w.answer(live, err)
	}
	for _, op := range live {
		close(op.done)
	}
	clear(w.batch)
	w.shortenLog()
}

// separately gives each operation of a batch that failed a transaction of its
// own, so that one bad operation harms no other.
func (w *writer) separately(batch []*operation) {
	for i := range batch {
		alone := batch[i : i+1]
		if w.err != nil {
			w.answer(alone, w.err)
		} else if err := w.transact(alone); err != nil {
			w.answer(alone, err)
		}
	}
}

// answer sets the error of operations that were not committed.
func (w *writer) answer(batch []*operation, err error) {
	if transient(err) || w.err != nil {
		err = unavailable(err)
	}
	for _, op := range batch {
		op.err = err
	}
}

// shortenLog lets a long log begin again. SQLite does that by itself when it finds a
// moment without readers; where status pages and dispatch loops read without a
// pause there is none, so the writer makes one by pausing them.
//
// The log counts to the cap. Where that, or the volume, is small the log is cut
// off: nothing else would ever make it shorter. On a full volume it keeps its
// space, which is the only one there is.
func (w *writer) shortenLog() {
	w.conn.reserves.keep()
	most, checkpoint := w.conn.maxLogLength(), `PRAGMA wal_checkpoint(PASSIVE)`
	if w.err != nil || fileSize(w.conn.path+"-wal") < most {
		return
	}
	if most < maxLog && !w.conn.reserves.short() {
		checkpoint = `PRAGMA wal_checkpoint(TRUNCATE)`
	}
	w.readers.whileReadersPause(func() {
		// An error, as from a reader in another process, leaves the log as
		// long as it is until the next time.
		_ = w.conn.checkpoint(checkpoint)
	})
}

// transact runs a batch in one transaction. After an error nothing of it is
// stored.
func (w *writer) transact(batch []*operation) error {
	begun := time.Now()
	err := w.attempt(batch)
	if err != nil && isFullDatabase(err) && w.makeSpace() {
		err = w.attempt(batch)
	}
	defer func() { w.report(len(batch), time.Since(begun), err) }()
	w.noteCommit(batch, err)
	if err == nil {
		w.transactions.Add(1)
		w.operations.Add(int64(len(batch)))
		return nil
	}
	if stuck := w.conn.rollback(); stuck != nil {
		w.fail(errors.Join(err, stuck))
	} else if fatal(err) {
		w.fail(err)
	}
	return err
}

// makeSpace ends a transaction for which the volume had no space, and lets the log
// begin again: what is allocated for it is written anew. It reports whether
// another attempt is worth while.
func (w *writer) makeSpace() (made bool) {
	if err := w.conn.rollback(); err != nil {
		return false
	}
	w.readers.whileReadersPause(func() {
		made = w.conn.checkpoint(`PRAGMA wal_checkpoint(RESTART)`) == nil
	})
	return made
}

// noteCommit remembers when something was last written. A transaction in which
// everything was rejected proves nothing.
func (w *writer) noteCommit(batch []*operation, err error) {
	if err != nil {
		w.committed.Store(0)
	} else if slices.ContainsFunc(batch, func(op *operation) bool { return op.err == nil }) {
		w.committed.Store(int64(time.Since(w.started)))
	}
}

// committedWithin reports whether something was written a moment ago, and no
// transaction has failed since. Any goroutine may call it.
func (w *writer) committedWithin(d time.Duration) bool {
	select {
	case <-w.stop:
		return false
	case <-w.failed:
		return false
	default:
	}
	at := w.committed.Load()
	return at > 0 && time.Since(w.started)-time.Duration(at) < d
}

// report passes a transaction to the observer.
func (w *writer) report(operations int, took time.Duration, err error) {
	w.full.Store(w.conn.isFull())
	if w.observe == nil {
		return
	}
	if err != nil && (transient(err) || w.err != nil) {
		err = unavailable(err)
	}
	w.observe(store.Commit{Operations: operations, Took: took, NearlyFull: w.conn.nearlyFull(), Full: w.full.Load(), Err: err})
}

func (w *writer) attempt(batch []*operation) error {
	if err := w.conn.begin(); err != nil {
		return err
	}
	for _, op := range batch {
		op.err = op.apply(w.conn)
		if op.err != nil && !rejection(op.err) {
			return op.err
		}
	}
	return w.conn.commit()
}

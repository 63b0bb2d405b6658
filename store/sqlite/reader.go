package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"weir/webhook"
)

// readers is the pool of reading connections. They never wait for the writer,
// nor it for them, with one exception: see whileReadersPause.
type readers struct {
	db *sql.DB
	// budget bounds the rows of a scan, see scanBudget.
	budget int
	// gate is held for reading while a query runs.
	gate sync.RWMutex
}

// row reads one row; none is webhook.ErrNotFound. Such queries end by
// themselves at once: to make them cancellable would cost a goroutine each.
func (r *readers) row(ctx context.Context, text string, args []any, dest ...any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	r.gate.RLock()
	defer r.gate.RUnlock()
	return notFound(r.db.QueryRowContext(ctx, text, args...).Scan(dest...))
}

// each calls scan for every row of a short list; it is not cancellable either.
func (r *readers) each(ctx context.Context, text string, args []any, scan func(*sql.Rows) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	r.gate.RLock()
	defer r.gate.RUnlock()
	rows, err := r.db.QueryContext(ctx, text, args...)
	return eachRow(rows, err, scan)
}

// readTx runs a read transaction.
func (r *readers) readTx(ctx context.Context, read func(readTx) error) error {
	r.gate.RLock()
	defer r.gate.RUnlock()
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return read(readTx{ctx, tx, r.budget})
}

// whileReadersPause runs f while nobody reads. Queries are short, so is the wait.
func (r *readers) whileReadersPause(f func()) {
	r.gate.Lock()
	defer r.gate.Unlock()
	f()
}

// close ends the pool when the last query has ended.
func (r *readers) close() (err error) {
	r.whileReadersPause(func() { err = r.db.Close() })
	return err
}

// notFound translates the absence of a row.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return webhook.ErrNotFound
	}
	return err
}

// readTx is a read transaction: all its queries see the store as of one moment.
type readTx struct {
	ctx    context.Context //nolint:containedctx // lives as long as one call
	tx     *sql.Tx
	budget int
}

func (tx readTx) row(text string, args []any, dest ...any) error {
	return notFound(tx.tx.QueryRowContext(tx.ctx, text, args...).Scan(dest...))
}

func (tx readTx) each(text string, args []any, scan func(*sql.Rows) error) error {
	rows, err := tx.tx.QueryContext(tx.ctx, text, args...)
	return eachRow(rows, err, scan)
}

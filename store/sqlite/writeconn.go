package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/mattn/go-sqlite3"

	"weir/webhook"
)

// writeConn is the writing connection and what is known about the database while
// nobody else can write to it. It belongs to the writer goroutine (before that
// starts, to Open; after it has ended, to Close).
//
// Its statements run without a context: a deadline does not interrupt SQLite's
// wait for a lock, and a half-done statement would cost the whole batch.
type writeConn struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt

	path     string
	files    openFiles
	window   int64 // of keys, in milliseconds
	maxBytes int64 // 0 is no cap
	pageSize int64

	// counter is the lower part of the next event's seq.
	counter int64
	// newestAt is when the newest event was received, as of Open.
	newestAt int64
	// bytesLeft is how many bytes of new events this transaction may take, content
	// what the pages in use took when it began.
	bytesLeft, content int64
	// refused is the size of the smallest new event that was refused for want
	// of space, 0 when none was since there was space for it.
	refused int64
	// owners caches epoch and newest rev of each destination; unsaved holds
	// gates that are written once at the end of the transaction. Both are
	// forgotten when a transaction is rolled back.
	fencings map[string]fencing
	unsaved  map[string]webhook.Destination
	// reserves keeps space for what has to be written on a full volume.
	reserves *reserves
	// memtable says which event owns a key.
	memtable *memtable
	// counts counts what waits and what is dead.
	counts *counts
	// pruning is how far pruning has come, and committed what it was at the end
	// of the last transaction.
	pruning, committed pruning
}

func newWriteConn(conn *sql.Conn, path string, config Config) *writeConn {
	return &writeConn{
		conn:     conn,
		stmts:    map[string]*sql.Stmt{},
		path:     path,
		window:   config.DedupeWindow.Milliseconds(),
		maxBytes: config.MaxBytes,
		memtable: newMemtable(),
		counts:   &counts{},
		fencings: map[string]fencing{},
		unsaved:  map[string]webhook.Destination{},
	}
}

// prepared returns the statement for a text, prepared once.
func (c *writeConn) prepared(text string) (*sql.Stmt, error) {
	if stmt, ok := c.stmts[text]; ok {
		return stmt, nil
	}
	stmt, err := c.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	c.stmts[text] = stmt
	return stmt, nil
}

// exec runs a statement that answers no rows and returns the number of rows
// that it changed. (One that does would stay open, and no transaction could be
// committed any more: see row and each.)
func (c *writeConn) exec(text string, args ...any) (int64, error) {
	stmt, err := c.prepared(text)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// execWith is exec for a statement with so many bytes among its values. A
// prepared one would keep a copy of them until it is used again.
func (c *writeConn) execWith(bytes int, text string, args ...any) (int64, error) {
	if bytes < largeBody {
		return c.exec(text, args...)
	}
	result, err := c.conn.ExecContext(context.Background(), text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads at most one row into dest and reports whether there was one.
func (c *writeConn) row(text string, args []any, dest ...any) (bool, error) {
	stmt, err := c.prepared(text)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(context.Background(), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls scan for every row.
func (c *writeConn) each(text string, args []any, scan func(*sql.Rows) error) error {
	stmt, err := c.prepared(text)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	return eachRow(rows, err, scan)
}

// eachRow reads rows to their end and closes them.
func eachRow(rows *sql.Rows, err error, scan func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// number reads a single number.
func (c *writeConn) number(text string, args ...any) (int64, error) {
	var n int64
	_, err := c.row(text, args, &n)
	return n, err
}

// begin starts a transaction and measures how much space is left.
func (c *writeConn) begin() error {
	if _, err := c.exec(`BEGIN IMMEDIATE`); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	if err := c.measure(); err != nil {
		return fmt.Errorf("measuring the database: %w", err)
	}
	return nil
}

// measure finds out how much space is left for new events: none on a volume that
// is full, where what is left is for records. Of the cap pages in use and the log
// take some; free pages do not count, the next event takes them.
func (c *writeConn) measure() error {
	c.bytesLeft = math.MaxInt64
	if c.reserves.short() {
		c.bytesLeft = 0
	}
	if c.maxBytes == 0 {
		return nil
	}
	pages, err := c.number(`PRAGMA page_count`)
	if err != nil {
		return err
	}
	free, err := c.number(`PRAGMA freelist_count`)
	if err != nil {
		return err
	}
	c.content = (pages - free) * c.pageSize
	c.bytesLeft = min(c.bytesLeft, c.maxBytes-c.content-fileSize(c.path+"-wal"))
	return nil
}

// nearlyFull reports whether little space is left, so that payloads of delivered
// events are removed early. The log, which comes and goes, counts with its limit.
// One that a reader outside has made longer is no reason, it would only grow.
func (c *writeConn) nearlyFull() bool {
	return c.maxBytes > 0 && c.maxBytes-c.content < c.maxBytes/nearlyFullShare+c.maxLogLength()
}

// refuse returns the error for a new event of a size that there is no space for.
func (c *writeConn) refuse(size int64) error {
	if c.refused == 0 || size < c.refused {
		c.refused = size
	}
	return webhook.ErrFull
}

// A refused event makes the store full up to the size of fullAtMost, and of the
// part fullShare of MaxBytes. That there is no space for a larger one says little
// about others.
const (
	fullAtMost = 1 << 20
	fullShare  = 16
)

// isFull reports whether new events are refused: a small one, or one like another
// that was refused before.
func (c *writeConn) isFull() bool {
	if c.bytesLeft >= min(c.refused, c.fullBelow()) {
		c.refused = 0
	}
	return c.refused > 0 || c.bytesLeft < rowOverhead
}

// fullBelow is the largest size of an event that makes the store full.
func (c *writeConn) fullBelow() int64 {
	if c.maxBytes > 0 {
		return min(fullAtMost, c.maxBytes/fullShare)
	}
	return fullAtMost
}

// maxLogLength is the length from which the writer helps to empty the log.
func (c *writeConn) maxLogLength() int64 {
	most := min(maxLog, c.reserves.volume/logVolumeShare)
	if c.maxBytes > 0 {
		most = min(most, c.maxBytes/logShare)
	}
	return most
}

// fileSize is 0 for a file that is not there.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// commit writes the gates that have gathered, writes some keys to their table,
// and ends the transaction.
func (c *writeConn) commit() error {
	if err := c.files.check(); err != nil {
		return err
	}
	if err := c.saveGates(); err != nil {
		return fmt.Errorf("saving gates: %w", err)
	}
	if err := c.flushKeys(); err != nil {
		return err
	}
	if _, err := c.exec(`COMMIT`); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	c.committed = c.pruning
	c.memtable.committed()
	c.counts.committed()
	return nil
}

// rollback ends the transaction without a trace. Its error means that the
// connection is stuck in a transaction and cannot be used any more.
func (c *writeConn) rollback() error {
	clear(c.fencings)
	clear(c.unsaved)
	c.pruning = c.committed
	c.memtable.rolledBack()
	c.counts.rolledBack()
	idle, err := c.idle()
	if err != nil || idle {
		return err
	}
	if _, err := c.exec(`ROLLBACK`); err != nil {
		return fmt.Errorf("rolling back: %w", err)
	}
	return nil
}

// idle reports whether no transaction is open. SQLite ends one by itself on
// some errors (a full disk), and then a rollback would be an error.
func (c *writeConn) idle() (bool, error) {
	var idle bool
	err := c.conn.Raw(func(conn any) error {
		idle = conn.(*sqlite3.SQLiteConn).AutoCommit()
		return nil
	})
	return idle, err
}

// nextSeq returns the seq of an event received at ms.
func (c *writeConn) nextSeq(ms int64) int64 {
	c.counter++
	return seqAt(ms) | c.counter&counterMask
}

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

// session is the writing connection and what is known about the database while
// nobody else can write to it. It belongs to the writer goroutine (before that
// starts, to Open; after it has ended, to Close).
//
// Its statements run without a context: a deadline does not interrupt SQLite's
// wait for a lock, and a half-done statement would cost the whole batch.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt

	path     string
	files    inPlace
	window   int64 // of keys, in milliseconds
	maxBytes int64 // 0 is no cap
	pageSize int64

	// counter is the lower part of the next event's place.
	counter int64
	// room is how many bytes of new events this transaction may take, content
	// what the pages in use took when it began.
	room, content int64
	// owners caches epoch and newest rev of each destination; unsaved holds
	// gates that are written once at the end of the transaction. Both are
	// forgotten when a transaction is rolled back.
	owners  map[string]owner
	unsaved map[string]webhook.Destination
	// keys says which event has a key.
	keys *keys
	// payloads and events are the rounds of pruning.
	payloads, events sweep
}

func newSession(conn *sql.Conn, path string, config Config) *session {
	return &session{
		conn:     conn,
		stmts:    map[string]*sql.Stmt{},
		path:     path,
		window:   config.DedupeWindow.Milliseconds(),
		maxBytes: config.MaxBytes,
		keys:     newKeys(),
		owners:   map[string]owner{},
		unsaved:  map[string]webhook.Destination{},
	}
}

// prepared returns the statement for a text, prepared once.
func (s *session) prepared(text string) (*sql.Stmt, error) {
	if stmt, ok := s.stmts[text]; ok {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	s.stmts[text] = stmt
	return stmt, nil
}

// exec runs a statement that answers no rows and returns the number of rows
// that it changed. (One that does would stay open, and no transaction could be
// committed any more: see row and each.)
func (s *session) exec(text string, args ...any) (int64, error) {
	stmt, err := s.prepared(text)
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
func (s *session) execWith(bytes int, text string, args ...any) (int64, error) {
	if bytes < largeBody {
		return s.exec(text, args...)
	}
	result, err := s.conn.ExecContext(context.Background(), text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads at most one row into dest and reports whether there was one.
func (s *session) row(text string, args []any, dest ...any) (bool, error) {
	stmt, err := s.prepared(text)
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
func (s *session) each(text string, args []any, scan func(*sql.Rows) error) error {
	stmt, err := s.prepared(text)
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
func (s *session) number(text string, args ...any) (int64, error) {
	var n int64
	_, err := s.row(text, args, &n)
	return n, err
}

// begin starts a transaction and measures how much room it has.
func (s *session) begin() error {
	if _, err := s.exec(`BEGIN IMMEDIATE`); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	s.room = math.MaxInt64
	if s.maxBytes == 0 {
		return nil
	}
	if err := s.measure(); err != nil {
		return fmt.Errorf("measuring the database: %w", err)
	}
	return nil
}

// measure finds out how much is stored: pages in use and the log beside them.
// Free pages do not count, the next event takes them.
func (s *session) measure() error {
	pages, err := s.number(`PRAGMA page_count`)
	if err != nil {
		return err
	}
	free, err := s.number(`PRAGMA freelist_count`)
	if err != nil {
		return err
	}
	s.content = (pages - free) * s.pageSize
	s.room = s.maxBytes - s.content - fileSize(s.path+"-wal")
	return nil
}

// tight reports whether the room is short, so that delivered payloads go before
// their time: the log, which comes and goes, is taken for as long as it may be.
// One that a reader outside has made longer is no reason, it would only grow.
func (s *session) tight() bool {
	return s.maxBytes > 0 && s.maxBytes-s.content < s.maxBytes/tightShare+s.longestLog()
}

// longestLog is the length from which the writer helps to empty the log.
func (s *session) longestLog() int64 {
	if s.maxBytes > 0 {
		return min(maxLog, s.maxBytes/logShare)
	}
	return maxLog
}

// fileSize is 0 for a file that is not there.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// commit writes the gates that have gathered, moves some keys into their table,
// and ends the transaction.
func (s *session) commit() error {
	if err := s.files.check(); err != nil {
		return err
	}
	if err := s.saveGates(); err != nil {
		return fmt.Errorf("saving gates: %w", err)
	}
	if err := s.moveKeys(); err != nil {
		return err
	}
	if _, err := s.exec(`COMMIT`); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	s.keys.committed()
	return nil
}

// rollback ends the transaction without a trace. Its error means that the
// connection is stuck in a transaction and cannot be used any more.
func (s *session) rollback() error {
	clear(s.owners)
	clear(s.unsaved)
	s.keys.rolledBack()
	idle, err := s.idle()
	if err != nil || idle {
		return err
	}
	if _, err := s.exec(`ROLLBACK`); err != nil {
		return fmt.Errorf("rolling back: %w", err)
	}
	return nil
}

// idle reports whether no transaction is open. SQLite ends one by itself on
// some errors (a full disk), and then a rollback would be an error.
func (s *session) idle() (bool, error) {
	var idle bool
	err := s.conn.Raw(func(conn any) error {
		idle = conn.(*sqlite3.SQLiteConn).AutoCommit()
		return nil
	})
	return idle, err
}

// nextPlace returns the place of an event received at ms.
func (s *session) nextPlace(ms int64) int64 {
	s.counter++
	return place(ms) | s.counter&counterMask
}

package sqlite

import (
	"context"
	"database/sql"
)

// Window and budget seams for the tests of this package.

// SetWalkBudget changes how many rows one page may look at.
func (s *Store) SetWalkBudget(rows int) { s.reads.budget = rows }

// Do runs a function in a transaction of the writer, on its connection.
func (s *Store) Do(ctx context.Context, apply func(Session) error) error {
	return s.writer.do(ctx, 0, func(conn *writeConn) error { return apply(Session{conn}) })
}

// Session is the writing connection.
type Session struct{ conn *writeConn }

// Exec runs a statement.
func (s Session) Exec(text string, args ...any) error {
	_, err := s.conn.exec(text, args...)
	return err
}

// Text reads one value.
func (s Session) Text(text string) (value string, err error) {
	_, err = s.conn.row(text, nil, &value)
	return value, err
}

// Pools returns the pools of both kinds of connections.
func (s *Store) Pools() (writing, reading *sql.DB) { return s.pool, s.reads.db }

// What the tests look into.
const (
	ReservePages = reservePages
	VacuumPages  = vacuumPages
)

// Queued is how many operations wait for the writer.
func (s *Store) Queued() int { return len(s.writer.queue) }

// Stats counts the writer's work since Open.
type Stats struct {
	Commits    int64 // transactions committed
	Operations int64 // events, records and the like in them
}

// Stats returns the counters; Operations per Commits is the mean batch.
func (s *Store) Stats() Stats {
	return Stats{Commits: s.writer.transactions.Load(), Operations: s.writer.operations.Load()}
}

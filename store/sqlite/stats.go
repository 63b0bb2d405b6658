package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Size tells how much room the store takes, in bytes.
type Size struct {
	Database int64 // the database file
	Free     int64 // of it, pages that the next events will take
	Log      int64 // the write-ahead log beside it
	Max      int64 // Config.MaxBytes; 0 is no cap
}

// Used is what counts against Max.
func (s Size) Used() int64 { return s.Database - s.Free + s.Log }

// Size measures the store.
func (s *Store) Size(ctx context.Context) (Size, error) {
	size := Size{Log: fileSize(s.path + "-wal"), Max: s.session.maxBytes}
	const query = `SELECT page_count * page_size, freelist_count * page_size
		FROM pragma_page_count, pragma_page_size, pragma_freelist_count`
	if err := s.reads.row(ctx, query, nil, &size.Database, &size.Free); err != nil {
		return Size{}, fmt.Errorf("measuring the database: %w", err)
	}
	return size, nil
}

// Stats counts the writer's work since Open.
type Stats struct {
	Commits    int64 // transactions committed
	Operations int64 // events, records and the like in them
}

// Stats returns the counters; Operations per Commits is the mean batch.
func (s *Store) Stats() Stats {
	return Stats{Commits: s.writer.transactions.Load(), Operations: s.writer.operations.Load()}
}

// Commit is one transaction of the writer, or one that failed.
type Commit struct {
	Operations int           // how many were in it
	Took       time.Duration // from its begin to the end of its sync
	// Tight says that the room below Config.MaxBytes is short: it is time to
	// [Store.Prune], which removes delivered payloads then.
	Tight bool
	// Err is nil when it was committed. It wraps webhook.ErrUnavailable when
	// the fault is that of the disk or the file, and not of what was asked.
	Err error
}

// Pragmas lists the settings of the writing connection as "name=value". Every
// one was read back when the connection was opened: these are in force.
func (s *Store) Pragmas() []string {
	var list []string
	for _, p := range slices.Concat(shape, common, writing) {
		list = append(list, p.name+"="+p.want)
	}
	return list
}

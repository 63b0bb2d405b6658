package sqlite

import (
	"context"
	"fmt"
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

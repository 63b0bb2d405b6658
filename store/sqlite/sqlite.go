package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"weir/store"
)

// Config says where the store is and how much it keeps.
type Config struct {
	// Path of the database file. Its directory must exist.
	Path string
	// DedupeWindow is how long a key is remembered from its first copy on. 0
	// is 14 days.
	DedupeWindow time.Duration
	// MaxBytes caps the size of database and log: at the cap Accept answers
	// new events with webhook.ErrFull. 0 is no cap.
	MaxBytes int64
	// Observe is called for every transaction of the writer, on the writer's
	// goroutine: it must not block. It may be nil.
	Observe func(store.Commit)
	// Readers is the number of reading connections. 0 is 4.
	Readers int
}

// The defaults of Config.
const (
	defaultDedupeWindow = 14 * 24 * time.Hour
	defaultReaders      = 4
)

func (c Config) withDefaults() Config {
	if c.DedupeWindow == 0 {
		c.DedupeWindow = defaultDedupeWindow
	}
	if c.Readers == 0 {
		c.Readers = defaultReaders
	}
	return c
}

// Store is an open database. All methods may be called from any goroutine.
type Store struct {
	path       string
	cleanStart bool

	locks       *locks
	pool        *sql.DB // of the writer: one connection
	conn        *writeConn
	memtable    *memtable
	counts      *counts
	proof       proof
	reads       *readers
	loads       loads
	largeBodies largeBodies
	writer      *writer
	owned       sync.WaitGroup // the writer goroutine, and the one that counts
	// counting ends when the store is closed.
	counting     context.Context //nolint:containedctx // of goroutines that Open starts
	stopCounting context.CancelFunc

	closing  sync.Once
	closeErr error
}

// Open opens the database at config.Path, makes it if there is none, and
// starts the writer. It refuses, with one line that says what to do, a
// directory or file that cannot be written, a database that another process
// has open, one of another program, and one of a newer version.
//
// Its cost does not depend on how much is stored.
func Open(ctx context.Context, config Config) (*Store, error) {
	returnFreedMemory()
	config = config.withDefaults()
	path, err := resolve(config.Path)
	if err != nil {
		return nil, err
	}
	if err := probeFilesAndDirectory(path); err != nil {
		return nil, err
	}
	locks, err := lock(path)
	if err != nil {
		return nil, err
	}
	opened := &Store{path: path, locks: locks, largeBodies: newLargeBodies()}
	if err := opened.open(ctx, config); err != nil {
		return nil, errors.Join(fmt.Errorf("opening database %s: %w", path, err), opened.release())
	}
	return opened, nil
}

func probeFilesAndDirectory(path string) error {
	if err := refuseDirectory(path); err != nil {
		return err
	}
	if err := refuseSharedFile(path); err != nil {
		return err
	}
	return probe(filepath.Dir(path))
}

// open does what needs the lock.
func (s *Store) open(ctx context.Context, config Config) error {
	clearProbes(filepath.Dir(s.path))
	if err := s.locks.lockDatabase(s.path); err != nil {
		return err
	}
	if err := probeLogs(s.path); err != nil {
		return err
	}
	s.pool = newConnector(s.path, "rw", shape, common, writing).open(1)
	if err := s.openWriteConn(ctx, config); err != nil {
		return err
	}
	s.locks.made()
	s.conn.reserves = newReserves(s.locks.database, s.path)
	s.reads = &readers{
		db:     newConnector(s.path, "ro", common, reading).open(config.Readers),
		budget: scanBudget,
	}
	s.loads.readers = s.reads
	if err := s.reads.db.PingContext(ctx); err != nil {
		return fmt.Errorf("opening a reader: %w", err)
	}
	s.memtable, s.counts = s.conn.memtable, s.conn.counts
	s.counting, s.stopCounting = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.recount(s.conn.newestAt >> slotBits); err != nil {
		return err
	}
	s.writer = newWriter(s.conn, s.reads)
	s.writer.observe = config.Observe
	s.owned.Go(s.writer.run)
	return nil
}

// openWriteConn readies the writing connection: schema, cached facts, the mark
// of the start.
func (s *Store) openWriteConn(ctx context.Context, config Config) error {
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return err
	}
	s.conn = newWriteConn(conn, s.path, config)
	steps, err := loadMigrations(migrations)
	if err != nil {
		return err
	}
	if err := migrate(ctx, conn, steps); err != nil {
		return err
	}
	if err := s.conn.load(); err != nil {
		return err
	}
	if s.cleanStart, err = s.conn.markStarted(); err != nil {
		return fmt.Errorf("marking the start: %w", err)
	}
	s.conn.files, err = noteOpenFiles(s.path)
	return err
}

// Close takes no new work, finishes what is queued, empties the log into the
// database, notes that the stop was clean, and releases the lock. When ctx ends
// first it returns the cause of that at once, and the next start will not be a
// clean one; everything that was acknowledged is kept either way.
func (s *Store) Close(ctx context.Context) error {
	s.closing.Do(func() { s.closeErr = s.close(ctx) })
	return s.closeErr
}

func (s *Store) close(ctx context.Context) error {
	close(s.writer.stop)
	s.stopCounting()
	select {
	case <-s.writer.gone:
	case <-ctx.Done():
		return fmt.Errorf("closing the store: %w", context.Cause(ctx))
	}
	s.owned.Wait()
	var err error
	if err = s.reads.close(); err == nil && s.writer.err == nil {
		err = s.conn.markStopped()
	}
	return errors.Join(err, s.release())
}

// release closes what is open, in the reverse order.
func (s *Store) release() error {
	var errs []error
	if s.reads != nil {
		errs = append(errs, s.reads.close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.close())
	}
	if s.pool != nil {
		errs = append(errs, s.pool.Close())
	}
	return errors.Join(append(errs, s.locks.unlock())...)
}

// Failed is closed when the writer has died: nothing can be stored any more,
// every caller gets an error, and the process should end. [Store.Err] says why.
func (s *Store) Failed() <-chan struct{} { return s.writer.failed }

// Err returns why the writer died, nil while it lives.
func (s *Store) Err() error {
	select {
	case <-s.writer.failed:
		return s.writer.err
	default:
		return nil
	}
}

// CleanStart reports whether the process before this one closed the store. A
// new database is clean. After an unclean stop requests may have been in
// flight whose answers nobody wrote down.
func (s *Store) CleanStart() bool { return s.cleanStart }

// Path returns the database's path behind any symbolic link.
func (s *Store) Path() string { return s.path }

// Size measures the store.
func (s *Store) Size(ctx context.Context) (store.Size, error) {
	size := store.Size{Log: fileSize(s.path + "-wal"), Max: s.conn.maxBytes}
	const query = `SELECT page_count * page_size, freelist_count * page_size
		FROM pragma_page_count, pragma_page_size, pragma_freelist_count`
	if err := s.reads.row(ctx, query, nil, &size.Database, &size.Free); err != nil {
		return store.Size{}, fmt.Errorf("measuring the database: %w", err)
	}
	return size, nil
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

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mattn/go-sqlite3"

	"weir/store/sqlite"
	"weir/webhook"
)

// hold makes the writer wait inside a transaction until release is called.
func hold(t *testing.T, store *sqlite.Store) (release func()) {
	t.Helper()
	inside, let := make(chan struct{}), make(chan struct{})
	var held sync.WaitGroup
	held.Go(func() {
		err := store.Do(context.Background(), func(sqlite.Session) error {
			close(inside)
			<-let
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	return sync.OnceFunc(func() { close(let); held.Wait() })
}

func TestOneBadOperationHarmsNoOtherInItsBatch(t *testing.T) {
	store := open(t)
	gates, err := store.Own(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	gates.Rev, gates.Wins = 1, 1
	release := hold(t, store)
	var group sync.WaitGroup
	errs := make([]error, 40)
	for i := range errs {
		group.Go(func() {
			if i%10 == 3 {
				errs[i] = store.Do(t.Context(), func(s sqlite.Session) error {
					return errors.Join(s.Exec(`UPDATE facts SET value = 77`), s.Exec(`INSERT INTO facts VALUES ('clean', 1)`))
				})
				return
			}
			_, errs[i] = store.Accept(t.Context(), sample(int64(i)))
		})
	}
	group.Go(func() {
		if err := store.Save(t.Context(), gates); err != nil {
			t.Error(err)
		}
	})
	waitFor(t, func() bool { return store.Queued() == len(errs)+1 })
	release()
	group.Wait()
	for i, err := range errs {
		if (err != nil) != (i%10 == 3) {
			t.Errorf("operation %d: %v", i, err)
		}
		if errors.Is(err, webhook.ErrUnavailable) {
			t.Errorf("operation %d: a fault of its own is called an outage", i)
		}
	}
	if kept, err := store.Own(t.Context(), "default"); err != nil || kept.Wins != 1 {
		t.Errorf("gates %+v, %v; want those of the same batch", kept, err)
	}
	var changed string
	err = store.Do(t.Context(), func(s sqlite.Session) (err error) {
		changed, err = s.Text(`SELECT count(*) FROM facts WHERE value = 77`)
		return err
	})
	if err != nil || changed != "0" {
		t.Errorf("%s facts of a failed operation are kept (%v)", changed, err)
	}
}

func TestWhatHasNotBegunWhenTheCallerLeavesIsDropped(t *testing.T) {
	store := open(t)
	release := hold(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	in := sample(1)
	var left sync.WaitGroup
	left.Go(func() {
		if _, err := store.Accept(ctx, in); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the caller's own", err)
		}
	})
	waitFor(t, func() bool { return store.Queued() == 1 })
	cancel()
	left.Wait()
	release()
	if err := store.Ping(t.Context()); err != nil { // it was queued later
		t.Fatal(err)
	}
	if _, err := store.Event(t.Context(), in.Event.ID); !errors.Is(err, webhook.ErrNotFound) {
		t.Errorf("error %v, want the event not stored", err)
	}
}

// TestATakeOverSeesWhatWasSavedInTheSameBatch: gates are written once, at the end
// of a transaction, and yet not later than that.
func TestATakeOverSeesWhatWasSavedInTheSameBatch(t *testing.T) {
	store := open(t)
	gates, err := store.Own(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	gates.Rev, gates.Wins = 1, 7
	release := hold(t, store)
	var group sync.WaitGroup
	group.Go(func() {
		if err := store.Save(t.Context(), gates); err != nil {
			t.Error(err)
		}
	})
	waitFor(t, func() bool { return store.Queued() == 1 })
	group.Go(func() {
		owned, err := store.Own(t.Context(), "default")
		if err != nil || owned.Wins != 7 || owned.Epoch != gates.Epoch+1 {
			t.Errorf("the next owner gets %+v, %v", owned, err)
		}
	})
	waitFor(t, func() bool { return store.Queued() == 2 })
	release()
	group.Wait()
}

func TestWhatHasBegunWhenTheCallerLeavesIsCommitted(t *testing.T) {
	store := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := store.Do(ctx, func(s sqlite.Session) error {
		cancel()
		<-ctx.Done()
		return s.Exec(`UPDATE facts SET value = 1 WHERE name = 'ping'`)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	waitFor(t, func() bool { return store.Stats().Commits == 1 })
}

func TestAPanicEndsTheWriterAndEveryCallerLearnsOfIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	store := openAt(t, path)
	in := sample(1)
	if _, err := store.Accept(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	release := hold(t, store)
	var group sync.WaitGroup
	group.Go(func() {
		if err := store.Do(t.Context(), func(sqlite.Session) error { panic("boom") }); !errors.Is(err, webhook.ErrUnavailable) {
			t.Errorf("the one that panicked got %v", err)
		}
	})
	for i := range 20 {
		group.Go(func() {
			if _, err := store.Accept(t.Context(), sample(int64(i))); !errors.Is(err, webhook.ErrUnavailable) {
				t.Errorf("a waiter got %v", err)
			}
		})
	}
	waitFor(t, func() bool { return store.Queued() == 21 })
	if store.Err() != nil {
		t.Errorf("it failed early: %v", store.Err())
	}
	release()
	group.Wait()
	<-store.Failed()
	if store.Err() == nil {
		t.Error("no reason is given")
	}
	if err := store.Ping(t.Context()); !errors.Is(err, webhook.ErrUnavailable) {
		t.Errorf("afterwards: %v", err)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Error(err)
	}
	again := openAt(t, path)
	defer again.Close(t.Context())
	if again.CleanStart() {
		t.Error("the stop counts as clean")
	}
	wantWhole(t, again, map[webhook.ID]bool{in.Event.ID: true})
}

func TestClosingFinishesWhatIsQueuedAndRefusesTheRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	store := openAt(t, path)
	var group sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[webhook.ID]bool{}
	started := make(chan struct{}, 1000)
	for range 32 {
		group.Go(func() {
			for {
				receipt, err := store.Accept(t.Context(), sample(0))
				if errors.Is(err, webhook.ErrUnavailable) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[receipt.ID] = true
				mu.Unlock()
				select {
				case started <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 100 {
		<-started
	}
	if err := store.Close(t.Context()); err != nil {
		t.Error(err)
	}
	group.Wait()
	again := openAt(t, path)
	defer again.Close(t.Context())
	wantWhole(t, again, acknowledged)
}

func TestAClosedStoreSaysSo(t *testing.T) {
	store := openAt(t, filepath.Join(t.TempDir(), "weir.db"))
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Ping(t.Context()); !errors.Is(err, webhook.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if _, err := store.Event(t.Context(), webhook.ID{}); err == nil {
		t.Error("it can still be read")
	}
	select {
	case <-store.Failed():
		t.Error("a close counts as a failure")
	default:
	}
}

func TestAStopThatTakesTooLongIsGivenUp(t *testing.T) {
	store := openAt(t, filepath.Join(t.TempDir(), "weir.db"))
	release := hold(t, store)
	defer release()
	late := errors.New("late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if err := store.Close(ctx); !errors.Is(err, late) {
		t.Errorf("error %v, want %v", err, late)
	}
}

func TestB1AFullDiskIsAnOutageAndPasses(t *testing.T) {
	store := open(t)
	limit := func(pages int) {
		t.Helper()
		err := store.Do(t.Context(), func(s sqlite.Session) error {
			_, err := s.Text(fmt.Sprintf(`PRAGMA max_page_count=%d`, pages))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // the lowest possible is the present size
	var refused webhook.Arrival
	var err error
	for i := range int64(100) {
		refused = sample(i)
		if _, err = store.Accept(t.Context(), refused); err != nil {
			break
		}
	}
	if !errors.Is(err, webhook.ErrUnavailable) {
		t.Fatalf("error %v, want %v", err, webhook.ErrUnavailable)
	}
	if fault, ok := errors.AsType[sqlite3.Error](err); !ok || fault.Code != sqlite3.ErrFull {
		t.Errorf("error %v, want that of a full disk", err)
	}
	if store.Err() != nil {
		t.Errorf("the writer died: %v", store.Err())
	}
	limit(1 << 20)
	if receipt, err := store.Accept(t.Context(), refused); err != nil || receipt.Result != webhook.ResultAccepted {
		t.Errorf("afterwards: %v, %v", receipt, err)
	}
}

func TestB1ALockHeldByAnotherProcessIsAnOutageAndPasses(t *testing.T) {
	store := open(t)
	other, err := openPlain(store.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	in := sample(1)
	if _, err := store.Accept(t.Context(), in); !errors.Is(err, webhook.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, webhook.ErrUnavailable)
	}
	if err := store.Ping(t.Context()); !errors.Is(err, webhook.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, webhook.ErrUnavailable)
	}
	if _, err := other.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if receipt, err := store.Accept(t.Context(), in); err != nil || receipt.Result != webhook.ResultAccepted {
		t.Errorf("afterwards: %v, %v", receipt, err)
	}
}

// TestB1AFileThatWasTakenAwayTakesNothing: the open file could still be written
// to, but nobody would find it again.
func TestB1AFileThatWasTakenAwayTakesNothing(t *testing.T) {
	for _, suffix := range []string{"", "-wal"} {
		for name, replace := range map[string]bool{"removed": false, "replaced": true} {
			t.Run(name+suffix, func(t *testing.T) {
				store := open(t)
				path := store.Path() + suffix
				away := path + ".away"
				if err := os.Rename(path, away); err != nil {
					t.Fatal(err)
				}
				if replace {
					if err := os.WriteFile(path, nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				in := sample(1)
				if _, err := store.Accept(t.Context(), in); !errors.Is(err, webhook.ErrUnavailable) {
					t.Errorf("error %v, want %v", err, webhook.ErrUnavailable)
				}
				if err := store.Ping(t.Context()); !errors.Is(err, webhook.ErrUnavailable) {
					t.Errorf("error %v, want %v", err, webhook.ErrUnavailable)
				}
				if err := os.Rename(away, path); err != nil {
					t.Fatal(err)
				}
				if receipt, err := store.Accept(t.Context(), in); err != nil || receipt.Result != webhook.ResultAccepted {
					t.Errorf("put back: %v, %v", receipt, err)
				}
			})
		}
	}
}

func TestABatchSharesOneCommit(t *testing.T) {
	store := open(t)
	release := hold(t, store)
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			if _, err := store.Accept(t.Context(), sample(int64(i))); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, func() bool { return store.Queued() == 100 })
	release()
	group.Wait()
	if stats := store.Stats(); stats.Commits != 2 || stats.Operations != 101 {
		t.Errorf("%+v, want the holding one and one for all others", stats)
	}
}

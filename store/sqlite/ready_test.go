package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/store"
	"weir/store/sqlite"
	"weir/webhook"
)

func TestReadyCommitsOnceHoweverOftenItIsAsked(t *testing.T) {
	s := open(t)
	each(8, 200, func(int) {
		if err := s.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
	// One for each second that the calls took, on a slow machine.
	if n := s.Stats().Commits; n == 0 || n > 20 {
		t.Errorf("200 calls committed %d times", n)
	}
	before := s.Stats().Commits
	fill(t, s, 1, 10)
	if err := s.Ready(t.Context()); err != nil || s.Stats().Commits != before+1 {
		t.Errorf("after a commit: %v, %d commits", err, s.Stats().Commits-before)
	}
}

// TestReadyAnswersWhileTheStoreIsLocked: to all who ask, and one of them waits in
// the queue of the writer.
func TestReadyAnswersWhileTheStoreIsLocked(t *testing.T) {
	s := open(t)
	release := hold(t, s)
	defer release()
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if err := s.Ready(t.Context()); !errors.Is(err, webhook.ErrUnavailable) {
				t.Errorf("error %v", err)
			}
		})
	}
	group.Wait()
	if n := s.Queued(); n > 5 {
		t.Errorf("%d commits wait", n)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, webhook.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	release()
	waitFor(t, func() bool { return s.Ready(t.Context()) == nil })
}

func TestReadySaysThatTheStoreIsClosed(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "weir.db"))
	fill(t, s, 1, 10)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, webhook.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

func TestAStoreAtItsCapIsFullUntilTheRefusedEventFits(t *testing.T) {
	var observed atomic.Bool
	s, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: filepath.Join(t.TempDir(), "weir.db"), MaxBytes: 1 << 20,
		Observe: func(c store.Commit) { observed.Store(c.Full) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.WithoutCancel(t.Context()))
	if s.Full() || s.Ready(t.Context()) != nil {
		t.Error("it is full while it is empty")
	}
	huge := sample(5000)
	huge.Event.Body = make([]byte, 3<<20)
	if _, err := s.Accept(t.Context(), huge); !errors.Is(err, webhook.ErrFull) {
		t.Fatalf("an event over the cap: %v", err)
	}
	if s.Full() {
		t.Error("an event that never fits makes it full")
	}
	stored, refused := fillUp(t, s)
	for range 2 { // a duplicate is accepted all the same
		if err := s.Ready(t.Context()); !s.Full() || !observed.Load() || !errors.Is(err, webhook.ErrFull) {
			t.Errorf("full: %v, observed: %v, ready: %v", s.Full(), observed.Load(), err)
		}
		if _, err := s.Accept(t.Context(), stored[0]); err != nil {
			t.Error(err)
		}
	}
	deliver(t, s, stored)
	pruneAll(t, s, store.PruneQuery{Now: time.Now().Add(time.Second)})
	if err := s.Ready(t.Context()); s.Full() || observed.Load() || err != nil {
		t.Errorf("after pruning: full %v, observed %v, ready %v", s.Full(), observed.Load(), err)
	}
	if _, err := s.Accept(t.Context(), refused); err != nil {
		t.Error(err)
	}
}

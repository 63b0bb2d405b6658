package sqlite_test

import (
	"bytes"
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

// TestWhoPrunesWhenRoomIsShortNeverMeetsTheCap: delivered bodies leave before
// an event has to be refused, however many come.
func TestWhoPrunesWhenRoomIsShortNeverMeetsTheCap(t *testing.T) {
	const limit, events = 4 << 20, 600 // three times what the cap holds
	var short atomic.Bool
	s, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: filepath.Join(t.TempDir(), "weir.db"), MaxBytes: limit,
		Observe: func(c store.Commit) { short.Store(c.NearlyFull) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.WithoutCancel(t.Context()))
	rounds := 0
	for i := range int64(events) {
		in := sample(i)
		in.Event.Body = bytes.Repeat([]byte("x"), 20_000)
		if _, err := s.Accept(t.Context(), in); err != nil {
			t.Fatalf("event %d after %d rounds of pruning: %v", i, rounds, err)
		}
		deliver(t, s, []webhook.Arrival{in})
		if short.Load() {
			rounds++
			pruneAll(t, s, store.PruneQuery{Now: time.Now().Add(time.Second)})
		}
	}
	if size := sizeOf(t, s); size.Used() > limit {
		t.Errorf("%+v is more than %d", size, limit)
	}
	// Not all that is delivered goes: only as much as is needed.
	if rounds < 3 {
		t.Errorf("room was short %d times", rounds)
	}
}

func TestAtTheCapRepeatsAndRecordsGoOnAndDeliveredBodiesLeave(t *testing.T) {
	const limit = 2 << 20
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "weir.db"), MaxBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.WithoutCancel(t.Context()))
	stored, refused := fillUp(t, s)
	if used := sizeOf(t, s).Used(); used > limit+limit/8 {
		t.Errorf("%d bytes are used, want about %d", used, limit)
	}
	again := stored[0]
	again.Event.ID = sample(0).Event.ID
	if receipt, err := s.Accept(t.Context(), again); err != nil || receipt.Result != webhook.ResultDuplicate {
		t.Errorf("a repeat: %v, %v", receipt, err)
	}
	other := again
	other.Event.Body, other.OnConflict = bytes.Repeat([]byte("y"), limit), webhook.KeepConflict
	if _, err := s.Accept(t.Context(), other); !errors.Is(err, webhook.ErrFull) {
		t.Errorf("a conflict to keep: %v", err)
	}
	keep := store.PruneQuery{Now: time.Now().Add(time.Second)} // retention has passed for nothing
	if n := pruneAll(t, s, keep); n != 0 {
		t.Errorf("%d undelivered payloads were removed", n)
	}
	deliver(t, s, stored)
	if n := pruneAll(t, s, keep); n == 0 {
		t.Error("no delivered payload made room")
	}
	if receipt, err := s.Accept(t.Context(), refused); err != nil || receipt.Result != webhook.ResultAccepted {
		t.Errorf("afterwards: %v, %v", receipt, err)
	}
}

// TestASmallCapIsNotEatenByTheLog: the log counts to the cap, and nothing is
// checkpointed by itself below 8 MB. A s that is emptied again and again
// must take as much each time.
func TestASmallCapIsNotEatenByTheLog(t *testing.T) {
	const limit = 2 << 20
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "weir.db"), MaxBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.WithoutCancel(t.Context()))
	for round := range 5 {
		stored, _ := fillUp(t, s)
		if bytes := len(stored) * 20_000; bytes < limit/2 {
			t.Errorf("round %d: %d bytes were taken below a cap of %d", round, bytes, limit)
		}
		deliver(t, s, stored)
		pruneAll(t, s, store.PruneQuery{Now: time.Now().Add(time.Second)})
	}
	if used := sizeOf(t, s).Used(); used > limit {
		t.Errorf("%d bytes are used", used)
	}
}

// TestAReaderOutsideThatPinsTheLogCostsRoomOnly: while another process keeps a
// transaction open the log cannot begin again. Nothing fails, its length is
// told, and it is short again once the reader has gone.
func TestAReaderOutsideThatPinsTheLogCostsRoomOnly(t *testing.T) {
	const most = 16 << 20 // what SQLite leaves of a log that begins again
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openAt(t, path)
	fill(t, s, 1, 10)
	outside, err := openPlain(path)
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	reading, err := outside.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var events int
	if err := reading.QueryRowContext(t.Context(), `SELECT count(*) FROM events`).Scan(&events); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, fill(t, s, 2000, 20_000))
	if size := sizeOf(t, s); size.Log < 2*most {
		t.Errorf("the log is not pinned: %+v", size)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	// What comes next takes up the room: one commit empties the log, and
	// another begins it again.
	for range 5 {
		fill(t, s, 1, 10)
	}
	if size := sizeOf(t, s); size.Log > most {
		t.Errorf("the reader has gone, and the log is as long as it was: %+v", size)
	}
}

func TestTheCapHoldsWithinOneBatch(t *testing.T) {
	const limit = 1 << 20
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "weir.db"), MaxBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.WithoutCancel(t.Context()))
	release := hold(t, s)
	var full atomic.Int64
	var group sync.WaitGroup
	for i := range int64(40) {
		group.Go(func() {
			in := sample(i)
			in.Event.Body = bytes.Repeat([]byte("x"), 100_000)
			_, err := s.Accept(t.Context(), in)
			switch {
			case errors.Is(err, webhook.ErrFull):
				full.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}
	waitFor(t, func() bool { return s.Queued() == 40 })
	release()
	group.Wait()
	if n := full.Load(); n < 30 || n == 40 {
		t.Errorf("%d of 40 were refused, want all but those that fit", n)
	}
}

// TestAStepOfPruningCountsWhatHasArrived: so that the next one can keep up.
func TestAStepOfPruningCountsWhatHasArrived(t *testing.T) {
	s := open(t)
	fill(t, s, 35, 100)
	for _, want := range []int{35, 0} {
		result, err := s.Prune(t.Context(), store.PruneQuery{Now: time.Now()})
		if err != nil || result.Arrived != want {
			t.Errorf("%+v, %v: want %d events", result, err, want)
		}
	}
}

// fillUp accepts events until one is refused.
func fillUp(t *testing.T, s *sqlite.Store) (stored []webhook.Arrival, refused webhook.Arrival) {
	t.Helper()
	for i := range int64(1000) {
		in := sample(i)
		in.Event.Body = bytes.Repeat([]byte("x"), 20_000)
		_, err := s.Accept(t.Context(), in)
		if errors.Is(err, webhook.ErrFull) {
			return stored, in
		}
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, in)
	}
	t.Fatal("the cap was never met")
	return nil, webhook.Arrival{}
}

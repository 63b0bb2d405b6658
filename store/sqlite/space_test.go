package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"weir/store"
	"weir/store/sqlite"
	"weir/webhook"
)

// fill accepts n events with bodies of a size, many at a time.
func fill(t *testing.T, s *sqlite.Store, n int, size int) []webhook.Arrival {
	t.Helper()
	arrivals := make([]webhook.Arrival, n)
	each(32, n, func(i int) {
		arrivals[i] = sample(int64(i))
		arrivals[i].Event.Body = bytes.Repeat([]byte{byte(i)}, size)
		if _, err := s.Accept(t.Context(), arrivals[i]); err != nil {
			t.Error(err)
		}
	})
	return arrivals
}

// deliver records the delivery of events, many at a time.
func deliver(t *testing.T, s *sqlite.Store, arrivals []webhook.Arrival) {
	t.Helper()
	gates, err := s.Own(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	each(32, len(arrivals), func(i int) {
		if err := s.Record(t.Context(), delivered(arrivals[i], gates)); err != nil {
			t.Error(err)
		}
	})
}

// delivered is the record of an arrival's first and last attempt.
func delivered(in webhook.Arrival, gates webhook.Destination) webhook.Record {
	at := webhook.Ceil(in.Event.ReceivedAt)
	return webhook.Record{
		Attempt: &webhook.Attempt{
			Number: 1, At: at, Duration: time.Millisecond, SentTo: "default", Outcome: webhook.OutcomeDelivered,
			Status: 200, Spent: true, Rule: "success", Decision: webhook.Delivered,
			Evidence: webhook.Evidence{Body: `{"ok":true}`, Headers: map[string]string{"Content-Type": "application/json"}},
		},
		Delivery: webhook.Delivery{
			EventID: in.Event.ID, Destination: "default", State: webhook.Delivered, Attempts: 1, Spent: 1,
			NextAttemptAt: at, AgeFrom: at, FinishedAt: at,
		},
		Gates: gates, Epoch: gates.Epoch,
	}
}

func sizeOf(t *testing.T, s *sqlite.Store) store.Size {
	t.Helper()
	size, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return size
}

func TestB65TheFileShrinksInSmallStepsWhileEventsComeIn(t *testing.T) {
	s := open(t)
	deliver(t, s, fill(t, s, 2000, 20_000))
	before := sizeOf(t, s)
	if before.Database < 40_000_000 {
		t.Fatalf("%d bytes, want 40 MB at least", before.Database)
	}
	done := make(chan struct{})
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for n := int64(0); ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.Accept(t.Context(), sample(n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	removed := pruneAll(t, s, store.PruneQuery{Now: time.Now(), DeliveredBefore: time.Now()})
	close(done)
	senders.Wait()
	// What came in meanwhile is pending and stays; it is far below what left.
	if after := sizeOf(t, s); removed != 2000 || after.Database > before.Database/2 ||
		after.Free > 2*sqlite.ReservePages*8192 {
		t.Errorf("%d removed, size %+v after %+v", removed, after, before)
	}
	if err := s.CheckIntegrity(t.Context()); err != nil {
		t.Error(err)
	}
}

// pruneAll takes steps until there is nothing more to do, checks that each is
// small, and returns how many payloads went.
func pruneAll(t *testing.T, s *sqlite.Store, query store.PruneQuery) int {
	t.Helper()
	var removed int
	for {
		step, err := s.Prune(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if step.Payloads > store.DefaultPruneLimit || step.Pages > sqlite.VacuumPages {
			t.Errorf("a step of %+v is too large", step)
		}
		if removed += step.Payloads; !step.More {
			return removed
		}
	}
}

func TestRoomThatWasFreedIsUsedAgain(t *testing.T) {
	s := open(t)
	var high int64
	for round := range 5 {
		deliver(t, s, fill(t, s, 300, 20_000))
		size := sizeOf(t, s)
		if round == 0 {
			high = size.Database
		}
		if size.Database > high+high/2 {
			t.Errorf("round %d: %d bytes, want about %d", round, size.Database, high)
		}
		pruneAll(t, s, store.PruneQuery{Now: time.Now(), DeliveredBefore: time.Now()})
	}
}

func TestB61TheLogStaysSmallAndIsEmptiedAtAStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openAt(t, path)
	ctx, stop := context.WithCancel(t.Context())
	var polls sync.WaitGroup
	polls.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Events(t.Context(), webhook.EventQuery{Limit: webhook.MaxPage}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 5 {
		fill(t, s, 800, 20_000)
		if size := sizeOf(t, s); size.Log > 64<<20 {
			t.Errorf("the log has %d bytes", size.Log)
		}
	}
	stop()
	polls.Wait()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		t.Errorf("the log has %d bytes after the stop", info.Size())
	}
}

func TestDeadPayloadsHaveARetentionOfTheirOwn(t *testing.T) {
	s := open(t)
	arrivals := fill(t, s, 2, 100)
	deliver(t, s, arrivals[:1])
	if err := s.Cancel(t.Context(), arrivals[1].Event.ID, "default", time.Now()); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(time.Hour)
	if n := pruneAll(t, s, store.PruneQuery{Now: now, DeliveredBefore: now}); n != 1 {
		t.Errorf("%d payloads went with the delivered, want 1", n)
	}
	if _, err := s.Body(t.Context(), arrivals[1].Event.ID); err != nil {
		t.Errorf("the dead one: %v", err)
	}
	if n := pruneAll(t, s, store.PruneQuery{Now: now, DeadBefore: now}); n != 1 {
		t.Errorf("%d payloads went with the dead, want 1", n)
	}
}

func TestB65ABackupHasEverythingThatWasAcknowledgedBefore(t *testing.T) {
	s := open(t)
	for name, backup := range map[string]func(to string) error{
		"by the service": func(to string) error { return s.Backup(t.Context(), to) },
		"by another process": func(to string) error {
			out, err := process(t, "backup", s.Path(), to).Output()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			acknowledged := map[webhook.ID]bool{}
			for _, in := range fill(t, s, 200, 1024) {
				acknowledged[in.Event.ID] = true
			}
			done := make(chan struct{})
			var sender sync.WaitGroup
			sender.Go(func() {
				for n := int64(0); ; n++ {
					select {
					case <-done:
						return
					default:
					}
					if _, err := s.Accept(t.Context(), sample(n)); err != nil {
						t.Error(err)
						return
					}
				}
			})
			to := filepath.Join(t.TempDir(), "copy.db")
			err := backup(to)
			close(done)
			sender.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if err := backup(to); err == nil {
				t.Error("an existing file was overwritten")
			}
			if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the copy is %v, %v; want it readable by its owner only", info, err)
			}
			copied := openAt(t, to)
			defer copied.Close(t.Context())
			wantWhole(t, copied, acknowledged)
		})
	}
}

func TestABackupOfAStoppedServiceWorks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openAt(t, path)
	in := sample(1)
	if _, err := s.Accept(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := sqlite.BackupFile(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	copied := openAt(t, to)
	defer copied.Close(t.Context())
	wantWhole(t, copied, map[webhook.ID]bool{in.Event.ID: true})
}

func TestABackupThatFailsLeavesNothingBehind(t *testing.T) {
	directory := t.TempDir()
	to := filepath.Join(directory, "copy.db")
	if err := sqlite.BackupFile(t.Context(), filepath.Join(directory, "none.db"), to); err == nil {
		t.Error("a database that does not exist was copied")
	}
	if err := os.WriteFile(filepath.Join(directory, "bad.db"), bytes.Repeat([]byte("no"), 9000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.BackupFile(t.Context(), filepath.Join(directory, "bad.db"), to); err == nil {
		t.Error("what is no database was copied")
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a half copy is left")
	}
}

func TestDamageIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openAt(t, path)
	fill(t, s, 200, 100)
	if err := s.CheckIntegrity(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err == nil {
		_, err = file.WriteAt(bytes.Repeat([]byte{0xff}, 8192), info.Size()-2*8192)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	damaged := openAt(t, path)
	defer damaged.Close(t.Context())
	if err := damaged.CheckIntegrity(t.Context()); err == nil {
		t.Error("no damage was found")
	}
}

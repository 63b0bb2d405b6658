package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"weir/store"
	"weir/store/sqlite"
	"weir/webhook"
)

// smallVolume mounts a volume of some MiB for a database, where that is
// permitted.
func smallVolume(t *testing.T, size string) (path string, mounted bool) {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("nothing can be mounted here: %v", err)
		}
		t.Logf("no volume can be mounted here (%v)", err)
		return "", false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(folder, "weir.db"), true
}

// fillDisk leaves no byte free beside a database.
func fillDisk(t *testing.T, database string) (free func()) {
	t.Helper()
	path := filepath.Join(filepath.Dir(database), "filler")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 20, 4096, 1} {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return func() { os.Remove(path) }
}

// killedAfter accepts events in another process, leaves no byte on the volume,
// kills the process, and returns what was acknowledged.
func killedAfter(t *testing.T, path string, events int) (ids []webhook.ID, free func()) {
	t.Helper()
	cmd := process(t, "fill", path, fmt.Sprint(events))
	in, err := cmd.StdinPipe() // is open until the end
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "done"; {
		id, err := webhook.ParseID(lines.Text())
		if err != nil {
			t.Fatal(lines.Text())
		}
		ids = append(ids, id)
	}
	free = fillDisk(t, path)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return ids, free
}

func TestAStoreThatWasKilledOnAFullDiskIsOpened(t *testing.T) {
	for _, events := range []int{5, 200, 2000} {
		t.Run(fmt.Sprint(events, " events"), func(t *testing.T) {
			path, mounted := smallVolume(t, "24m")
			if !mounted {
				return
			}
			ids, free := killedAfter(t, path, events)
			s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { s.Close(context.WithoutCancel(t.Context())) }()
			gates, err := s.Own(t.Context(), "default")
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				_, d, err := s.Load(t.Context(), id, "default")
				if err != nil {
					t.Fatal(err)
				}
				d.State, d.FinishedAt, d.Attempts = webhook.Delivered, webhook.Ceil(time.Now()), 1
				gates.Rev++
				a := webhook.Attempt{Number: 1, At: time.Now(), SentTo: "default", Outcome: webhook.OutcomeDelivered, Decision: webhook.Delivered}
				err = s.Record(t.Context(), webhook.Record{Attempt: &a, Delivery: d, Gates: gates, Epoch: gates.Epoch})
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := pruneAll(t, s, store.PruneQuery{Now: time.Now().Add(time.Second), DeliveredBefore: time.Now().Add(time.Second)}); n < len(ids) {
				t.Errorf("%d pruned, want %d", n, len(ids))
			}
			var refused error
			for n := int64(1); refused == nil && n < 5000; n++ {
				in := sample(n)
				in.Event.Body = make([]byte, 10_000)
				_, refused = s.Accept(t.Context(), in)
			}
			if !errors.Is(refused, webhook.ErrFull) {
				t.Errorf("an event on a full disk: %v", refused)
			}
			if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("a stop on a full disk: %v", err)
			}
			free()
			s = openAt(t, path)
			if !s.CleanStart() {
				t.Error("the stop was not clean")
			}
			if _, err := s.Accept(t.Context(), sample(9999)); err != nil {
				t.Errorf("with space again: %v", err)
			}
		})
	}
}

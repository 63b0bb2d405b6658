package sqlite_test

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/store"
	"weir/store/sqlite"
	"weir/webhook"
)

// TestCommitsAreObserved: each transaction is reported once, with what was in it.
func TestCommitsAreObserved(t *testing.T) {
	var mu sync.Mutex
	var seen []store.Commit
	store, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: filepath.Join(t.TempDir(), "weir.db"),
		Observe: func(c store.Commit) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, c)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	for range 3 {
		if err := store.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Cancel(t.Context(), webhook.ID{}, "nowhere", time.Now()); !errors.Is(err, webhook.ErrNotFound) {
		t.Fatalf("cancelling nothing: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	operations := 0
	for _, c := range seen {
		operations += c.Operations
		if c.Err != nil || c.Took <= 0 {
			t.Errorf("%+v", c)
		}
	}
	if operations != 4 {
		t.Errorf("%d operations in %v", operations, seen)
	}
}

func TestPragmasNameWhatKeepsEventsSafe(t *testing.T) {
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "weir.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	for _, want := range []string{"journal_mode=wal", "synchronous=2"} {
		if !slices.Contains(store.Pragmas(), want) {
			t.Errorf("%s is missing in %v", want, store.Pragmas())
		}
	}
}

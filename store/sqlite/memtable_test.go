package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/store"
	"weir/webhook"
)

// keyTrial tries the memory of keys against a plain one, with rounds so small
// that every step of them is met often.
type keyTrial struct {
	t      *testing.T
	store  *Store
	path   string
	chance *rand.Rand
	now    time.Time
	// window is how long one of the keys is remembered.
	window time.Duration
	keys   int
	// since is when the event that has a key now was received.
	since map[string]time.Time
}

func TestKeysAreRememberedThroughRoundsRollbacksAndCrashes(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			trial := &keyTrial{
				t: t, path: filepath.Join(t.TempDir(), "weir.db"), chance: rand.New(rand.NewPCG(seed, 1)),
				now: time.Now(), since: map[string]time.Time{}, window: time.Hour, keys: 60,
			}
			if seed%2 == 0 { // now keys are forgotten while they move
				trial.window, trial.keys = 5*time.Minute, 20
			}
			trial.open()
			for range 600 {
				trial.step()
			}
			trial.check()
			trial.close()
		})
	}
}

func (k *keyTrial) open() {
	k.t.Helper()
	store, err := Open(k.t.Context(), Config{Path: k.path, DedupeWindow: k.window})
	if err != nil {
		k.t.Fatal(err)
	}
	store.memtable.flushSize, store.memtable.flushStep, store.memtable.noteEvery = 10, 3, 5
	k.store = store
}

func (k *keyTrial) close() {
	k.t.Helper()
	if err := k.store.Close(context.WithoutCancel(k.t.Context())); err != nil {
		k.t.Fatal(err)
	}
}

// step does one thing.
func (k *keyTrial) step() {
	k.t.Helper()
	k.now = k.now.Add(time.Duration(k.chance.IntN(80)) * time.Second)
	switch n := k.chance.IntN(100); {
	case n < 75:
		k.accept()
	case n < 85:
		k.fail()
	case n < 94:
		k.prune()
	case n < 97:
		k.check()
	default:
		k.crash()
	}
}

// arrival has one of a few keys. Requests do not come to the writer in the order
// of their receipt.
func (k *keyTrial) arrival() webhook.Arrival {
	id, err := uuid.NewV7()
	if err != nil {
		k.t.Fatal(err)
	}
	return webhook.Arrival{Event: webhook.Event{
		ID: webhook.ID(id), Source: "github", Key: fmt.Sprint("key-", k.chance.IntN(k.keys)),
		ReceivedAt: k.now.Add(-time.Duration(k.chance.IntN(180)) * time.Second), Body: []byte("{}"),
	}}
}

// accept gives a key to a new event, unless one has it.
func (k *keyTrial) accept() {
	k.t.Helper()
	in := k.arrival()
	want := webhook.ResultAccepted
	at := in.Event.ReceivedAt
	if since, found := k.since[in.Event.Key]; found && millis(since) >= millis(at)-k.window.Milliseconds() {
		want = webhook.ResultDuplicate
	} else {
		k.since[in.Event.Key] = at
	}
	receipt, err := k.store.Accept(k.t.Context(), in)
	if err != nil || receipt.Result != want {
		k.t.Fatalf("%s at %s: %v, %v, want %s", in.Event.Key, k.now, receipt, err, want)
	}
}

// fail accepts in a transaction that is rolled back, sometimes as late as where
// its commit would be.
func (k *keyTrial) fail() {
	k.t.Helper()
	broken := errors.New("broken")
	several := []*arrival{newArrival(k.arrival()), newArrival(k.arrival()), newArrival(k.arrival())}
	late := k.chance.IntN(2) == 0
	err := k.store.writer.do(k.t.Context(), 0, func(s *writeConn) error {
		err := broken
		for _, in := range several {
			_, fault := s.accept(in)
			err = errors.Join(err, fault)
		}
		if late {
			err = errors.Join(err, s.flushKeys())
		}
		return err
	})
	if !errors.Is(err, broken) {
		k.t.Fatal(err)
	}
}

// prune forgets what is past the window.
func (k *keyTrial) prune() {
	k.t.Helper()
	for more := true; more; {
		at := k.now.Add(-3 * time.Minute)
		result, err := k.store.Prune(k.t.Context(), store.PruneQuery{Now: at, DeliveredBefore: at, DeadBefore: at})
		if err != nil {
			k.t.Fatal(err)
		}
		more = result.More
	}
}

// crash goes on with the files as they are in this moment.
func (k *keyTrial) crash() {
	k.t.Helper()
	next := filepath.Join(k.t.TempDir(), "weir.db")
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(k.path + suffix)
		if err == nil {
			err = os.WriteFile(next+suffix, text, 0o600)
		}
		if err != nil {
			k.t.Fatal(err)
		}
	}
	k.close()
	k.path = next
	k.open()
}

// check compares what events say of their keys with what is found by them.
func (k *keyTrial) check() {
	k.t.Helper()
	err := k.store.writer.do(k.t.Context(), 0, func(s *writeConn) error {
		holders := map[string]int64{}
		err := s.each(`SELECT dedupe, seq FROM events WHERE dedupe IS NOT NULL`, nil, func(rows *sql.Rows) error {
			var name []byte
			var seq int64
			err := rows.Scan(&name, &seq)
			if _, twice := holders[string(name)]; twice {
				err = errors.Join(err, fmt.Errorf("two events have the key %x", name))
			}
			holders[string(name)] = seq
			return err
		})
		for name, seq := range holders {
			if got, found, fault := s.keyOwner([]byte(name)); fault != nil || !found || got != seq {
				err = errors.Join(err, fault, fmt.Errorf("%x is at %d, found %v at %d", name, seq, found, got))
			}
		}
		stale := func(name []byte, seq int64) {
			if holders[string(name)] != seq {
				err = errors.Join(err, fmt.Errorf("%x is said to be at %d and is at %d", name, seq, holders[string(name)]))
			}
		}
		for name, seq := range s.memtable.entries {
			stale(name[:], seq)
		}
		if n := len(s.memtable.entries); n > 3*s.memtable.flushSize {
			err = errors.Join(err, fmt.Errorf("%d keys are in memory", n))
		}
		return errors.Join(err, s.each(`SELECT name, seq FROM keys`, nil, func(rows *sql.Rows) error {
			var name []byte
			var seq int64
			err := rows.Scan(&name, &seq)
			stale(name, seq)
			return err
		}))
	})
	if err != nil {
		k.t.Fatal(err)
	}
	for key, since := range k.since {
		forgotten := k.now.Sub(since) > k.window
		_, err := k.store.EventByKey(k.t.Context(), "github", key)
		if err != nil && !(forgotten && errors.Is(err, webhook.ErrNotFound)) {
			k.t.Fatal(key, err)
		}
	}
}

// TestShortLivesComeToTheEndOfARound: what a start has to read does not grow
// with the number of starts.
func TestShortLivesComeToTheEndOfARound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	for life := range 60 {
		store, err := Open(t.Context(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(store.memtable.entries); n > 100 {
			t.Fatalf("start %d reads %d keys", life, n)
		}
		store.memtable.flushSize, store.memtable.flushStep, store.memtable.noteEvery = 20, 1, 64 // no life comes to 64
		for i := range 4 {
			acceptKey(t, store, fmt.Sprint(life, "-", i))
		}
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEventsWithoutAKeyAreNotReadAgain: they have nothing to remember.
func TestEventsWithoutAKeyAreNotReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	for range 3 {
		store, err := Open(t.Context(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if store.memtable.gathered > 25 {
			t.Errorf("a start reads %d events", store.memtable.gathered)
		}
		store.memtable.flushSize = 20
		for range 100 {
			acceptKey(t, store, "")
		}
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// acceptKey accepts a new event with a key.
func acceptKey(t *testing.T, store *Store, key string) {
	t.Helper()
	receipt, err := store.Accept(t.Context(), webhook.Arrival{Event: webhook.Event{
		ID: webhook.ID(uuid.New()), Source: "github", Key: key, ReceivedAt: time.Now(), Body: []byte("{}"),
	}})
	if err != nil || receipt.Result != webhook.ResultAccepted {
		t.Fatalf("key %s: %v, %v", key, receipt, err)
	}
}

// TestAKeyIsFoundWhileItIsGivenToAnotherEvent: one event or the other has it at
// any time.
func TestAKeyIsFoundWhileItIsGivenToAnotherEvent(t *testing.T) {
	store, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "weir.db"), DedupeWindow: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.WithoutCancel(t.Context()))
	store.memtable.flushSize = 1 // now each key goes to the table, and comes back
	at := time.Now()
	accept := func() {
		at = at.Add(time.Second)
		_, err := store.Accept(t.Context(), webhook.Arrival{Event: webhook.Event{
			ID: webhook.ID(uuid.New()), Source: "github", Key: "k", ReceivedAt: at, Body: []byte("{}"),
		}})
		if err != nil {
			t.Error(err)
		}
	}
	accept()
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := store.EventByKey(t.Context(), "github", "k"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 300 {
		accept()
		if err := store.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(done)
	reading.Wait()
}

// TestKeysOfAnOlderSchemaAreFound: before the second migration an index of
// events held the names.
func TestKeysOfAnOlderSchemaAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	in := newArrival(webhook.Arrival{Event: webhook.Event{
		ID: webhook.ID(uuid.New()), Source: "github", Key: "k", ReceivedAt: time.Now(), Body: []byte("{}"),
	}})
	if err := oldDatabase(t.Context(), path, in); err != nil {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.WithoutCancel(t.Context()))
	again := in.Arrival
	again.Event.ID = webhook.ID(uuid.New())
	receipt, err := store.Accept(t.Context(), again)
	if err != nil || receipt.Result != webhook.ResultDuplicate || receipt.ID != in.Event.ID {
		t.Errorf("a repeat of what the older version stored: %+v, %v", receipt, err)
	}
	if detail, err := store.EventByKey(t.Context(), "github", "k"); err != nil || detail.Event.ID != in.Event.ID {
		t.Errorf("by its key: %v, %v", detail.Event.ID, err)
	}
}

// oldDatabase makes a database of the first schema that holds one event.
func oldDatabase(ctx context.Context, path string, in *arrival) (err error) {
	steps, err := loadMigrations(migrations)
	if err != nil {
		return err
	}
	db := newConnector(path, "rwc", shape, common, writing).open(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := migrate(ctx, conn, steps[:1]); err != nil {
		return err
	}
	e := &in.Event
	const insert = `INSERT INTO events (seq, id, source, key, key_from, received_at, dedupe, size, sha256)
		VALUES (?1, ?2, ?3, ?4, '', ?5, ?6, ?7, ?8)`
	_, err = conn.ExecContext(ctx, insert, seqAt(in.receivedAt), e.ID[:], e.Source, e.Key, in.receivedAt, in.dedupe, e.Size, e.SHA256[:])
	return err
}

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests must not depend on the machine

	"weir/store/sqlite"
	"weir/webhook"
)

// roles are what this test binary does when a test starts it again as another
// process: a name in WEIR_TEST_ROLE, its arguments in WEIR_TEST_ARGS.
var roles = map[string]func(args []string) error{
	"open":    openRole,
	"mounted": mountedRole,
	"fill":    fillRole,
	"accept":  acceptRole,
	"backup":  func(args []string) error { return sqlite.BackupFile(context.Background(), args[0], args[1]) },
}

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv("WEIR_TEST_ROLE")]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(strings.Split(os.Getenv("WEIR_TEST_ARGS"), "\n")); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// process returns a command that plays a role.
func process(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WEIR_TEST_ROLE="+role, "WEIR_TEST_ARGS="+strings.Join(args, "\n"))
	return cmd
}

// openRole opens a store and closes it.
func openRole(args []string) error {
	store, err := sqlite.Open(context.Background(), sqlite.Config{Path: args[0]})
	if err != nil {
		return err
	}
	return store.Close(context.Background())
}

// mountedRole opens a store whose file is mounted at another path, in a mount
// namespace of its own.
func mountedRole(args []string) error {
	if err := syscall.Mount(args[0], args[1], "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting: %w", err)
	}
	return openRole(args[1:])
}

// fillRole accepts events, prints the id of each, and "done" in the end; then it
// waits until it is killed.
func fillRole(args []string) error {
	store, err := sqlite.Open(context.Background(), sqlite.Config{Path: args[0]})
	if err != nil {
		return err
	}
	events, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	each(16, events, func(i int) {
		receipt, err := store.Accept(context.Background(), sample(int64(i)))
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(receipt.ID)
	})
	if err := store.Ping(context.Background()); err != nil {
		return err
	}
	fmt.Println("done")
	_, err = os.Stdin.Read(make([]byte, 1))
	return err
}

// acceptRole accepts events for ever and prints the id of each that was
// acknowledged.
func acceptRole(args []string) error {
	store, err := sqlite.Open(context.Background(), sqlite.Config{Path: args[0]})
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	var n atomic.Int64
	for range 16 {
		group.Go(func() {
			for {
				receipt, err := store.Accept(context.Background(), sample(n.Add(1)))
				if err != nil {
					fmt.Println(err)
					return
				}
				fmt.Println(receipt.ID)
			}
		})
	}
	group.Wait()
	return errors.New("the store refused")
}

func TestAKillInTheMiddleLosesNothingThatWasAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	acknowledged := map[webhook.ID]bool{}
	for range 3 {
		for _, id := range acceptAndKill(t, path) {
			acknowledged[id] = true
		}
		store := openAt(t, path)
		if store.CleanStart() {
			t.Error("the start after a kill counts as clean")
		}
		wantWhole(t, store, acknowledged)
		if err := store.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// acceptAndKill returns what a process acknowledged before it was killed.
func acceptAndKill(t *testing.T, path string) []webhook.ID {
	t.Helper()
	cmd := process(t, "accept", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ids []webhook.ID
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		id, err := webhook.ParseID(lines.Text())
		if err != nil {
			t.Fatalf("the process says %q", lines.Text())
		}
		if ids = append(ids, id); len(ids) == 400 {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
	return ids
}

// wantWhole checks that a store is sound, has all of these events, and has no
// event in part.
func wantWhole(t *testing.T, store *sqlite.Store, ids map[webhook.ID]bool) {
	t.Helper()
	if err := store.CheckIntegrity(t.Context()); err != nil {
		t.Error(err)
	}
	missing := len(ids)
	query := webhook.EventQuery{Limit: webhook.MaxPage}
	for {
		page, err := store.Events(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if ids[item.Event.ID] {
				missing--
			}
			body, err := store.Body(t.Context(), item.Event.ID)
			if err != nil || len(body) != 1024 || len(item.Deliveries) != 1 {
				t.Errorf("event %s has %d bytes and %d deliveries (%v)", item.Event.ID, len(body), len(item.Deliveries), err)
			}
		}
		if query.After = page.Next; query.After == "" {
			break
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d acknowledged events are lost", missing, len(ids))
	}
}

// A machine that loses its power may have written the log in part. Whatever its
// length, the store opens and has whole events only; with its full length, all.
func TestB62ATornLogLosesNoPartOfAnEvent(t *testing.T) {
	store := open(t)
	all := map[webhook.ID]bool{}
	for _, in := range fill(t, store, 100, 1024) {
		all[in.Event.ID] = true
	}
	database, err := os.ReadFile(store.Path())
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(store.Path() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{0, 31, 5000, len(log) / 3, len(log) / 2, len(log) - 5000, len(log) - 1, len(log)} {
		path := filepath.Join(t.TempDir(), "torn.db")
		err := errors.Join(os.WriteFile(path, database, 0o600), os.WriteFile(path+"-wal", log[:length], 0o600))
		if err != nil {
			t.Fatal(err)
		}
		var want map[webhook.ID]bool
		if length == len(log) {
			want = all
		}
		torn := openAt(t, path)
		wantWhole(t, torn, want)
		if err := torn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestB64TheSuiteHoldsInEveryZone(t *testing.T) {
	for _, zone := range []string{"UTC", "America/Los_Angeles", "Asia/Kathmandu"} {
		t.Run(zone, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0],
				"-test.run=^TestEngineKeepsTheContract$/^(Due|Expire|Repeat|Prune)$")
			cmd.Env = append(os.Environ(), "TZ="+zone)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestB64AStoreIsReadInAnotherZoneThanItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	// One and the same moment, an hour that a change of the clock repeats.
	moment := time.Date(2026, time.November, 1, 8, 30, 0, 5_000_000, time.UTC)
	var ids []webhook.ID
	for _, name := range []string{"America/Los_Angeles", "Asia/Kathmandu", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		store := openAt(t, path)
		in := sample(1)
		in.Event.ReceivedAt = moment.In(zone)
		receipt, err := store.Accept(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, receipt.ID)
		if err := store.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	store := openAt(t, path)
	defer store.Close(t.Context())
	for _, id := range ids {
		event, delivery, err := store.Load(t.Context(), id, "default")
		if err != nil {
			t.Fatal(err)
		}
		if event.ReceivedAt != moment || delivery.NextAttemptAt != moment {
			t.Errorf("times %v and %v, want %v", event.ReceivedAt, delivery.NextAttemptAt, moment)
		}
	}
}

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"weir/store/sqlite"
)

// closed makes a database with one event and closes it.
func closed(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "weir.db")
	store := openAt(t, path)
	fill(t, store, 1, 100)
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestADatabaseWithAnotherNameIsRefused(t *testing.T) {
	path := closed(t)
	other := filepath.Join(t.TempDir(), "other.db")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, other} {
		wantRefusal(t, name, "2 names (hard links)")
		if err := sqlite.BackupFile(t.Context(), name, filepath.Join(t.TempDir(), "backup.db")); err == nil ||
			!strings.Contains(err.Error(), "2 names") {
			t.Errorf("its backup: %v", err)
		}
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if err := openAt(t, path).Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTheDatabaseItselfIsLocked: the lock beside it can be removed, and another
// name has another one.
func TestTheDatabaseItselfIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	store := openAt(t, path)
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	fill(t, store, 10, 100)
	out, err := process(t, "open", path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "in use by another process") {
		t.Errorf("another process gets %q, %v", out, err)
	}
	fill(t, store, 10, 100)
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := process(t, "open", path).CombinedOutput(); err != nil {
		t.Errorf("after the stop: %q, %v", out, err)
	}
}

// TestSQLiteKeepsItsLocks: none of them is lost to the one on the database.
func TestSQLiteKeepsItsLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	store := openAt(t, path)
	defer store.Close(context.WithoutCancel(t.Context()))
	fill(t, store, 1, 100)
	other, err := openPlain(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	// In this mode SQLite wants the file for itself, and gets it when nobody
	// else has a lock on it.
	var mode string
	err = other.QueryRowContext(t.Context(), `PRAGMA journal_mode=DELETE`).Scan(&mode)
	if err == nil && mode != "wal" {
		t.Errorf("the journal mode could be changed to %s", mode)
	}
}

func TestADatabaseThatIsMountedAloneIsRefused(t *testing.T) {
	path := closed(t)
	mounted := filepath.Join(t.TempDir(), "weir.db")
	if err := os.WriteFile(mounted, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, "mounted", path, mounted)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "mounting: ") {
		if os.Getenv("CI") != "" {
			t.Fatalf("nothing can be mounted here: %v, %s", err, out)
		}
		t.Logf("nothing can be mounted here (%v): %s", err, out)
		return
	}
	if err == nil || !strings.Contains(string(out), mounted+" is mounted as a single file") {
		t.Errorf("it is opened: %q, %v", out, err)
	}
}

// TestProcessesInOneDirectoryStartTogether: each removes what killed ones have
// left, and nothing else.
func TestProcessesInOneDirectoryStartTogether(t *testing.T) {
	directory := t.TempDir()
	var starts sync.WaitGroup
	for i := range 8 {
		starts.Go(func() {
			for range 15 {
				store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(directory, fmt.Sprint(i, ".db"))})
				if err != nil {
					t.Error(err)
					return
				}
				if err := store.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starts.Wait()
}

func TestADatabaseThatHasBecomeEmptyIsRefused(t *testing.T) {
	path := closed(t)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, path, "is empty (0 bytes)")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := openAt(t, path).Close(t.Context()); err != nil {
		t.Errorf("a new one: %v", err)
	}
}

func TestAnEmptyFileThatNobodyKnowsIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, path, "remove "+path)
}

func TestALogWithoutItsDatabaseIsRefused(t *testing.T) {
	path := closed(t)
	if err := os.WriteFile(path+"-wal", []byte("frames"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, path, "is missing, and its log")
}

// TestAStartThatWasKilledWhileItMadeTheDatabaseIsRepeated: the mark of that is in
// the lock file before the database is there.
func TestAStartThatWasKilledWhileItMadeTheDatabaseIsRepeated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	for name, text := range map[string]string{path: "", path + ".lock": "4711\nnew\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := openAt(t, path)
	text, err := os.ReadFile(path + ".lock")
	if err != nil || string(text) != fmt.Sprintln(os.Getpid()) {
		t.Errorf("the lock file of a store that is there: %q, %v", text, err)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

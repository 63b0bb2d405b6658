package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/store/sqlite"
)

// openAt opens a store that the test closes by itself.
func openAt(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// shared returns a directory that other users may enter, and a copy of the test
// binary there.
func shared(t *testing.T) (directory, binary string) {
	t.Helper()
	directory, err := os.MkdirTemp("", "weir-shared-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(directory); err != nil {
			t.Error(err)
		}
	})
	binary = filepath.Join(directory, "binary")
	content, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.Chmod(directory, 0o755), os.WriteFile(binary, content, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	return directory, binary
}

// openAsStranger opens a store in another process that does not have root's
// powers, and returns what it says and its user id.
func openAsStranger(t *testing.T, binary, path string) (string, int) {
	t.Helper()
	cmd := process(t, "open", path)
	cmd.Path, cmd.Args = binary, []string{binary}
	uid := os.Getuid()
	if uid == 0 {
		uid = 65532
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), uid
}

func TestB63AStoreThatCannotBeWrittenIsRefusedOnOneLine(t *testing.T) {
	root, binary := shared(t)
	cases := []struct {
		name    string
		prepare func(directory string) (path string, err error)
		say     string
	}{
		{"the directory is missing", func(d string) (string, error) {
			return filepath.Join(d, "no", "weir.db"), nil
		}, "mount the volume"},
		{"the directory is not writable", func(d string) (string, error) {
			return filepath.Join(d, "weir.db"), os.Chmod(d, 0o555)
		}, "chown"},
		{"the directory cannot be entered", func(d string) (string, error) {
			return filepath.Join(d, "weir.db"), os.Chmod(d, 0)
		}, "chown"},
		{"the database is not writable", func(d string) (string, error) {
			path := filepath.Join(d, "weir.db")
			return path, errors.Join(os.WriteFile(path, nil, 0o444), os.Chmod(d, 0o777))
		}, "chown"},
		{"the log is not writable", func(d string) (string, error) {
			path := filepath.Join(d, "weir.db")
			return path, errors.Join(os.WriteFile(path+"-wal", nil, 0o444), os.Chmod(d, 0o777))
		}, "chown"},
		{"the lock is not writable", func(d string) (string, error) {
			path := filepath.Join(d, "weir.db")
			return path, errors.Join(os.WriteFile(path+".lock", nil, 0o444), os.Chmod(d, 0o777))
		}, "chown"},
		{"the path is a directory", func(d string) (string, error) { return d, os.Chmod(d, 0o777) }, "name a file"},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			directory := filepath.Join(root, fmt.Sprint(i))
			if err := os.Mkdir(directory, 0o755); err != nil {
				t.Fatal(err)
			}
			path, err := c.prepare(directory)
			if err != nil {
				t.Fatal(err)
			}
			said, uid := openAsStranger(t, binary, path)
			if strings.Count(said, "\n") != 1 {
				t.Errorf("want one line, got %q", said)
			}
			for _, want := range []string{directory, fmt.Sprintf("uid %d", uid), c.say} {
				if !strings.Contains(said, want) {
					t.Errorf("%q does not say %q", said, want)
				}
			}
		})
	}
}

func TestB63AStrangerMayOpenWhatBelongsToHim(t *testing.T) {
	root, binary := shared(t)
	directory := filepath.Join(root, "data")
	if err := errors.Join(os.Mkdir(directory, 0o777), os.Chmod(directory, 0o777)); err != nil {
		t.Fatal(err)
	}
	if said, _ := openAsStranger(t, binary, filepath.Join(directory, "weir.db")); said != "" {
		t.Errorf("it says %q", said)
	}
}

func TestASecondProcessIsTurnedAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	store := openAt(t, path)
	out, err := process(t, "open", path).Output()
	if err == nil {
		t.Fatal("a second process opened the store")
	}
	for _, want := range []string{path, path + ".lock", fmt.Sprintf("pid %d", os.Getpid())} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q does not say %q", out, want)
		}
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := process(t, "open", path).Output(); err != nil {
		t.Errorf("after the close: %s", out)
	}
}

func TestTwoNamesOfOneDatabaseMeetAtOneLock(t *testing.T) {
	directory := t.TempDir()
	path, other := filepath.Join(directory, "weir.db"), filepath.Join(t.TempDir(), "other.db")
	store := openAt(t, path)
	defer store.Close(t.Context())
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	if second, err := sqlite.Open(t.Context(), sqlite.Config{Path: other}); err == nil {
		second.Close(t.Context())
		t.Error("the store was opened twice")
	}
}

func TestALinkToNothingIsRefused(t *testing.T) {
	directory := t.TempDir()
	link := filepath.Join(directory, "link.db")
	if err := os.Symlink(filepath.Join(directory, "none.db"), link); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, link, "symbolic link")
}

func TestOddPathsAreTakenLiterally(t *testing.T) {
	for _, name := range []string{"a b.db", "q?mode=memory.db", "h#h.db", "p%20p.db", "ä.db", "a&b=c.db"} {
		path := filepath.Join(t.TempDir(), name)
		store := openAt(t, path)
		if err := store.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: no database there: %v", name, err)
		}
	}
}

func TestFilesAreReadableByTheirOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	store := openAt(t, path)
	defer store.Close(t.Context())
	if _, err := store.Accept(t.Context(), sample(1)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", file, mode)
		}
	}
}

// change opens a database with plain SQL.
func change(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err == nil {
		_, err = db.ExecContext(t.Context(), text)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestADatabaseOfANewerVersionIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	if err := openAt(t, path).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	change(t, path, `INSERT INTO migrations (version, name) VALUES (999, 'later')`)
	wantRefusal(t, path, "newer version")
}

func TestADatabaseOfAnotherProgramIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	change(t, path, `PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL; CREATE TABLE theirs (a)`)
	wantRefusal(t, path, "another program")
}

func TestAFileThatIsNoDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, path, "not a database")
	if content, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(content), "not a database") {
		t.Error("the file was changed")
	}
}

func TestADatabaseOfAnotherShapeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	change(t, path, `PRAGMA page_size=4096; CREATE TABLE theirs (a)`)
	wantRefusal(t, path, "page_size=4096, want 8192: it is a database of another program")
}

// TestAStartClearsWhatAKilledOneHasLeft: a machine that kills its starts, again
// and again, must not fill the directory.
func TestAStartClearsWhatAKilledOneHasLeft(t *testing.T) {
	directory := t.TempDir()
	mine := filepath.Join(directory, ".weir-notes")
	for _, path := range []string{mine, filepath.Join(directory, ".weir-probe-1"), filepath.Join(directory, ".weir-probe-2.renamed")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := openAt(t, filepath.Join(directory, "weir.db")).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(directory, ".*"))
	if err != nil || len(left) != 1 || left[0] != mine {
		t.Errorf("left: %q, %v", left, err)
	}
}

// wantRefusal checks that a path cannot be opened, and that the refusal gives
// the lock back.
func wantRefusal(t *testing.T, path, say string) {
	t.Helper()
	for range 2 {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
		if err == nil {
			store.Close(t.Context())
			t.Fatal("it was opened")
		}
		if !strings.Contains(err.Error(), say) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q does not say %q and the path on one line", err, say)
		}
	}
}

func TestB62TheAcceptingConnectionSyncsEveryCommit(t *testing.T) {
	store := open(t)
	want := map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": "2000", "temp_store": "2",
		"page_size": "8192", "auto_vacuum": "2", "wal_autocheckpoint": "1000",
	}
	got := map[string]string{}
	err := store.Do(t.Context(), func(conn sqlite.Session) error {
		for name := range want {
			value, err := conn.Text("PRAGMA " + name)
			if err != nil {
				return err
			}
			got[name] = value
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadersCannotWrite(t *testing.T) {
	store := open(t)
	_, reading := store.Pools()
	if _, err := reading.ExecContext(t.Context(), `DELETE FROM facts`); err == nil {
		t.Error("a reader wrote")
	}
}

func TestACleanStopIsKnownAtTheNextStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.db")
	for range 3 {
		store := openAt(t, path)
		if !store.CleanStart() {
			t.Error("the start does not count as clean")
		}
		if err := store.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(t.Context()); err != nil {
			t.Errorf("closing again: %v", err)
		}
		if _, err := os.Stat(path + "-wal"); err == nil {
			t.Error("the log is still there")
		}
	}
}

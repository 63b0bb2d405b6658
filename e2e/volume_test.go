package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/cli"
)

func TestB63AStoreThatCannotWriteEndsTheStart(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]struct {
		// prepare makes the place and returns the database's path.
		prepare func(t *testing.T, folder string) string
		says    string
	}{
		"parent missing":        {func(_ *testing.T, f string) string { return filepath.Join(f, "no", "weir.db") }, "create it"},
		"directory not mine":    {notMine, "chown"},
		"file not mine":         {fileNotMine, "chown"},
		"a directory":           {func(_ *testing.T, f string) string { return f }, "not a directory"},
		"takes no files at all": {func(*testing.T, string) string { return "/proc/weir.db" }, ""},
		"read-only":             {readOnly, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, "http://127.0.0.1:9/")
			s.as = stranger()
			openToAll(t, s.folder)
			s.database = place.prepare(t, s.folder)
			status := s.run("serve").exit(t, 10*time.Second)
			said := strings.TrimSpace(s.said.String())
			last := said[strings.LastIndex(said, "\n")+1:]
			uid := os.Getuid()
			if s.as != nil {
				uid = int(s.as.Uid)
			}
			if status != cli.ExitFailure || !strings.HasPrefix(last, "weir: ") ||
				!strings.Contains(last, fmt.Sprintf("uid %d", uid)) || !strings.Contains(last, place.says) ||
				!strings.Contains(last, strings.TrimSuffix(filepath.Dir(s.database), "/no")) {
				t.Errorf("status %d and %q, want %d and one line with the path, the uid and %q", status, last, cli.ExitFailure, place.says)
			}
		})
	}
}

// stranger is another user than root, for whom modes of files count.
func stranger() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: 65532, Gid: 65532}
}

// openToAll lets every user pass through the folders of a test.
func openToAll(t *testing.T, folder string) {
	t.Helper()
	for _, path := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

func notMine(t *testing.T, folder string) string {
	t.Helper()
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o555); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(data, "weir.db")
}

func fileNotMine(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "weir.db")
	if err := os.WriteFile(path, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	return path
}

// readOnly mounts a read-only volume; where that is not permitted a directory
// without the right to write stands for it.
func readOnly(t *testing.T, folder string) string {
	t.Helper()
	data := filepath.Join(folder, "mounted")
	if err := os.Mkdir(data, 0o555); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", syscall.MS_RDONLY, "size=1m,mode=777"); err != nil {
		t.Logf("no volume can be mounted here: %v", err)
		return filepath.Join(data, "weir.db")
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(data, 0); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(data, "weir.db")
}

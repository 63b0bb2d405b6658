package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// resolve returns the absolute path of the database behind any symbolic link,
// so that two names of one file meet at one lock.
func resolve(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolving database path %s: %w", path, err)
	}
	target, err := filepath.EvalSymlinks(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(absolute); err == nil {
			return "", notUsable("database", absolute, errDangling)
		}
		directory, err := filepath.EvalSymlinks(filepath.Dir(absolute))
		if err != nil {
			return "", notUsable("directory of the database", filepath.Dir(absolute), err)
		}
		return filepath.Join(directory, filepath.Base(absolute)), nil
	}
	if err != nil {
		return "", notUsable("database", absolute, err)
	}
	return target, nil
}

// errDangling is a link that would let two names lead to one new file.
var errDangling = errors.New("a symbolic link to a file that does not exist")

// probeName begins the names of the files that probe makes for a moment, and
// probeRenamed is what a rename adds.
const (
	probeName    = ".weir-probe-"
	probeRenamed = ".renamed"
)

// clearProbes removes what killed probes have left. Those of a process that
// probes right now are locked.
func clearProbes(directory string) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return // what is left harms nobody
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), probeName) {
			clearProbe(filepath.Join(directory, entry.Name()))
		}
	}
}

func clearProbe(path string) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = os.Remove(path)
	}
}

// probes is how often a probe is tried whose file another process has removed,
// before it could be locked.
const probes = 10

// probe proves that the directory takes what SQLite will ask of it: files are
// created, synced, renamed and removed there. SQLite's own message for a
// directory that belongs to somebody else is "no such file or directory". A full
// volume is no reason to refuse: what is stored can be delivered all the same.
func probe(directory string) error {
	var err error
	for range probes {
		file, created := os.CreateTemp(directory, probeName+"*")
		if isFull(created) {
			return nil
		}
		if created != nil {
			return notUsable("directory of the database", directory, created)
		}
		if err = probeFile(file); err == nil || isFull(err) {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
	}
	return notUsable("directory of the database", directory, err)
}

// probeFile does with a new file what SQLite does, and removes it.
func probeFile(file *os.File) error {
	name := file.Name()
	defer os.Remove(name)
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	if _, err := file.WriteString("probe\n"); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	renamed := name + probeRenamed
	if err := os.Rename(name, renamed); err != nil {
		return err
	}
	return os.Remove(renamed)
}

// isFull reports whether err says that there is no space left.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// probeLogs refuses a database whose log this process may not write. The
// directories above are never made: a missing one is a volume that was not
// mounted.
func probeLogs(database string) error {
	for _, path := range []string{database + "-wal", database + "-shm"} {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return notUsable("database", path, err)
		}
		if err := file.Close(); err != nil {
			return notUsable("database", path, err)
		}
	}
	return nil
}

// refuseDirectory returns an error for a directory before any file is created.
func refuseDirectory(database string) error {
	if info, err := os.Stat(database); err == nil && info.IsDir() {
		return notUsable("database", database, syscall.EISDIR)
	}
	return nil
}

// notUsable explains on one line what is wrong with a path, who asked, and
// what to do about it.
func notUsable(what, path string, err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return fmt.Errorf("%s %s cannot be used by uid %d: %w%s; %s",
		what, path, os.Getuid(), err, ownership(path), remedy(path, err))
}

// ownership names who may write to an existing path.
func ownership(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (owner %d:%d, mode %04o)", stat.Uid, stat.Gid, info.Mode().Perm())
}

// remedy says what to do.
func remedy(path string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("run: chown -R %d:%d %s", os.Getuid(), os.Getgid(), path)
	case errors.Is(err, fs.ErrNotExist):
		return "create it, or mount the volume there"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only; mount it for writing"
	case errors.Is(err, syscall.EISDIR):
		return "name a file, not a directory"
	case errors.Is(err, syscall.ENOSPC):
		return "free space on the volume"
	}
	return "check the path and the volume"
}

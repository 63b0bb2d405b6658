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

// clearProbes removes what killed probes have left.
func clearProbes(directory string) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return // litter harms nobody
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), probeName) {
			_ = os.Remove(filepath.Join(directory, entry.Name()))
		}
	}
}

// probe proves that the directory takes what SQLite will ask of it: files are
// created, synced, renamed and removed there. SQLite's own message for a
// directory that belongs to somebody else is "no such file or directory".
func probe(directory string) error {
	file, err := os.CreateTemp(directory, probeName+"*")
	if err != nil {
		return notUsable("directory of the database", directory, err)
	}
	name := file.Name()
	defer os.Remove(name)
	_, err = file.WriteString("probe\n")
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(name, name+probeRenamed)
		name += probeRenamed
	}
	err = errors.Join(err, os.Remove(name))
	if err != nil {
		return notUsable("directory of the database", directory, err)
	}
	return nil
}

// probeFiles refuses a database whose files this process may not write, and
// makes an empty one where there is none, readable by its owner only: bodies
// may hold anything. The directories above are never made: a missing one is a
// volume that was not mounted.
func probeFiles(database string) error {
	if err := openable(database, os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	for _, beside := range []string{database + "-wal", database + "-shm"} {
		err := openable(beside, os.O_RDWR)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
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

func openable(path string, flag int) error {
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return notUsable("database", path, err)
	}
	return file.Close()
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

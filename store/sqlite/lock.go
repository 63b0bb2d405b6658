package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lockFile is held for as long as a store is open, so that one process owns
// the database. It is a file of its own because SQLite keeps POSIX locks on
// the database, and closing any other descriptor of that file would drop them.
type lockFile struct{ file *os.File }

// lock takes the lock or returns at once an error that names its holder.
func lock(database string) (lockFile, error) {
	path := database + ".lock"
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return lockFile{}, notUsable("lock file", path, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return lockFile{}, fmt.Errorf("database %s is in use by another process%s: %s is locked; stop that process first",
				database, holder(file), path)
		}
		return lockFile{}, fmt.Errorf("locking %s: %w", path, err)
	}
	l := lockFile{file}
	if err := l.sign(); err != nil {
		l.unlock()
		return lockFile{}, notUsable("lock file", path, err)
	}
	return l, nil
}

// sign writes the process id into the file, for the refusal of the next one.
func (l lockFile) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// unlock releases the lock. The file stays: removing it would let two
// processes hold locks on two files of one name.
func (l lockFile) unlock() error {
	_ = l.file.Truncate(0)
	return l.file.Close()
}

// holder names the process that signed the file, if it can be read.
func holder(file *os.File) string {
	text, err := io.ReadAll(io.LimitReader(file, 20))
	if err != nil {
		return ""
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

// errMoved is why nothing is committed to a file that nobody would find again.
var errMoved = errors.New("the file has been removed or replaced while it is in use; put it back, or restart")

// openFiles are the files that were there when the database was opened. One that
// is removed or replaced while it is open can still be written to, and SQLite
// says nothing; but what is committed to it is gone with the process.
type openFiles map[string]os.FileInfo

// noteOpenFiles looks at the database and its log.
func noteOpenFiles(database string) (openFiles, error) {
	files := openFiles{}
	for _, path := range []string{database, database + "-wal"} {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("looking at the open files: %w", err)
		}
		files[path] = info
	}
	return files, nil
}

// check returns an error that wraps errMoved unless the files are where they
// were. What cannot be looked at is not held against them.
func (files openFiles) check() error {
	for path, was := range files {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, was) {
			return fmt.Errorf("%s: %w", path, errMoved)
		}
	}
	return nil
}

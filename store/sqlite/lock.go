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

// locks are held for as long as a store is open, so that one process owns the
// database. There are two, because each can be passed by: a file beside the
// database by another name of the database, or by removing it, and the database
// itself only once it exists.
type locks struct {
	beside *os.File
	// database is open until SQLite has closed the file: when any descriptor of
	// a file is closed, the process loses the POSIX locks that SQLite has on it.
	database *os.File
	// begun says that this process makes the database. Until it has, an empty
	// file is expected.
	begun bool
}

// lock takes the lock beside the database or returns at once an error that names
// its holder.
func lock(database string) (*locks, error) {
	path := database + ".lock"
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, notUsable("lock file", path, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("database %s is in use by another process%s: %s is locked; stop that process first",
				database, holder(file), path)
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return &locks{beside: file}, nil
}

// beginsMark is the second line of the lock file until a new database is there.
const beginsMark = "new"

// emptied says what to do about a database without contents.
func emptied(database string, exists bool) error {
	is := "is missing, and its log " + database + "-wal is there"
	remove := database + "-wal"
	if exists {
		is, remove = "is empty (0 bytes), which weir never leaves it", database
	}
	return fmt.Errorf("database %s %s: restore a backup; or, if no event can be lost, remove %s and start again",
		database, is, remove)
}

// sign writes the process id into the lock file, for the refusal of the next one,
// and the mark of a new database, which has to outlast a crash. On a full volume
// the id is not worth a refusal.
func (l *locks) sign() error {
	text := strconv.Itoa(os.Getpid()) + "\n"
	if l.begun {
		text += beginsMark + "\n"
	}
	err := l.beside.Truncate(0)
	if err == nil {
		_, err = l.beside.WriteAt([]byte(text), 0)
	}
	if err == nil && l.begun {
		err = l.beside.Sync()
	}
	if isFull(err) && !l.begun {
		return nil
	}
	return err
}

// readLock returns the process id in a lock file, 0 without one, and whether it
// has the mark of a database that is being made.
func readLock(file *os.File) (pid int, marked bool) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 40))
	if err != nil {
		return 0, false
	}
	first, second, _ := strings.Cut(string(text), "\n")
	pid, _ = strconv.Atoi(first) // 0 without a number
	return pid, strings.TrimSpace(second) == beginsMark
}

// made notes that the database is there.
func (l *locks) made() {
	if l.begun {
		l.begun = false
		_ = l.sign() // the mark harms nobody but whoever truncates the file
	}
}

// lockByte is the byte of the database that is locked. SQLite locks the 512 bytes
// from 1 GiB on.
const lockByte = 1<<30 + 1024

// lockDatabase opens the database, makes it if there is none, readable by its
// owner only, and locks it.
//
// It refuses a database that has lost its contents. An empty one is what a process
// leaves that was killed while it made it: the mark in the lock file says so, and
// is written before the database exists. Any other empty file has been truncated,
// or somebody made it: it would be taken for a new one, and nobody would learn that
// the events are gone. The same holds for a log whose database is missing.
func (l *locks) lockDatabase(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_CLOEXEC, 0)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return notUsable("database", path, err)
	}
	l.database = file
	_, marked := readLock(l.beside)
	l.begun = fileSize(path) == 0
	if l.begun && !marked && (!missing || fileSize(path+"-wal") > 0) {
		l.begun = false
		return emptied(path, !missing)
	}
	if err := l.sign(); err != nil {
		return notUsable("lock file", l.beside.Name(), err)
	}
	if missing {
		if l.database, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600); err != nil {
			return notUsable("database", path, err)
		}
	}
	err = lockByteOf(l.database, lockByte)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("database %s is in use by another process, which has it open under another name,"+
			" or whose lock file was removed; stop that process first", path)
	}
	return err
}

// unlock releases the locks. The file beside the database stays: removing it
// would let two processes hold locks on two files of one name.
func (l *locks) unlock() error {
	if !l.begun {
		_ = l.beside.Truncate(0)
	}
	var errs []error
	if l.database != nil {
		errs = append(errs, l.database.Close())
	}
	return errors.Join(append(errs, l.beside.Close())...)
}

// holder names the process that signed a lock file, if it can be read.
func holder(file *os.File) string {
	pid, _ := readLock(file)
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

// refuseSharedFile returns an error for a database that has another name, or that
// is mounted without its directory. Its log, and the lock, go by the name of the
// database: under another one neither is found, and events are lost.
func refuseSharedFile(database string) error {
	info, err := os.Stat(database)
	if err != nil || !info.Mode().IsRegular() {
		return nil // what is wrong with it is found when it is opened
	}
	if links := linksOf(info); links > 1 {
		return fmt.Errorf("database %[1]s has %[2]d names (hard links), and its log is found under one of them only;"+
			" stop what uses it, and give it a file of its own: cp -p %[1]s %[1]s.own && mv %[1]s.own %[1]s", database, links)
	}
	if isMountPoint(database) {
		return fmt.Errorf("database %s is mounted as a single file, without the log and the lock beside it;"+
			" mount its directory instead", database)
	}
	return nil
}

// linksOf returns how many names a file has.
func linksOf(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert // of another type elsewhere
	}
	return 1
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

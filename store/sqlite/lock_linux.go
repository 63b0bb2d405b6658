package sqlite

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockByteOf locks one byte of a file for as long as this descriptor is open.
// Such a lock belongs to the descriptor, so that nothing that SQLite does with
// others of the same file releases it. Where the file system has none, the lock
// file is all there is.
func lockByteOf(file *os.File, at int64) error {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: at, Len: 1}
	err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &lock)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOLCK) {
		return nil
	}
	return err
}

// allocate reserves space behind the end of a file, without changing its length.
func allocate(file *os.File, end, size int64) error {
	return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, end, size)
}

// isMountPoint reports whether something is mounted at the path itself. A kernel
// before 5.8 does not say.
func isMountPoint(path string) bool {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_TYPE, &stat)
	return err == nil && stat.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

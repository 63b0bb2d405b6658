//go:build !linux

package sqlite

import (
	"errors"
	"os"
)

// lockByteOf has no lock that SQLite would leave alone: the lock file is all
// there is.
func lockByteOf(*os.File, int64) error { return nil }

// allocate cannot reserve space without changing the length of the file.
func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

// isMountPoint cannot tell: single files are mounted on Linux only.
func isMountPoint(string) bool { return false }

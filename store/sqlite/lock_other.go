//go:build !linux

package sqlite

import "os"

// lockByteOf has no lock that SQLite would leave alone: the lock file is all
// there is.
func lockByteOf(*os.File, int64) error { return nil }

// isMountPoint cannot tell: single files are mounted on Linux only.
func isMountPoint(string) bool { return false }

package sqlite

import (
	"os"
	"syscall"
)

// What is kept free, for a volume that something else fills.
const (
	// databaseReserve and logReserve are allocated behind the ends of the
	// database and its log, so that attempts can be recorded, and what is
	// finished can be removed, without a free byte on the volume: the log is
	// written to the database, and begins again.
	databaseReserve = 12 << 20
	logReserve      = 4 << 20
	// leastReserve is what is worth a call.
	leastReserve = 64 << 10
	// reserveShare is the part of a volume that each may take.
	reserveShare = 16
	// eventReserve, and the part eventShare of a volume, must be free for a new
	// event to be accepted.
	eventReserve = 1 << 20
	eventShare   = 64
)

// volume returns how many bytes are free on the volume of a file, and how many it
// has. A volume that cannot be looked at is taken for a large one.
func volume(path string) (free, all int64) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return 1 << 62, 1 << 62
	}
	size := int64(stat.Bsize) //nolint:unconvert // of another type elsewhere
	return int64(stat.Bavail) * size, int64(stat.Blocks) * size
}

// reserves keeps space allocated behind the ends of the files. It belongs to the
// writer.
type reserves struct {
	database *os.File
	path     string
	size     int64
}

// newReserves allocates space for an open database and its log. Where there is
// none, or where the file system cannot, there is no reserve.
func newReserves(database *os.File, path string) *reserves {
	_, all := volume(path)
	r := &reserves{database: database, path: path, size: min(databaseReserve, all/reserveShare)}
	r.keep()
	if log, err := os.OpenFile(path+"-wal", os.O_RDWR, 0); err == nil {
		allocate(log, fileSize(log.Name()), min(logReserve, all/reserveShare))
		_ = log.Close()
	}
	return r
}

// keep allocates more when the database has grown into half of its reserve, or has
// lost it: SQLite cuts the file at its end whenever it has emptied the log. What is
// in the log counts as if it were in the database already.
func (r *reserves) keep() {
	info, err := os.Stat(r.path)
	if err != nil {
		return
	}
	end, log := info.Size(), fileSize(r.path+"-wal")
	have := allocated(info) - end
	if have >= log+r.size/2 {
		return
	}
	// On a volume that is nearly full, half of what is free is for the log.
	free, _ := volume(r.path)
	if want := min(log+r.size, have+free/2); want-have >= leastReserve {
		allocate(r.database, end, want)
	}
}

// allocated returns how many bytes a file takes on its volume.
func allocated(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}

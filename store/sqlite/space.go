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
	leastReserve = 4096
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
	logSize  int64
	volume   int64 // all bytes of the volume
	// missing is what could not be allocated.
	missing int64
}

// newReserves allocates space for an open database and its log. Where there is
// none, or where the file system cannot, there is no reserve.
func newReserves(database *os.File, path string) *reserves {
	_, all := volume(path)
	r := &reserves{database: database, path: path, size: min(databaseReserve, all/reserveShare), logSize: min(logReserve, all/reserveShare), volume: all}
	if log, err := os.OpenFile(path+"-wal", os.O_RDWR, 0); err == nil {
		_ = allocate(log, fileSize(log.Name()), r.logSize)
		_ = log.Close()
	}
	r.keep()
	return r
}

// short reports whether the volume has too little space for new events, beside
// what is missing of the reserve.
func (r *reserves) short() bool {
	free, _ := volume(r.path)
	return free-r.missing < min(eventReserve, r.volume/eventShare)
}

// keep allocates more when the database has grown into half of its reserve, or has
// lost it: SQLite cuts the file at its end whenever it has emptied the log. What is
// in the log counts as if it were in the database already.
func (r *reserves) keep() {
	if r.size == 0 {
		return
	}
	end, have := r.behindEnd()
	want := fileSize(r.path+"-wal") + r.size
	if r.missing = want - r.size/2 - have; r.missing <= 0 {
		r.missing = 0
		return
	}
	// On a volume that is nearly full the log comes first, as far as its own
	// reserve, and then all is for the database: the log begins again, and would
	// take what is left piece by piece.
	free, _ := volume(r.path)
	if want = min(want, have+free-r.logLacks()); want-have < leastReserve {
		return
	}
	err := allocate(r.database, end, want)
	if isFull(err) {
		return
	}
	_, now := r.behindEnd()
	if err != nil || now < want {
		// The file system cannot, or counts what a file takes in another way.
		r.size, r.missing = 0, 0
		return
	}
	r.missing = max(r.missing-(now-have), 0)
}

// logLacks returns how much of its reserve the log does not have.
func (r *reserves) logLacks() int64 {
	info, err := os.Stat(r.path + "-wal")
	if err != nil {
		return r.logSize
	}
	return max(r.logSize-allocated(info), 0)
}

// behindEnd returns the length of the database, and how much is allocated behind
// it.
func (r *reserves) behindEnd() (end, have int64) {
	info, err := os.Stat(r.path)
	if err != nil {
		return 0, 0
	}
	return info.Size(), allocated(info) - info.Size()
}

// allocated returns how many bytes a file takes on its volume.
func allocated(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// errMoved is why nothing is committed to a file that nobody would find again.
var errMoved = errors.New("the file has been removed or replaced while it is in use; put it back, or restart")

// inPlace are the files that were there when the database was opened. One that
// is removed or replaced while it is open can still be written to, and SQLite
// says nothing; but what is committed to it is gone with the process.
type inPlace map[string]os.FileInfo

// notePlace looks at the database and its log.
func notePlace(database string) (inPlace, error) {
	files := inPlace{}
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
func (files inPlace) check() error {
	for path, was := range files {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, was) {
			return fmt.Errorf("%s: %w", path, errMoved)
		}
	}
	return nil
}

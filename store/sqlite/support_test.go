package sqlite_test

import (
	"database/sql"
	"runtime"
	"testing"
)

// waitFor waits until something is so; the test's own deadline ends the wait.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for !so() {
		if t.Context().Err() != nil {
			t.Fatal("the test is over")
		}
		runtime.Gosched()
	}
}

// openPlain opens a database as any other program would.
func openPlain(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", path)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

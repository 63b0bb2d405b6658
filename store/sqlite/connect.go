package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"slices"

	"github.com/mattn/go-sqlite3"
)

// pragma is a setting of a connection, and what reading it back must give.
type pragma struct{ name, set, want string }

// busyTimeout is how long SQLite waits for a lock that another process holds.
// No deadline interrupts that wait, so it is shorter than a sender's patience.
const busyTimeout = "2000"

// The first settings of a new database have to come before its first table.
var shape = []pragma{
	{"page_size", "8192", "8192"}, // stores 1 KiB events in a sixth less room than 4096
	{"auto_vacuum", "INCREMENTAL", "2"},
}

// Every connection waits for locks, and sorts in memory: an image without /tmp
// has no other place.
var common = []pragma{
	{"busy_timeout", busyTimeout, busyTimeout},
	{"temp_store", "MEMORY", "2"},
}

// The writer syncs at every commit; the driver's own default would not, and a
// commit could vanish with the machine's power.
var writing = []pragma{
	{"journal_mode", "WAL", "wal"},
	{"synchronous", "FULL", "2"},
	{"wal_autocheckpoint", "1000", "1000"},
	{"journal_size_limit", "16777216", "16777216"},
	{"cache_size", "-6000", "-6000"},
}

var reading = []pragma{
	{"page_size", "", "8192"},
	{"auto_vacuum", "", "2"},
	{"journal_mode", "", "wal"},
	{"synchronous", "FULL", "2"},
	{"query_only", "1", "1"},
	{"cache_size", "-2000", "-2000"},
}

// Other SQLite files are told apart by their application id: "WEIR".
const applicationID = 0x57454952

// connector opens connections to one file, each with all its settings made and
// read back: a setting that the driver ignored silently must not go unseen.
type connector struct {
	dsn    string
	driver *sqlite3.SQLiteDriver
}

// newConnector makes one. Its connections have no lock of their own: package
// database/sql lets one goroutine at a time use each.
func newConnector(path, mode string, settings ...[]pragma) *connector {
	query := url.Values{"mode": {mode}, "_busy_timeout": {busyTimeout}, "_synchronous": {"FULL"}, "_mutex": {"no"}}
	if mode == "rw" {
		query.Set("_txlock", "immediate")
	}
	if mode == "ro" {
		query.Set("_stmt_cache_size", "32")
	}
	return &connector{
		dsn: "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode(),
		driver: &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
			for _, group := range settings {
				if err := apply(conn, group); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// Connect implements driver.Connector.
func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.driver }

// open returns a pool of at most n connections that stay open.
func (c *connector) open(n int) *sql.DB {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db
}

// apply makes the settings on a connection and refuses it when one is not in
// force afterwards.
func apply(conn *sqlite3.SQLiteConn, settings []pragma) error {
	for _, p := range settings {
		if p.set != "" && !hasShape(conn, p) {
			if _, err := readPragma(conn, "PRAGMA "+p.name+"="+p.set); err != nil {
				return fmt.Errorf("setting %s: %w", p.name, err)
			}
		}
		got, err := readPragma(conn, "PRAGMA "+p.name)
		if err != nil {
			return fmt.Errorf("reading %s back: %w", p.name, err)
		}
		if got != p.want {
			return fmt.Errorf("the connection has %s=%s, want %s%s", p.name, got, p.want, meaning(p))
		}
	}
	return nil
}

// hasShape reports whether the file has a setting of its own already: to set it
// again would write to the file, for which there may be no space.
func hasShape(conn *sqlite3.SQLiteConn, p pragma) bool {
	if !slices.Contains(shape, p) {
		return false
	}
	was, err := readPragma(conn, "PRAGMA "+p.name)
	return err == nil && was == p.want
}

// meaning explains a file whose page size or vacuum mode is not what weir sets.
func meaning(p pragma) string {
	if !slices.Contains(shape, p) {
		return ""
	}
	return ": it is a database of another program, or was changed by one; name another path, or restore a backup"
}

// readPragma runs a pragma and returns the first value that it answers.
func readPragma(conn *sqlite3.SQLiteConn, text string) (string, error) {
	rows, err := conn.Query(text, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	if len(rows.Columns()) == 0 {
		return "", nil
	}
	values := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(values); err != nil {
		return "", nil //nolint:nilerr // no row is no value; the comparison decides
	}
	if text, ok := values[0].([]byte); ok {
		return string(text), nil
	}
	return fmt.Sprint(values[0]), nil
}

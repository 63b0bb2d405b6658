package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Backup writes a consistent copy of the database to a new file, while events
// come in. The copy has everything that was acknowledged before the call, and
// the service starts from it. It refuses a path that exists.
func (s *Store) Backup(ctx context.Context, to string) error {
	return BackupFile(ctx, s.path, to)
}

// BackupFile is Backup for a process that does not have the database open: it
// only reads, and needs no lock. A copy of the database file alone would lack
// what is still in the log.
func BackupFile(ctx context.Context, from, to string) error {
	source, err := resolve(from)
	if err != nil {
		return err
	}
	if _, err := os.Stat(source); err != nil {
		return notUsable("database", source, err)
	}
	if err := refuseSharedFile(source); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("backing up to %s: the file exists; name a new one", to)
	}
	if err != nil {
		return notUsable("backup", to, err)
	}
	if err := errors.Join(copyDatabase(ctx, source, to), file.Sync(), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("backing up %s to %s: %w", source, to, err), os.Remove(to))
	}
	return syncDirectory(filepath.Dir(to))
}

// copyDatabase fills an empty file. The connection is read-only, but query_only is
// not set: that would forbid the copy, too.
func copyDatabase(ctx context.Context, from, to string) error {
	db := newConnector(from, "ro", common).open(1)
	defer db.Close()
	_, err := db.ExecContext(ctx, `VACUUM INTO ?1`, to)
	return err
}

// syncDirectory makes a new name in a directory durable.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening %s to sync it: %w", path, err)
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// CheckIntegrity reads the whole database and returns what is damaged. It takes
// as long as reading the file does, on a connection of its own: meanwhile the
// log cannot begin again.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	db := newConnector(s.path, "ro", common, reading).open(1)
	defer db.Close()
	var faults []string
	rows, err := db.QueryContext(ctx, `PRAGMA integrity_check(10)`)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		var fault string
		err := rows.Scan(&fault)
		faults = append(faults, fault)
		return err
	})
	if err != nil {
		return fmt.Errorf("checking the integrity of %s: %w", s.path, err)
	}
	if len(faults) != 1 || faults[0] != "ok" {
		return fmt.Errorf("database %s is damaged: %s", s.path, strings.Join(faults, "; "))
	}
	return nil
}

package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migration is one numbered step of the schema. A released one is never
// edited; a change is a further file.
type migration struct {
	version int
	name    string
	script  string
}

// loadMigrations reads the embedded steps in the order of their numbers, which
// are 1, 2, 3 … without a gap.
func loadMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing migrations: %w", err)
	}
	steps := make([]migration, 0, len(names))
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: want number %04d", name, i+1)
		}
		script, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", name, err)
		}
		steps = append(steps, migration{version, path.Base(name), string(script)})
	}
	return steps, nil
}

// migrate brings the schema to the newest version that this program knows.
// Each step is one transaction together with its row in the list of steps.
func migrate(ctx context.Context, conn *sql.Conn, steps []migration) error {
	if err := claim(ctx, conn); err != nil {
		return err
	}
	var version int
	const newest = `SELECT coalesce(max(version), 0) FROM migrations`
	if err := conn.QueryRowContext(ctx, newest).Scan(&version); err != nil {
		return fmt.Errorf("reading the schema's version: %w", err)
	}
	if version > len(steps) {
		return fmt.Errorf("the database has schema version %d, this program knows %d: "+
			"it was written by a newer version; start that one, or restore a backup", version, len(steps))
	}
	for _, step := range steps[version:] {
		if err := applyMigration(ctx, conn, step); err != nil {
			return fmt.Errorf("applying migration %s: %w%s", step.name, err, roomAdvice(err))
		}
	}
	if version == 0 || version == len(steps) {
		return nil
	}
	// The log of an upgrade can be long, and its space is needed.
	if _, err := conn.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		return fmt.Errorf("emptying the log after the upgrade: %w", err)
	}
	return nil
}

// claim marks an empty file as ours, and refuses one that belongs to another
// program.
func claim(ctx context.Context, conn *sql.Conn) error {
	var id, tables int
	if err := conn.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return fmt.Errorf("reading the application id: %w", err)
	}
	if id == applicationID {
		return nil
	}
	if err := conn.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	if id != 0 || tables > 0 {
		return fmt.Errorf("the file is a database of another program (application id %#x)", id)
	}
	mark := fmt.Sprintf(`BEGIN IMMEDIATE; PRAGMA application_id=%d;
		CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT; COMMIT`, applicationID)
	if _, err := conn.ExecContext(ctx, mark); err != nil {
		return fmt.Errorf("marking the new database: %w", err)
	}
	return nil
}

// roomAdvice says how much space an upgrade needs, if it had too little.
func roomAdvice(err error) string {
	if isFullDatabase(err) {
		return "; an upgrade needs free space of up to a fifth of the database"
	}
	return ""
}

func applyMigration(ctx context.Context, conn *sql.Conn, step migration) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, step.script); err != nil {
		return err
	}
	const note = `INSERT INTO migrations (version, name) VALUES (?1, ?2)`
	if _, err := tx.ExecContext(ctx, note, step.version, step.name); err != nil {
		return err
	}
	return tx.Commit()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"weir/store/sqlite"
)

// backupCommand copies the database, also while the service runs.
func backupCommand(ctx context.Context, w world, args []string) error {
	if len(args) != 1 {
		return usagef("weir backup takes one argument: the path of the copy")
	}
	s, err := loadDatabase(w.environ)
	if err != nil {
		return err
	}
	if _, err := os.Stat(s); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database %s to copy: is WEIR_DATABASE the one that the service runs with?", s)
	}
	if err := sqlite.BackupFile(ctx, s, args[0]); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.stdout, "copied %s to %s\n", s, args[0])
	return err
}

// explainCommand answers "what would weir make of this?".
func explainCommand(_ context.Context, w world, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return usagef("weir explain takes request, response or wait, and a file or nothing for standard input")
	}
	in := w.stdin
	if len(args) == 2 && args[1] != "-" {
		file, err := os.Open(args[1])
		if err != nil {
			return usagef("open what to explain: %w", err)
		}
		defer file.Close()
		in = file
	}
	explain, ok := map[string]func(io.Reader, io.Writer) error{
		"request": explainRequest, "response": explainResponse, "wait": explainWait,
	}[args[0]]
	if !ok {
		return usagef("weir explain knows request, response and wait, not %q", args[0])
	}
	return explain(in, w.stdout)
}

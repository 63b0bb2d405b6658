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

// serveCommand runs the service until a signal comes, it is idle, or it cannot
// go on.
func serveCommand(ctx context.Context, w world, args []string) (err error) {
	if len(args) > 0 {
		return usagef("weir serve takes no arguments; the settings are in the environment (weir help)")
	}
	s, err := loadSettings(w.environ)
	if err != nil {
		return err
	}
	running, err := openService(ctx, serviceOf(w, s))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.close(ctx)) }()
	return running.run(ctx)
}

// serviceOf configures the service.
func serviceOf(w world, s settings) serviceConfig {
	return serviceConfig{
		settings: s, version: w.version, commit: w.commit, log: w.stderr,
		listen: w.listen, dial: w.dial, heap: w.heap,
	}
}

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

// configCommand prints the effective settings, secrets masked; with --check
// only whether they are right.
func configCommand(_ context.Context, w world, args []string) error {
	check := len(args) == 1 && (args[0] == "--check" || args[0] == "-check")
	if len(args) > 0 && !check {
		return usagef("weir config takes no argument but --check")
	}
	if !check {
		return printSettings(w.environ, w.stdout, w.stderr)
	}
	if err := printSettings(w.environ, nil, w.stderr); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w.stdout, "ok")
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

// demoCommand is "weir demo": the service as it really runs, with a storm of
// senders in front of it and a downstream that has a bad day behind it, beside
// a loop that retries at once and for ever.
func demoCommand(ctx context.Context, w world, args []string) error {
	flags := newFlags("demo")
	stay := flags.Bool("stay", false, "")
	if _, err := parse(w, flags, args, 0); err != nil {
		return unlessHelped(err)
	}
	return demoRun(ctx, demoConfig{
		out: w.stdout, stay: *stay, version: w.version, listen: w.listen, dial: w.dial,
	})
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"weir/cli/demo"
	"weir/cli/explain"
	"weir/config"
	"weir/service"
	"weir/store/sqlite"
)

// serveCommand runs the service until a signal comes, it is idle, or it cannot
// go on.
func serveCommand(ctx context.Context, w Env, args []string) error {
	if len(args) > 0 {
		return usagef("weir serve takes no arguments; the settings are in the environment (weir help)")
	}
	s, err := config.Load(w.Environ)
	if err != nil {
		return err
	}
	for {
		err := serveOnce(ctx, serviceOf(w, s))
		if !errors.Is(err, service.ErrNotIdle) || ctx.Err() != nil {
			return err
		}
	}
}

// serveOnce runs the service once.
func serveOnce(ctx context.Context, c service.Config) (err error) {
	running, err := service.Open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.Close(ctx)) }()
	return running.Run(ctx)
}

// serviceOf configures the service.
func serviceOf(w Env, s config.Settings) service.Config {
	return service.Config{
		Settings: s, Version: w.Version, Commit: w.Commit, Log: w.Stderr,
		Listen: w.Listen, Dial: w.Dial, Heap: w.Heap,
	}
}

// backupCommand copies the database, also while the service runs.
func backupCommand(ctx context.Context, w Env, args []string) error {
	if len(args) != 1 {
		return usagef("weir backup takes one argument: the path of the copy")
	}
	s, err := config.LoadDatabase(w.Environ)
	if err != nil {
		return err
	}
	if _, err := os.Stat(s); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database %s to copy: is WEIR_DATABASE the one that the service runs with?", s)
	}
	if err := sqlite.BackupFile(ctx, s, args[0]); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Stdout, "copied %s to %s\n", s, args[0])
	return err
}

// configCommand prints the effective settings, secrets masked; with --check
// only whether they are right.
func configCommand(_ context.Context, w Env, args []string) error {
	check := len(args) == 1 && (args[0] == "--check" || args[0] == "-check")
	if len(args) > 0 && !check {
		return usagef("weir config takes no argument but --check")
	}
	if !check {
		return config.Print(w.Environ, w.Stdout, w.Stderr)
	}
	if err := config.Print(w.Environ, nil, w.Stderr); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w.Stdout, "ok")
	return err
}

// explainCommand answers "what would weir make of this?".
func explainCommand(_ context.Context, w Env, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return usagef("weir explain takes request, response or wait, and a file or nothing for standard input")
	}
	in := w.Stdin
	if len(args) == 2 && args[1] != "-" {
		file, err := os.Open(args[1])
		if err != nil {
			return usagef("open what to explain: %w", err)
		}
		defer file.Close()
		in = file
	}
	explain, ok := map[string]func(io.Reader, io.Writer) error{
		"request": explain.Request, "response": explain.Response, "wait": explain.Wait,
	}[args[0]]
	if !ok {
		return usagef("weir explain knows request, response and wait, not %q", args[0])
	}
	return explain(in, w.Stdout)
}

// demoCommand is "weir demo": the service as it really runs, with a storm of
// senders in front of it and a downstream that has a bad day behind it, beside
// a loop that retries at once and for ever.
func demoCommand(ctx context.Context, w Env, args []string) error {
	flags := newFlags("demo")
	stay := flags.Bool("stay", false, "")
	if _, err := parse(w, flags, args, 0); err != nil {
		return unlessHelped(err)
	}
	return demo.Run(ctx, demo.Config{
		Out: w.Stdout, Stay: *stay, Version: w.Version, Listen: w.Listen, Dial: w.Dial,
	})
}

// Weir takes in a flood of webhooks and lets out a measured flow: it stores
// each webhook before it answers, recognises repeats, and delivers to your
// application at the pace that the application can bear.
//
// Run "weir help" for the commands and settings.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(exitStatus(run(ctx, theWorld(), os.Args[1:]), os.Stderr))
}

// The exit statuses that hosts' restart policies look at.
const (
	exitStopped = 0 // stopped or idle
	exitFailure = 1
	exitUsage   = 2 // settings or usage
)

// world is what the program sees of the outside, so that tests can give it
// another one.
type world struct {
	environ []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	listen  func(ctx context.Context, network, address string) (net.Listener, error)
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// theWorld returns the real one.
func theWorld() world {
	return world{
		environ: os.Environ(),
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		listen:  (&net.ListenConfig{}).Listen,
		dial:    (&net.Dialer{}).DialContext,
	}
}

// usageError is a fault of the call or of the settings: exit status 2.
type usageError struct{ error }

// Unwrap returns what was wrong.
func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// exitStatus prints an error, if there is one, and returns the status to exit
// with.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil {
		return exitStopped
	}
	fmt.Fprintf(stderr, "weir: %v\n", err)
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailure
}

// command is one word that may follow "weir".
type command struct {
	name string
	// summary is a line for the help.
	summary string
	run     func(ctx context.Context, w world, args []string) error
}

// commands lists every command in the order of the help.
func commands() []command {
	return []command{}
}

// run finds the command and runs it; without a word it serves.
func run(ctx context.Context, w world, args []string) error {
	name := "serve"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(ctx, w, args)
		}
	}
	return usagef("there is no command %q; weir help lists them", name)
}

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
	"log"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
)

func main() {
	// net/http writes the bytes of strange answers to the standard logger,
	// past every redaction.
	log.SetOutput(io.Discard)
	ctx, stop := untilSignalled(context.Background())
	defer stop()
	os.Exit(exitStatus(run(ctx, theWorld(), os.Args[1:]), os.Stderr))
}

// signalled is the cause of a stop by a signal.
type signalled struct{ os.Signal }

// Error names the signal.
func (s signalled) Error() string { return "signal " + s.String() }

// untilSignalled returns a context that ends at the first SIGINT or SIGTERM. A
// second one ends the process at once with status 1: what was in flight is
// sent again after the next start.
func untilSignalled(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var watch sync.WaitGroup
	watch.Go(func() {
		if first, more := <-signals; more {
			cancel(signalled{first})
		}
		if _, more := <-signals; more {
			os.Exit(exitFailure)
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		watch.Wait()
		cancel(nil)
	}
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
	// heap sets the size from which on garbage is collected at once; nil
	// leaves it.
	heap func(bytes int64) int64
}

// theWorld returns the real one.
func theWorld() world {
	w := world{
		environ: os.Environ(),
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		listen:  (&net.ListenConfig{}).Listen,
		dial:    (&net.Dialer{}).DialContext,
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		w.heap = boundHeap
	}
	return w
}

// boundHeap sets the limit of the heap. Under it garbage may lie longer than by
// default: a heap of a few megabytes would be collected dozens of times a
// second. GOGC says otherwise.
func boundHeap(bytes int64) int64 {
	const percent = 200
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	return debug.SetMemoryLimit(bytes)
}

func asksForHelp(word string) bool {
	return word == "-h" || word == "-help" || word == "--help"
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
	return []command{
		{"serve", "run the service (also without a word)", serveCommand},
		{"demo", "show in half a minute what weir does to a storm; --stay keeps running", demoCommand},
		{"flaky", "run a scripted downstream, to try weir against", flakyCommand},
		{"send", "sign an event as a provider would, post it, and tell what becomes of it", sendCommand},
		{"status", "tell how the service is, or what happened to an event (ID or KEY)", statusCommand},
		{"events", "list events; --follow goes on", eventsCommand},
		{"redeliver", "send dead deliveries again", redeliverCommand},
		{"config", "print the effective settings, secrets masked; --check only checks", configCommand},
		{"explain", "tell what weir makes of a request, an answer or a wait", explainCommand},
		{"backup", "copy the database to PATH while the service runs", backupCommand},
		{"healthcheck", "ask the service on this machine whether it can accept", healthcheckCommand},
		{"version", "print the version", versionCommand},
		{"help", "print commands and settings", helpCommand},
	}
}

// run finds the command and runs it; without a word it serves.
func run(ctx context.Context, w world, args []string) error {
	name := "serve"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch {
	case asksForHelp(name):
		name = "help"
	case name == "-version", name == "--version":
		name = "version"
	}
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		if len(args) > 0 && asksForHelp(args[0]) {
			return printCommandHelp(w.stdout, name)
		}
		return c.run(ctx, w, args)
	}
	return usagef("there is no command %q; weir help lists them", name)
}

// Package cli is every word that may follow "weir".
//
// # Guarantees
//
// A command reads its arguments and the settings that it needs, prints, and
// returns one error; it ends no process and keeps no state. A fault of the call
// or of the settings has the exit status 2 and every other fault 1
// ([ExitStatus]); no error and no output holds the value of a secret.
//
// # Vocabulary
//
// [Env] is what a command sees of the outside: the environment, the standard
// streams, and how to listen and dial. A client command asks a running service
// at WEIR_URL (package client); the others need none.
//
// # Example
//
//	env := cli.Env{Environ: os.Environ(), Stdout: os.Stdout, …}
//	err := cli.Run(ctx, env, []string{"status"})
//	os.Exit(cli.ExitStatus(err, os.Stderr))
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"weir/cli/explain"
	"weir/config"
)

// The exit statuses that hosts' restart policies look at.
const (
	ExitStopped = 0 // stopped or idle
	ExitFailure = 1
	ExitUsage   = 2 // settings or usage
)

// Env is what the program sees of the outside, so that tests can give it
// another one.
type Env struct {
	// version, commit and date are those of the build; commit and date may
	// be empty.
	Version string
	Commit  string
	Date    string
	Environ []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Listen  func(ctx context.Context, network, address string) (net.Listener, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	// Heap sets the size from which on garbage is collected at once; nil
	// leaves it.
	Heap func(bytes int64) int64
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

// ExitStatus prints an error, if there is one, and returns the status to exit
// with.
func ExitStatus(err error, stderr io.Writer) int {
	if err == nil {
		return ExitStopped
	}
	fmt.Fprintf(stderr, "weir: %v\n", err)
	if errors.As(err, new(usageError)) || errors.As(err, new(config.Errors)) || errors.As(err, new(explain.ErrInput)) {
		return ExitUsage
	}
	return ExitFailure
}

// command is one word that may follow "weir".
type command struct {
	Name string
	// summary is a line for the help.
	summary string
	run     func(ctx context.Context, w Env, args []string) error
}

// Commands lists every command in the order of the help.
func Commands() []command {
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

// Run finds the command and runs it; without a word it serves.
func Run(ctx context.Context, w Env, args []string) error {
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
	for _, c := range Commands() {
		if c.Name != name {
			continue
		}
		if len(args) > 0 && asksForHelp(args[0]) {
			return printCommandHelp(w.Stdout, name)
		}
		return c.run(ctx, w, args)
	}
	return usagef("there is no command %q; weir help lists them", name)
}

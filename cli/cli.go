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
// Each command is a struct: its fields are the arguments and flags, with their
// help in the tags; Validate checks them together, Help has details and examples,
// and Run does the work. The help, the check of a call and the completion of a
// shell are all made from that.
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
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"weir/cli/explain"
	"weir/config"
	"weir/flaky"
	"weir/webhook"
	"weir/webhook/wording"
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
	// Version, Commit and Date are those of the build; Commit and Date may
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

// program declares every command, in the order of the help.
type program struct {
	Help helpFlag `short:"h" help:"Show this help."`

	Serve       serveCmd       `cmd:"" group:"Run" help:"Run the service (also without a word)."`
	Config      configCmd      `cmd:"" group:"Run" help:"Print the effective settings, secrets masked."`
	Backup      backupCmd      `cmd:"" group:"Run" help:"Copy the database, also while the service runs."`
	Healthcheck healthcheckCmd `cmd:"" group:"Run" help:"Ask the service on this machine whether it can accept."`

	Status    statusCmd    `cmd:"" group:"Watch and repair" help:"Show how the service is, or what happened to an event."`
	Events    eventsCmd    `cmd:"" group:"Watch and repair" help:"List events; --follow goes on."`
	Refusals  refusalsCmd  `cmd:"" group:"Watch and repair" help:"Show why webhooks were refused, and what to do."`
	Redeliver redeliverCmd `cmd:"" group:"Watch and repair" help:"Send dead deliveries again."`
	Cancel    cancelCmd    `cmd:"" group:"Watch and repair" help:"End a pending delivery."`
	Pause     pauseCmd     `cmd:"" group:"Watch and repair" help:"Send nothing to a destination until it is resumed."`
	Resume    resumeCmd    `cmd:"" group:"Watch and repair" help:"Clear the holds of a destination and send again."`

	Demo    demoCmd    `cmd:"" group:"Try" help:"Show in half a minute what weir does to a storm."`
	Flaky   flakyCmd   `cmd:"" group:"Try" help:"Run a scripted destination, to try weir against."`
	Send    sendCmd    `cmd:"" group:"Try" help:"Sign an event as a provider would, post it, and follow its delivery."`
	Explain explainCmd `cmd:"" group:"Try" help:"Show what weir makes of a request, a response or a wait."`

	Version    versionCmd    `cmd:"" group:"Help" help:"Print the version."`
	HelpPages  helpCmd       `cmd:"" name:"help" group:"Help" help:"Print the help of a command, or every setting."`
	Completion completionCmd `cmd:"" group:"Help" help:"Print a script that completes commands and flags in a shell."`
	Complete   completeCmd   `cmd:"" name:"__complete" hidden:""`
}

const about = `Takes in a flood of webhooks and lets out a measured flow.

"weir help COMMAND" has the details and examples of a command, "weir help settings" every setting.

Exit status: 0 stopped or idle, 1 failure, 2 settings or usage.`

// newParser makes the parser of a program that sees an outside.
func newParser(ctx context.Context, env Env) (*kong.Kong, error) {
	return kong.New(&program{},
		kong.Name("weir"), kong.Description(about), kong.NoDefaultHelp(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 84}),
		kong.Writers(env.Stdout, env.Stderr), kong.Bind(env), kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Vars{
			"states": list(webhook.States()), "results": list(webhook.Results()), "scripts": strings.Join(flaky.Names(), ", "), "faults": list(flaky.Faults()),
		})
}

// list joins words for a help or an enumeration.
func list[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// Commands lists every command in the order of the help.
func Commands() []*kong.Node {
	parser, err := newParser(context.Background(), Env{})
	if err != nil {
		panic(err) // the declaration is wrong, which every test finds
	}
	commands := parser.Model.Children
	return commands[: len(commands)-1 : len(commands)-1] // without the hidden one
}

// Run finds the command and runs it; without a word it serves. The service, which
// lives long, has nothing to parse: a parser leaves it a megabyte of memory.
func Run(ctx context.Context, env Env, args []string) error {
	if len(args) == 0 || len(args) == 1 && args[0] == "serve" {
		return serveCmd{}.Run(ctx, env)
	}
	parser, err := newParser(ctx, env)
	if err != nil {
		return fmt.Errorf("declare the commands: %w", err)
	}
	return runParsed(parser, args)
}

// runParsed reads a call and makes it.
func runParsed(parser *kong.Kong, args []string) error {
	call, err := parser.Parse(twoDashes(args))
	if errors.Is(err, errHelped) {
		return nil
	}
	if err != nil {
		return wrongCall(err)
	}
	return call.Run()
}

var (
	oneDash = regexp.MustCompile(`^-[a-z][a-z-]`)
	// places are the words of the parser for a word that it cannot place.
	places = regexp.MustCompile(`^unexpected argument ([^\s,]+)`)
)

// twoDashes lets flags have one dash, as in Go's own commands, too.
func twoDashes(args []string) []string {
	var made []string
	for i, arg := range args {
		if arg == "--" {
			return append(made, args[i:]...)
		}
		if oneDash.MatchString(arg) {
			arg = "-" + arg
		}
		if i == 0 && arg == "--version" {
			arg = "version"
		}
		made = append(made, arg)
	}
	return made
}

// helpFlag prints the help of the command that it follows.
type helpFlag bool

// errHelped ends a command that was only asked for its help.
var errHelped = errors.New("help was printed")

// BeforeReset is called by the parser before it checks what is missing.
func (helpFlag) BeforeReset(call *kong.Context) error {
	return errors.Join(errHelped, call.PrintUsage(false))
}

// usageError is a fault of the call or of the settings: exit status 2.
type usageError struct{ error }

// Unwrap returns what was wrong.
func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// wrongCall says what was wrong with a call, and where to look.
func wrongCall(err error) error {
	text, name := wording.PlainLine(err.Error()), ""
	if failed, ok := errors.AsType[*kong.ParseError](err); ok && failed.Context != nil && failed.Context.Selected() != nil {
		name = failed.Context.Selected().Name
	}
	if name == "" {
		return usagef("%s; weir help lists the commands", places.ReplaceAllString(text, `there is no command "$1"`))
	}
	return usagef("%s: %s; see weir help %s", name, strings.TrimPrefix(text, name+": "), name)
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

package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"weir/cli/client"
	"weir/config"
)

// newFlags returns the flags of a command, to be read by parse.
func newFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {} // it would come with every error, too
	return flags
}

// errHelped ends a command that was only asked for its help.
var errHelped = errors.New("help was printed")

// parse reads flags and arguments, which may stand in any order: "weir send
// github --count 3" is what people write. It returns the arguments, at most
// so many. When help is asked for it prints that of "weir help".
func parse(w Env, flags *flag.FlagSet, args []string, most int) ([]string, error) {
	var given []string
	for len(args) > 0 {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			_ = printCommandHelp(w.Stdout, flags.Name()) // a reader that has gone needs no help
			return nil, errHelped
		}
		if err != nil {
			return nil, usagef("weir %s: %w; see weir help %s", flags.Name(), err, flags.Name())
		}
		if args = flags.Args(); len(args) > 0 {
			given, args = append(given, args[0]), args[1:]
		}
	}
	if len(given) > most {
		return nil, usagef("weir %s takes %s, and %d are given; see weir help %s", flags.Name(), atMost(most), len(given), flags.Name())
	}
	return given, nil
}

// atMost says how many arguments a command takes besides its flags.
func atMost(n int) string {
	switch n {
	case 0:
		return "no arguments but its flags"
	case 1:
		return "at most 1 argument"
	}
	return fmt.Sprintf("at most %d arguments", n)
}

// unlessHelped is nil for a command that has printed its help.
func unlessHelped(err error) error {
	if errors.Is(err, errHelped) {
		return nil
	}
	return err
}

// instant reads a time (RFC 3339), or how long ago it was (90m).
func instant(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time such as 2026-11-30T03:27:11Z and no length such as 90m", text)
	}
	return at, nil
}

// errNoToken says what a client command lacks.
var errNoToken = usageError{errors.New("WEIR_API_TOKEN is not set: the operator API needs the token that the service runs with")}

// asOperator gives a command a client that has a token.
func asOperator(w Env, do func(*client.Client) error) error {
	s, err := config.LoadClient(w.Environ)
	if err != nil {
		return err
	}
	if s.Token == "" {
		return errNoToken
	}
	c := client.New(clientOf(w, s))
	defer c.Close()
	return do(c)
}

// clientOf configures a client from the settings.
func clientOf(w Env, s config.Client) client.Config {
	return client.Config{URL: s.URL, URLFrom: s.URLFrom, Token: s.Token, Version: w.Version, Dial: w.Dial}
}

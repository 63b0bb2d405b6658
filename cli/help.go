package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"weir/config"
)

// helpCommand prints the commands and every setting; with the name of a command
// what there is to know about that; with --markdown or --env the texts of
// docs/settings.md and of .env.example.
func helpCommand(_ context.Context, w Env, args []string) error {
	switch {
	case len(args) == 0:
		return printHelp(w.Stdout)
	case len(args) > 1:
		return usagef("weir help takes the name of one command")
	}
	switch args[0] {
	case "--markdown":
		return config.Markdown(w.Stdout)
	case "--env":
		return config.EnvExample(w.Stdout)
	}
	return printCommandHelp(w.Stdout, args[0])
}

// printHelp writes the help for a terminal.
func printHelp(out io.Writer) error {
	var page strings.Builder
	page.WriteString("usage: weir [command]\n\nCommands:\n")
	for _, c := range Commands() {
		fmt.Fprintf(&page, "  %-12s %s\n", c.Name, c.summary)
	}
	config.Help(&page)
	page.WriteString("\nExit status: 0 stopped or idle, 1 failure, 2 settings or usage.\n")
	_, err := io.WriteString(out, page.String())
	return err
}

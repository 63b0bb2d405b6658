package main

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// helpCommand prints the commands and every setting; with the name of a command
// what there is to know about that; with --markdown or --env the forms of the
// README and of .env.example.
func helpCommand(_ context.Context, w world, args []string) error {
	switch {
	case len(args) == 0:
		return printHelp(w.stdout)
	case len(args) > 1:
		return usagef("weir help takes the name of one command")
	}
	switch args[0] {
	case "--markdown":
		return settingsTable(w.stdout)
	case "--env":
		return envExample(w.stdout)
	}
	return printCommandHelp(w.stdout, args[0])
}

// printHelp writes the help for a terminal.
func printHelp(out io.Writer) error {
	var page strings.Builder
	page.WriteString("usage: weir [command]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&page, "  %-12s %s\n", c.name, c.summary)
	}
	settingsHelp(&page)
	page.WriteString("\nExit status: 0 stopped or idle, 1 failure, 2 settings or usage.\n")
	_, err := io.WriteString(out, page.String())
	return err
}

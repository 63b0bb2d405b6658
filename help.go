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

// group is one of the three sets of settings, as the help shows it.
type group struct {
	title string
	note  string
	list  []variable
}

// namePart stands for a name in the help.
const namePart = "<NAME>_"

// groups lists every setting.
func groups() []group {
	return []group{
		{"The service", "PORT is read where WEIR_ADDR is not set.", variables(globalPrefix, new(config))},
		{
			"Each source", "NAME is the source's name in upper case, with _ for -.",
			variables(sourcePrefix+namePart, new(sourceConfig)),
		},
		{
			"Each destination", "NAME is the destination's name in upper case, with _ for -.",
			variables(destinationPrefix+namePart, new(destinationConfig)),
		},
	}
}

// helpNotes are the rules for all settings.
const helpNotes = `Empty means unset. Durations need a unit (30s, 15m, 72h). Sizes are 64KiB or
1MiB. Rates are 100/1m, or a list: 60/1m,5000/24h. Those marked * are secret:
they are never shown, and may be given as the path of a file in NAME_FILE.
`

// printHelp writes the help for a terminal.
func printHelp(out io.Writer) error {
	var page strings.Builder
	page.WriteString("usage: weir [command]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&page, "  %-12s %s\n", c.name, c.summary)
	}
	page.WriteString("\nSettings, all from the environment:\n" + helpNotes)
	for _, g := range groups() {
		fmt.Fprintf(&page, "\n%s. %s\n", g.title, g.note)
		for _, v := range g.list {
			fmt.Fprintf(&page, "  %s%s\n", v.key, star(v))
			fmt.Fprintf(&page, "      %s; default: %s\n", v.form(), v.fallback())
			fmt.Fprintf(&page, "      %s\n", strings.Join(wrap(v.desc, 74), "\n      "))
		}
	}
	page.WriteString("\nSchemes: " + strings.Join(wrap(strings.Join(schemeNames(), ", "), 71), "\n  ") + "\n")
	page.WriteString("\nExit status: 0 stopped or idle, 1 failure, 2 settings or usage.\n")
	_, err := io.WriteString(out, page.String())
	return err
}

// star marks what is secret.
func star(v variable) string {
	if v.secret {
		return " *"
	}
	return ""
}

// wrap breaks a text at spaces into lines of at most width bytes, where the
// words allow it.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

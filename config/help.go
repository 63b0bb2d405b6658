package config

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

// group is one of the three sets of settings, as the help shows it.
type group struct {
	title string
	note  string
	List  []variable
}

// namePart stands for a name in the help.
const namePart = "<NAME>_"

// Groups lists every setting.
func Groups() []group {
	return []group{
		{"The service", "PORT is used where WEIR_ADDR is not set.", variables(globalPrefix, new(Settings))},
		{
			"Each source", "NAME is the source's name in upper case, with _ for -.",
			variables(SourcePrefix+namePart, new(Source)),
		},
		{
			"Each destination", "NAME is the destination's name in upper case, with _ for -.",
			variables(DestinationPrefix+namePart, new(Destination)),
		},
	}
}

// Names lists every setting. <NAME>_ stands for the name of a source or of a
// destination.
func Names() []string {
	var names []string
	for _, g := range Groups() {
		for _, v := range g.List {
			names = append(names, v.Key)
		}
	}
	return names
}

// helpNotes are the rules for all settings.
const helpNotes = `An empty value means unset. Durations have a unit (30s, 15m, 72h). Sizes are
written 64KiB or 1MiB, rates 100/1m or, as a list, 60/1m,5000/24h. Settings
marked * are secret: they are never shown, and their value may be in a file
whose path is in NAME_FILE.
`

// Help writes every setting for a terminal.
func Help(page *strings.Builder) {
	page.WriteString("\nSettings, all from the environment:\n" + helpNotes)
	for _, g := range Groups() {
		fmt.Fprintf(page, "\n%s. %s\n", g.title, g.note)
		for _, v := range g.List {
			fmt.Fprintf(page, "  %s%s\n", v.Key, Star(v))
			fmt.Fprintf(page, "      %s; default: %s\n", v.form(), v.Fallback())
			fmt.Fprintf(page, "      %s\n", strings.Join(wrap(v.desc, 74), "\n      "))
		}
	}
	page.WriteString("\nSchemes: " + strings.Join(wrap(strings.Join(SchemeNames(), ", "), 71), "\n  ") + "\n")
}

// settingsIntroduction is the beginning of docs/settings.md.
//
//go:embed introduction.md
var settingsIntroduction string

// Markdown writes docs/settings.md.
func Markdown(out io.Writer) error {
	var page strings.Builder
	page.WriteString(settingsIntroduction)
	for i, g := range Groups() {
		if i > 0 {
			page.WriteString("\n")
		}
		fmt.Fprintf(&page, "## %s\n\n%s\n\n", g.title, escapeCell(g.note))
		page.WriteString("| variable | default | form | meaning |\n|---|---|---|---|\n")
		for _, v := range g.List {
			fmt.Fprintf(&page, "| `%s`%s | %s | %s | %s |\n", v.Key, escapeCell(Star(v)),
				defaultCell(v), escapeCell(v.form()), escapeCell(v.desc))
		}
	}
	_, err := io.WriteString(out, page.String())
	return err
}

// defaultCell shows constants as code and the rest in words.
func defaultCell(v variable) string {
	if v.def != "" {
		return "`" + v.def + "`"
	}
	return escapeCell(v.unset)
}

// escapeCell keeps a text from being read as markup.
func escapeCell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;", "_", `\_`, "{", `\{`, "}", `\}`).Replace(text)
}

// exampleNames are those of the example file: a provider as source, and the
// destination that needs no list.
const (
	exampleSource      = "GITHUB_"
	exampleDestination = "DEFAULT_"
)

// exampleValues are the lines of .env.example that are not commented out: the
// least that works.
func exampleValues() map[string]string {
	return map[string]string{
		"WEIR_SOURCES":              "github",
		"WEIR_SOURCE_GITHUB_SECRET": "", // whoever copies the file must choose one
		"WEIR_FORWARD_URL":          "http://127.0.0.1:3000/webhooks",
	}
}

// EnvExample writes .env.example.
func EnvExample(out io.Writer) error {
	var page strings.Builder
	page.WriteString("# Settings of weir, with their defaults. weir reads the environment and not this\n" +
		"# file: load it with your shell, Compose (env_file) or systemd (EnvironmentFile).\n#\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(helpNotes, "\n"), "\n") {
		page.WriteString("# " + line + "\n")
	}
	values := exampleValues()
	for _, g := range exampleGroups() {
		fmt.Fprintf(&page, "\n# ---- %s. %s\n", g.title, g.note)
		for _, v := range g.List {
			fmt.Fprintf(&page, "\n# %s\n# %s; default: %s\n",
				strings.Join(wrap(v.desc+Star(v), 78), "\n# "), v.form(), v.Fallback())
			if value, active := values[v.Key]; active {
				fmt.Fprintf(&page, "%s=%s\n", v.Key, value)
			} else {
				fmt.Fprintf(&page, "#%s=%s\n", v.Key, v.def)
			}
		}
	}
	_, err := io.WriteString(out, page.String())
	return err
}

// exampleGroups are the groups with the names of the example put in.
func exampleGroups() []group {
	all := Groups()
	all[1].List = variables(SourcePrefix+exampleSource, new(Source))
	all[2].List = variables(DestinationPrefix+exampleDestination, new(Destination))
	return all
}

// Star marks what is secret.
func Star(v variable) string {
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

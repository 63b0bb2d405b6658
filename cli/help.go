package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"weir/config"
)

// helpCmd is "weir help".
type helpCmd struct {
	Topic    string `arg:"" optional:"" help:"A command, or \"settings\" for every setting with its form, default and meaning."`
	Markdown bool   `xor:"form" help:"Print the settings as tables in Markdown."`
	Env      bool   `xor:"form" help:"Print the settings as a file of the environment."`
}

// Run prints a page.
func (c *helpCmd) Run(parser *kong.Kong, env Env) error {
	switch {
	case c.Markdown:
		return config.Markdown(env.Stdout)
	case c.Env:
		return config.EnvExample(env.Stdout)
	case c.Topic == "settings":
		return printSettings(env.Stdout)
	case c.Topic == "":
		return runParsed(parser, []string{"--help"})
	}
	return runParsed(parser, []string{c.Topic, "--help"})
}

// printSettings writes every setting for a terminal.
func printSettings(out io.Writer) error {
	var page strings.Builder
	config.Help(&page)
	_, err := io.WriteString(out, strings.TrimPrefix(page.String(), "\n"))
	return err
}

// completionCmd is "weir completion".
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"One of ${enum}."`
}

// Help is shown by "weir help completion".
func (completionCmd) Help() string {
	return `Examples:

    source <(weir completion bash)     # in ~/.bashrc
    source <(weir completion zsh)      # in ~/.zshrc, after compinit
    weir completion fish | source      # in ~/.config/fish/config.fish`
}

// completionScripts ask the program itself what may follow, so that they are
// never older than it. Where it knows nothing, files are completed.
var completionScripts = map[string]string{
	"bash": `_weir() {
  local IFS=$'\n'
  COMPREPLY=($(weir __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _weir weir
`,
	"zsh": `_weir() {
  local -a found
  found=("${(@f)$(weir __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n $found[1] ]]; then compadd -- $found; else _files; fi
}
compdef _weir weir
`,
	"fish": `function __weir_complete
  weir __complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null; or true
end
complete -c weir -a '(__weir_complete)'
`,
}

// Run prints the script.
func (c *completionCmd) Run(env Env) error {
	_, err := io.WriteString(env.Stdout, completionScripts[c.Shell])
	return err
}

// completeCmd answers the scripts of "weir completion".
type completeCmd struct {
	Words []string `arg:"" optional:"" help:"The words behind weir; the last is to be completed."`
}

// Run prints what the last word may become, one a line.
func (c *completeCmd) Run(parser *kong.Kong, env Env) error {
	for _, candidate := range complete(parser.Model.Node, c.Words) {
		fmt.Fprintln(env.Stdout, candidate)
	}
	return nil
}

// complete lists what the last of the words may become. It is empty where any
// text or file may follow.
func complete(root *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	node, given := root, 0
	var open *kong.Flag // its value is the next word
	for _, word := range before {
		switch {
		case open != nil:
			open = nil
		case strings.HasPrefix(word, "-"):
			if open = flagOf(node, word); open != nil && open.IsBool() {
				open = nil
			}
		case node == root:
			node = commandOf(root, word)
		default:
			given++
		}
		if node == nil {
			return nil // no such command
		}
	}
	var found []string
	switch {
	case open != nil:
		found = wordsOf(open.Value)
	case strings.HasPrefix(last, "-"):
		found = flagsOf(node)
	case node == root:
		found = commandNames(root)
	case node.Name == "help":
		found = append(commandNames(root), "settings")
	case given < len(node.Positional):
		found = wordsOf(node.Positional[given])
	default:
		found = flagsOf(node)
	}
	return slices.DeleteFunc(found, func(word string) bool { return !strings.HasPrefix(word, last) })
}

// commandNames lists the commands that the help shows.
func commandNames(root *kong.Node) []string {
	var names []string
	for _, command := range root.Children {
		if !command.Hidden {
			names = append(names, command.Name)
		}
	}
	return names
}

// commandOf returns the command of a name, or nil.
func commandOf(root *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(root.Children, func(n *kong.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return root.Children[i]
}

// flagOf returns the flag whose value is still to come, or nil.
func flagOf(node *kong.Node, word string) *kong.Flag {
	name := strings.TrimLeft(word, "-")
	i := slices.IndexFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return node.Flags[i]
}

// flagsOf lists the flags of a command and those of every command.
func flagsOf(node *kong.Node) []string {
	var names []string
	for _, level := range node.AllFlags(true) {
		for _, flag := range level {
			names = append(names, "--"+flag.Name)
		}
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}

// wordsOf lists the words of a closed set.
func wordsOf(value *kong.Value) []string {
	if value.Enum == "" {
		return nil
	}
	return value.EnumSlice()
}

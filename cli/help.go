package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"weir/config"
)

// helpCmd is "weir help": the commands and every setting. Each is a page of its
// own, too: "weir --help" and "weir help settings".
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
		if err := runParsed(parser, []string{"--help"}); err != nil {
			return err
		}
		fmt.Fprintln(env.Stdout)
		return printSettings(env.Stdout)
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
	last := words[len(words)-1]
	if name, value, joined := strings.Cut(last, "="); joined && name != "" { // zsh and fish keep --flag=value whole
		found := complete(root, append(slices.Clone(words[:len(words)-1]), name, value))
		for i := range found {
			found[i] = name + "=" + found[i]
		}
		return found
	}
	last = strings.TrimPrefix(last, "=") // and bash makes three words of it
	node, args := root, 0
	var flag *kong.Flag // whose value is the next word
	for _, word := range words[:len(words)-1] {
		switch name, isFlag := strings.CutPrefix(word, "--"); {
		case word == "=":
		case flag != nil:
			flag = nil
		case isFlag:
			i := slices.IndexFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == name && !f.IsBool() })
			if i >= 0 {
				flag = node.Flags[i]
			}
		case node == root:
			i := slices.IndexFunc(root.Children, func(n *kong.Node) bool { return n.Name == word })
			if i < 0 {
				return nil
			}
			node = root.Children[i]
		default:
			args++
		}
	}
	var found []string
	switch {
	case flag != nil && flag.Enum != "":
		found = flag.EnumSlice()
	case flag != nil:
	case node == root && !strings.HasPrefix(last, "-"):
		found = commandNames(root)
	case node.Name == "help" && !strings.HasPrefix(last, "-"):
		found = append(commandNames(root), "settings")
	case strings.HasPrefix(last, "-") || args >= len(node.Positional):
		found = flagNames(node)
	case node.Positional[args].Enum != "":
		found = node.Positional[args].EnumSlice()
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

// flagNames lists the flags of a command and those of every command.
func flagNames(node *kong.Node) []string {
	var names []string
	for _, flag := range slices.Concat(node.AllFlags(true)...) {
		names = append(names, "--"+flag.Name)
	}
	slices.Sort(names)
	return names
}

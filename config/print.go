package config

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"weir/signature"
)

// Print checks the settings and writes the warnings to notes, one line each, and
// to out every setting that applies, with secrets masked. Where out is nil it
// only checks. The error is of type [Errors], or that of the writer.
func Print(environ []string, out, notes io.Writer) error {
	p := readAll(environ)
	if err := p.err(); err != nil {
		return err
	}
	p.warnFolder()
	for _, warning := range p.warnings {
		fmt.Fprintf(notes, "weir: warning: %s\n", warning)
	}
	if out == nil {
		return nil
	}
	return p.print(out)
}

// print writes a table for the service, and one for each source and
// destination.
func (p *pass) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	settings := p.settings
	fmt.Fprintln(table, "# the service")
	p.env.printVariables(table, variables(globalPrefix, &settings))
	for _, source := range settings.Sources {
		fmt.Fprintf(table, "\n# source %s: register %s\n", source.Name, settings.RegisterURL(source))
		settings.printRegistration(table, source)
		settings.fillByScheme(&source)
		p.env.printVariables(table, slices.DeleteFunc(variables(source.prefix(), &source), func(v variable) bool {
			return !v.usedBy(source.Scheme)
		}))
	}
	for _, destination := range settings.Destinations {
		fmt.Fprintf(table, "\n# destination %s\n", destination.Name)
		p.env.printVariables(table, variables(destination.prefix(), &destination))
	}
	return table.Flush()
}

// fillByScheme writes out what the scheme decides where nothing is set.
func (s Settings) fillByScheme(source *Source) {
	verifier, err := signature.New(source.SignatureConfig(s.PublicURL))
	if err != nil {
		return // checked before: the words "by scheme" remain
	}
	if source.Key == "" {
		places := cmp.Or(strings.Join(verifier.KeyPlaces(), ", else "), "none")
		source.Key = keyPlace(places + " (by scheme)")
	}
	if source.OnConflict == "" {
		source.OnConflict = choice(verifier.DefaultOnConflict()) + " (by scheme)"
	}
}

// printVariables writes name, value and where the value is from.
func (e environment) printVariables(table io.Writer, list []variable) {
	for _, v := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\n", v.Key, v.shown(), e.origin(v))
	}
}

// origin says where the value of a variable is from.
func (e environment) origin(v variable) string {
	switch {
	case v.secret && e[v.Key+fileSuffix] != "":
		return "from " + v.Key + fileSuffix
	case e[v.Key] != "":
		return "set"
	case v.Key == "WEIR_ADDR" && e["PORT"] != "":
		return "from PORT"
	case v.Key == PrefixOf(DestinationPrefix, defaultDestination)+"URL":
		return "from WEIR_FORWARD_URL"
	}
	return "default"
}

// shown is the value as the operator may see it, or what applies without one.
func (v variable) shown() string {
	if v.value.IsZero() && v.def == "" {
		return v.unset
	}
	return strings.Map(printable, v.shownValue().String())
}

// printable keeps control characters from the terminal.
func printable(r rune) rune {
	if isControl(r) || r == '\t' {
		return '?'
	}
	return r
}

// RegisterURL is the address to give to the sender.
func (s Settings) RegisterURL(source Source) string {
	path := "/hooks/" + source.Name
	if name, isQuery := strings.CutPrefix(string(source.TokenIn), "query:"); isQuery && source.Scheme == SchemeToken {
		path += "?" + url.QueryEscape(name) + "=<the secret>"
	}
	if s.PublicURL != "" {
		return string(s.PublicURL) + path
	}
	return "http://" + net.JoinHostPort(Loopback(string(s.Addr))) + path + " (WEIR_PUBLIC_URL is not set)"
}

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

// Print checks the settings and writes the warnings about them, one line
// each, and every setting that is in force with secrets masked. Where out is nil
// it only checks.
func Print(environ []string, out, notes io.Writer) error {
	var found problems
	read := readConfig(environ, &found)
	resolved := resolve(read, &found)
	if err := found.err(); err != nil {
		return err
	}
	doubtFolder(resolved.Database, &found)
	for _, warning := range found.warnings {
		fmt.Fprintf(notes, "weir: warning: %s\n", warning)
	}
	if out == nil {
		return nil
	}
	return printConfig(out, read, resolved)
}

// printConfig writes a table for the service, and one for each source and
// destination.
func printConfig(out io.Writer, read loaded, resolved Settings) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "# the service")
	read.global.Addr = address(resolved.Addr)
	read.printVariables(table, variables(globalPrefix, &read.global))
	for i, source := range read.sources {
		effective := resolved.Sources[i]
		source.config.Scheme = choice(effective.Scheme)
		source.config.MaxBody = ByteSize(effective.MaxBody)
		resolved.fillByScheme(&source.config, effective)
		fmt.Fprintf(table, "\n# source %s: register %s\n", source.name, resolved.RegisterURL(effective))
		resolved.printRegistration(table, effective, source.prefix)
		read.printVariables(table, readVariables(source, effective.Scheme))
	}
	for _, destination := range read.destinations {
		destination.config.URL = read.urlOf(destination)
		fmt.Fprintf(table, "\n# destination %s\n", destination.name)
		read.printVariables(table, variables(destination.prefix, &destination.config))
	}
	return table.Flush()
}

// fillByScheme writes out what the scheme decides where nothing is set.
func (s Settings) fillByScheme(given *sourceConfig, effective Source) {
	verifier, err := signature.New(effective.SignatureConfig(s.PublicURL))
	if err != nil {
		return // checked before: the words "by scheme" remain
	}
	if given.Key == "" {
		places := cmp.Or(strings.Join(verifier.KeyPlaces(), ", else "), "none")
		given.Key = keyPlace(places + " (by scheme)")
	}
	if given.OnConflict == "" {
		given.OnConflict = choice(verifier.DefaultOnConflict()) + " (by scheme)"
	}
}

// readVariables lists the settings of a source that its scheme looks at.
func readVariables(source namedSource, scheme string) []variable {
	return slices.DeleteFunc(variables(source.prefix, &source.config), func(v variable) bool {
		return !reads(strings.TrimPrefix(v.Key, source.prefix), scheme)
	})
}

// printVariables writes name, value and where the value is from.
func (l loaded) printVariables(table io.Writer, list []variable) {
	for _, v := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\n", v.Key, v.shown(), l.origin(v))
	}
}

// origin says where the value of a variable is from.
func (l loaded) origin(v variable) string {
	switch {
	case v.secret && l.env[v.Key+fileSuffix] != "":
		return "from " + v.Key + fileSuffix
	case l.env[v.Key] != "":
		return "set"
	case v.Key == "WEIR_ADDR" && l.env["PORT"] != "":
		return "from PORT"
	case v.Key == PrefixOf(DestinationPrefix, defaultDestination)+"URL":
		return "from WEIR_FORWARD_URL"
	}
	return "default"
}

// shown is the value as the operator may see it, or what holds without one.
func (v variable) shown() string {
	if v.value.IsZero() && v.def == "" {
		return v.absent
	}
	return strings.Map(printable, v.described().String())
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
	if name, isQuery := strings.CutPrefix(source.tokenIn, "query:"); isQuery && source.Scheme == SchemeToken {
		path += "?" + url.QueryEscape(name) + "=<the secret>"
	}
	if s.PublicURL != nil {
		return s.PublicURL.String() + path
	}
	return "http://" + net.JoinHostPort(Loopback(s.Addr)) + path + " (WEIR_PUBLIC_URL is not set)"
}

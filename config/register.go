package config

import (
	_ "embed" // of the registrations
	"fmt"
	"io"
	"strconv"
	"strings"
)

// registrations has a paragraph for each scheme: its name, and a line for each
// thing that the page of its sender must be set to. In the lines {url} stands
// for the address to register, {secret} and {verify token} for the names of the
// settings that hold them, {rate} for the new events that are taken in a
// minute, {hmac} and {place} for what the source's own settings describe. The
// words are those of each sender's pages; where they have been renamed since,
// what is meant is still there.
//
//go:embed register.txt
var registrations string

// registration returns the lines of a scheme.
func registration(scheme string) []string {
	for paragraph := range strings.SplitSeq(registrations, "\n\n") {
		if name, lines, _ := strings.Cut(paragraph, "\n"); name == scheme {
			return strings.Split(strings.TrimSpace(lines), "\n  ")
		}
	}
	return nil
}

// printRegistration writes what the sender's page must be set to. The lines
// are comments, so that the whole remains readable as settings.
func (s Settings) printRegistration(out io.Writer, source Source) {
	secrets := source.prefix()
	fill := strings.NewReplacer(
		"{url}", s.RegisterURL(source),
		"{secret}", secrets+"SECRET",
		"{verify token}", secrets+"VERIFY_TOKEN",
		"{rate}", strconv.Itoa(perMinute(source.Rate)),
		"{hmac}", strings.Map(printable, source.signedBy()),
		"{place}", strings.Map(printable, tokenGoes(string(source.TokenIn), secrets+"SECRET")),
	)
	for _, line := range registration(string(source.Scheme)) {
		fmt.Fprintf(out, "#   %s\n", fill.Replace(line))
	}
}

// signedBy says how a sender must sign for the scheme hmac.
func (s Source) signedBy() string {
	text := fmt.Sprintf("header %s: %sHMAC-%s of %s in %s", s.HMACHeader, s.HMACPrefix,
		strings.ToUpper(string(s.HMACAlgorithm)), s.HMACTemplate, s.HMACEncoding)
	if s.HMACItems != "" {
		text += ", in the items " + string(s.HMACItems)
	}
	if s.HMACTimestampHeader != "" {
		text += "; header " + string(s.HMACTimestampHeader) + ": the time"
	}
	return text
}

// tokenGoes tells where a sender must put the token.
func tokenGoes(tokenIn, secret string) string {
	switch kind, name, _ := strings.Cut(tokenIn, ":"); kind {
	case "header":
		return "Header " + name + ": the value of " + secret
	case "query":
		return "Token: in the URL, where <the secret> stands for the value of " + secret
	}
	return "Header Authorization: Bearer and the value of " + secret
}

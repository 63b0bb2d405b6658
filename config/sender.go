package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"weir/signature"
)

// Sender is what it takes to send as a source's provider would.
type Sender struct {
	Source   Source
	Verifier *signature.Verifier
	Client   Client
}

// LoadSender reads the settings of one source as the service does, and those
// of the client commands. Faults of everything else are left to the service:
// whoever only sends need not have them.
func LoadSender(environ []string, name string) (Sender, error) {
	var found problems
	if !newEnvironment(environ).has("WEIR_SOURCES") {
		environ = append(slices.Clip(environ), "WEIR_SOURCES="+name)
	}
	read := readConfig(environ, &found)
	if !found.has("WEIR_SOURCES") && !slices.Contains(read.global.Sources, name) {
		return Sender{}, Errors{fmt.Sprintf("WEIR_SOURCES: has no source %q; it has %s", name, strings.Join(read.global.Sources, ", "))}
	}
	public := read.publicURL(&found)
	list := read.resolveSources(&found)
	prefix := PrefixOf(SourcePrefix, name)
	needed := among("WEIR_SOURCES", "WEIR_PUBLIC_URL", "WEIR_URL", "WEIR_API_TOKEN")
	err := found.only(func(key string) bool {
		return needed(key) || strings.HasPrefix(key, prefix) && key != prefix+"TO"
	})
	if err != nil {
		return Sender{}, err
	}
	place := slices.IndexFunc(list, func(s Source) bool { return s.Name == name })
	return newSender(read, list[place], public)
}

// newSender joins a source with its signer.
func newSender(read loaded, source Source, public *url.URL) (Sender, error) {
	verifier, err := signature.New(source.SignatureConfig(public))
	if err != nil {
		return Sender{}, Errors{fmt.Sprintf("source %s: %s", source.Name, strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return Sender{Source: source, Verifier: verifier, Client: read.global.client()}, nil
}

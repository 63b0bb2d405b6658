package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"weir/signature"
)

// sender is what it takes to send as a source's provider would.
type sender struct {
	source   sourceSettings
	verifier *signature.Verifier
	client   clientSettings
}

// loadSender reads the settings of one source as the service does, and those
// of the client commands. Faults of everything else are left to the service:
// whoever only sends need not have them.
func loadSender(environ []string, name string) (sender, error) {
	var found problems
	if !newEnvironment(environ).has("WEIR_SOURCES") {
		environ = append(slices.Clip(environ), "WEIR_SOURCES="+name)
	}
	read := readConfig(environ, &found)
	if !found.has("WEIR_SOURCES") && !slices.Contains(read.global.Sources, name) {
		return sender{}, settingErrors{fmt.Sprintf("WEIR_SOURCES: has no source %q; it has %s", name, strings.Join(read.global.Sources, ", "))}
	}
	public := read.publicURL(&found)
	list := read.resolveSources(&found)
	prefix := prefixOf(sourcePrefix, name)
	needed := among("WEIR_SOURCES", "WEIR_PUBLIC_URL", "WEIR_URL", "WEIR_API_TOKEN")
	err := found.only(func(key string) bool {
		return needed(key) || strings.HasPrefix(key, prefix) && key != prefix+"TO"
	})
	if err != nil {
		return sender{}, err
	}
	place := slices.IndexFunc(list, func(s sourceSettings) bool { return s.name == name })
	return newSender(read, list[place], public)
}

// newSender joins a source with its signer.
func newSender(read loaded, source sourceSettings, public *url.URL) (sender, error) {
	verifier, err := signature.New(source.signatureConfig(public))
	if err != nil {
		return sender{}, settingErrors{fmt.Sprintf("source %s: %s", source.name, strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return sender{source: source, verifier: verifier, client: read.global.client()}, nil
}

package config

import (
	"fmt"
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
// of the client commands. Errors in everything else are left to the service:
// whoever only sends need not have the rest. The error is of type [Errors].
func LoadSender(environ []string, name string) (Sender, error) {
	if !newEnvironment(environ).has("WEIR_SOURCES") {
		environ = append(slices.Clip(environ), "WEIR_SOURCES="+name)
	}
	p := readAll(environ)
	list := p.settings.Sources
	place := slices.IndexFunc(list, func(s Source) bool { return s.Name == name })
	if place < 0 && !p.has("WEIR_SOURCES") {
		return Sender{}, Errors{fmt.Sprintf("WEIR_SOURCES: has no source %q; it has %s", name, strings.Join(list.names(), ", "))}
	}
	prefix := PrefixOf(SourcePrefix, name)
	needed := among("WEIR_SOURCES", "WEIR_PUBLIC_URL", "WEIR_URL", "WEIR_API_TOKEN")
	err := p.only(func(key string) bool {
		return needed(key) || strings.HasPrefix(key, prefix) && key != prefix+"TO"
	})
	if err != nil {
		return Sender{}, err
	}
	verifier, err := signature.New(list[place].SignatureConfig(p.settings.PublicURL))
	if err != nil {
		return Sender{}, Errors{fmt.Sprintf("source %s: %s", name, strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return Sender{Source: list[place], Verifier: verifier, Client: p.settings.client()}, nil
}

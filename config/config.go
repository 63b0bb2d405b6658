// Package config reads the settings from the environment, checks all of them,
// and says what is wrong.
//
// # Guarantees
//
// Every setting is read once. All errors are reported at once, each with the
// name of its variable and never with its value; a variable with the prefix
// WEIR_ that is not a setting is an error. What is returned has been checked
// and is never changed. Help, .env.example and docs/settings.md are made from
// the same structs.
//
// # Vocabulary
//
// [Settings] holds the settings of the whole service, a [Source] those of one
// sender, a [Destination] those of one place that events go to. Each is read,
// checked and warned about in one file (global.go, source.go, destination.go),
// and the struct that is filled from the environment is the one that the
// service uses. A warning is for what is valid but probably a mistake. [Errors]
// is every error in the settings.
//
// # To add a setting
//
// Add a field to one of the three structs. Its tags are everything that is said
// about it, and the help, .env.example and docs/settings.md are made from them:
//
//   - default: the value where the variable is unset or empty.
//   - unset: what applies then, in words, where no constant does.
//   - min, max: the bounds, both included, of numbers, sizes and durations.
//   - oneof: the only values, separated by "|".
//   - secret: never shown; may come from a file named by NAME_FILE.
//   - raw: white space around the value is part of it.
//   - scheme: the only scheme of a source that uses the setting.
//   - desc: the meaning.
//   - ignored: the field is no setting.
//
// The names of the variables come from the names of the fields: MaxBody is
// MAX_BODY after the prefix. The type of the field says how the value is
// written (values.go, web.go).
//
// # Example
//
//	settings, err := config.Load(os.Environ())
//	if err != nil {
//		return err // config.Errors, for a person to read
//	}
package config

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"weir/signature"
)

// The prefixes of the three structs.
const (
	globalPrefix = "WEIR_"
	// SourcePrefix begins the names of the settings of a source.
	SourcePrefix = "WEIR_SOURCE_"
	// DestinationPrefix begins the names of the settings of a destination.
	DestinationPrefix = "WEIR_DESTINATION_"
	fileSuffix        = "_FILE"
)

// PrefixOf returns the prefix of the settings of one source or destination.
func PrefixOf(kind, name string) string {
	return kind + strings.ReplaceAll(strings.ToUpper(name), "-", "_") + "_"
}

// pass reads the environment once: it fills the settings, checks them, and
// collects what is wrong.
type pass struct {
	problems
	env      environment
	settings Settings
}

// readAll reads and checks every setting.
func readAll(environ []string) *pass {
	p := readGlobal(environ)
	p.checkNames()
	p.checkGlobal()
	for i := range p.settings.Sources {
		p.readSource(&p.settings.Sources[i])
	}
	p.checkForwardURL()
	for i := range p.settings.Destinations {
		p.readDestination(&p.settings.Destinations[i])
	}
	for _, s := range p.settings.Sources {
		p.warnAged(s)
	}
	p.checkCycles()
	p.warnUnused()
	return p
}

// readGlobal reads the settings of the whole service and checks each by itself.
func readGlobal(environ []string) *pass {
	p := &pass{env: newEnvironment(environ)}
	p.env.decode(globalPrefix, &p.settings, &p.problems)
	return p
}

// Load reads and checks every setting. The error is of type [Errors].
func Load(environ []string) (Settings, error) {
	p := readAll(environ)
	if err := p.err(); err != nil {
		return Settings{}, err
	}
	p.settings.Warnings = p.warnings
	return p.settings, nil
}

// Client is what the client commands need.
type Client struct {
	URL     string // without a slash at the end
	URLFrom string // the name of the setting that it was read from
	Token   string
}

// LoadClient reads only the settings of the client commands: they must work
// where the service is not configured. The error is of type [Errors].
func LoadClient(environ []string) (Client, error) {
	p := readGlobal(environ)
	return p.client(), p.only(among("WEIR_URL", "WEIR_API_TOKEN", "WEIR_ADMIN_ADDR"))
}

// client returns what the client commands need. Where WEIR_URL is unset they
// find the service at WEIR_ADMIN_ADDR, if that is set.
func (p *pass) client() Client {
	c := Client{URL: strings.TrimRight(string(p.settings.URL), "/"), URLFrom: "WEIR_URL", Token: string(p.settings.APIToken)}
	if p.settings.AdminAddr != "" && !p.env.has("WEIR_URL") {
		host, port := Loopback(string(p.settings.AdminAddr))
		c.URL, c.URLFrom = "http://"+net.JoinHostPort(host, port), "WEIR_ADMIN_ADDR"
	}
	return c
}

// LoadDatabase reads only the path of the database, for the commands that work
// on the file. The error is of type [Errors].
func LoadDatabase(environ []string) (string, error) {
	p := readGlobal(environ)
	return string(p.settings.Database), p.only(among("WEIR_DATABASE"))
}

// ListenAddr reads only the address that the service listens on. The error is
// of type [Errors].
func ListenAddr(environ []string) (string, error) {
	p := readGlobal(environ)
	p.fillAddr()
	return string(p.settings.Addr), p.only(among("WEIR_ADDR", "PORT"))
}

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
	return Sender{Source: list[place], Verifier: verifier, Client: p.client()}, nil
}

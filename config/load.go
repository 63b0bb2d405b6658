package config

import (
	"log/slog"
	"net"
	"strings"
	"time"

	"weir/webhook"
)

// loaded is the configuration as it was read, before it is checked as a whole.
type loaded struct {
	env          environment
	global       global
	sources      []namedSource
	destinations []namedDestination
}

// namedSource and namedDestination keep the order of the lists.
type namedSource struct {
	name   string
	prefix string
	config sourceConfig
}

type namedDestination struct {
	name   string
	prefix string
	config destinationConfig
}

// Load reads and checks every setting. The error is a usageError that
// tells all faults at once, each by the name of its variable and never with a
// value.
func Load(environ []string) (Settings, error) {
	var found problems
	read := readConfig(environ, &found)
	resolved := resolve(read, &found)
	if err := found.err(); err != nil {
		return Settings{}, err
	}
	resolved.Warnings = found.warnings
	return resolved, nil
}

// Client is what the client commands need.
type Client struct {
	URL     string // without a slash at the end
	URLFrom string // what it was read from
	Token   string
}

// LoadClient reads only the settings of the client commands: they must work
// where the service is not configured.
func LoadClient(environ []string) (Client, error) {
	var found problems
	global := readGlobal(environ, &found)
	c := global.client()
	if global.AdminAddr != "" && !newEnvironment(environ).has("WEIR_URL") {
		host, port := Loopback(string(global.AdminAddr))
		c.URL, c.URLFrom = "http://"+net.JoinHostPort(host, port), "WEIR_ADMIN_ADDR"
	}
	return c, found.only(among("WEIR_URL", "WEIR_API_TOKEN", "WEIR_ADMIN_ADDR"))
}

// client returns what the client commands need.
func (c global) client() Client {
	return Client{URL: strings.TrimRight(string(c.URL), "/"), URLFrom: "WEIR_URL", Token: string(c.APIToken)}
}

// LoadDatabase reads only the path of the database, for the commands that work
// on the file.
func LoadDatabase(environ []string) (string, error) {
	var found problems
	global := readGlobal(environ, &found)
	return string(global.Database), found.only(among("WEIR_DATABASE"))
}

// readGlobal reads the settings of the service alone.
func readGlobal(environ []string, found *problems) global {
	var global global
	newEnvironment(environ).decode(globalPrefix, &global, found)
	return global
}

// readConfig reads every variable into its struct and notes what cannot be
// read and what nothing reads.
func readConfig(environ []string, found *problems) loaded {
	read := loaded{env: newEnvironment(environ)}
	known := vocabulary{keys: make(map[string]bool)}
	known.learn(globalPrefix, &read.global)
	read.env.decode(globalPrefix, &read.global, found)
	for _, name := range read.global.Sources {
		source := namedSource{name: name, prefix: PrefixOf(SourcePrefix, name)}
		known.learn(source.prefix, &source.config)
		read.env.decode(source.prefix, &source.config, found)
		read.sources = append(read.sources, source)
	}
	for _, name := range read.global.Destinations {
		destination := namedDestination{name: name, prefix: PrefixOf(DestinationPrefix, name)}
		known.learn(destination.prefix, &destination.config)
		read.env.decode(destination.prefix, &destination.config, found)
		read.destinations = append(read.destinations, destination)
	}
	read.env.checkSlips(known, found)
	read.env.checkKnown(known, found)
	return read
}

// resolve checks what concerns several settings, fills in what follows from
// others, and returns the value that the program runs by.
func resolve(read loaded, found *problems) Settings {
	global := read.global
	resolved := Settings{
		Addr:            read.addr(found),
		Database:        string(global.Database),
		ClientIPHeader:  string(global.ClientIPHeader),
		TrustedProxies:  global.TrustedProxies,
		RefusedRate:     webhook.Rate(global.RefusedRate),
		MaxBody:         int64(global.MaxBody),
		MaxInflight:     int64(global.MaxInflight),
		MaxDatabase:     int64(global.MaxDatabase),
		DedupeWindow:    time.Duration(global.DedupeWindow),
		RetainDelivered: time.Duration(global.RetainDelivered),
		RetainDead:      time.Duration(global.RetainDead),
		ShutdownGrace:   time.Duration(global.ShutdownGrace),
		ShutdownDelay:   time.Duration(global.ShutdownDelay),
		IdleExit:        time.Duration(global.IdleExit),
		StallAfter:      time.Duration(global.StallAfter),
		MetricsAddr:     string(global.MetricsAddr),
		AdminAddr:       string(global.AdminAddr),
		AlertURL:        global.AlertURL.parsed(),
		LogLevel:        levelOf(global.LogLevel),
		LogFormat:       string(global.LogFormat),
	}
	resolved.APITokens = read.apiTokens(found)
	resolved.PublicURL = read.publicURL(found)
	read.checkGlobal(found)
	resolved.Sources = read.resolveSources(found)
	resolved.Destinations = read.resolveDestinations(found)
	return resolved
}

// levelOf returns the level of a checked word.
func levelOf(word choice) slog.Level {
	var level slog.Level
	if level.UnmarshalText([]byte(word)) != nil {
		return slog.LevelInfo
	}
	return level
}

// ListenAddr reads the address that the service listens on, and nothing else.
func ListenAddr(environ []string) (string, error) {
	var found problems
	read := loaded{env: newEnvironment(environ), global: readGlobal(environ, &found)}
	addr := read.addr(&found)
	return addr, found.only(among("WEIR_ADDR", "PORT"))
}

// Loopback returns host and port by which this machine reaches a listener.
func Loopback(addr string) (host, port string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "127.0.0.1", "8080"
	}
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return host, port
}

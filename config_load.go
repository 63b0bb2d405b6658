package main

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
	global       config
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

// loadSettings reads and checks every setting. The error is a usageError that
// tells all faults at once, each by the name of its variable and never with a
// value.
func loadSettings(environ []string) (settings, error) {
	var found problems
	read := readConfig(environ, &found)
	resolved := resolve(read, &found)
	if err := found.err(); err != nil {
		return settings{}, err
	}
	resolved.warnings = found.warnings
	return resolved, nil
}

// clientSettings is what the client commands need.
type clientSettings struct {
	url     string // without a slash at the end
	urlFrom string // what it was read from
	token   string
}

// loadClient reads only the settings of the client commands: they must work
// where the service is not configured.
func loadClient(environ []string) (clientSettings, error) {
	var found problems
	global := readGlobal(environ, &found)
	return global.client(), found.only(among("WEIR_URL", "WEIR_API_TOKEN"))
}

// client returns what the client commands need.
func (c config) client() clientSettings {
	return clientSettings{url: strings.TrimRight(string(c.URL), "/"), urlFrom: "WEIR_URL", token: string(c.APIToken)}
}

// loadDatabase reads only the path of the database, for the commands that work
// on the file.
func loadDatabase(environ []string) (string, error) {
	var found problems
	global := readGlobal(environ, &found)
	return string(global.Database), found.only(among("WEIR_DATABASE"))
}

// readGlobal reads the settings of the service alone.
func readGlobal(environ []string, found *problems) config {
	var global config
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
		source := namedSource{name: name, prefix: prefixOf(sourcePrefix, name)}
		known.learn(source.prefix, &source.config)
		read.env.decode(source.prefix, &source.config, found)
		read.sources = append(read.sources, source)
	}
	for _, name := range read.global.Destinations {
		destination := namedDestination{name: name, prefix: prefixOf(destinationPrefix, name)}
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
func resolve(read loaded, found *problems) settings {
	global := read.global
	resolved := settings{
		addr:            read.addr(found),
		database:        string(global.Database),
		clientIPHeader:  string(global.ClientIPHeader),
		trustedProxies:  global.TrustedProxies,
		refusedRate:     webhook.Rate(global.RefusedRate),
		maxBody:         int64(global.MaxBody),
		maxInflight:     int64(global.MaxInflight),
		maxDatabase:     int64(global.MaxDatabase),
		dedupeWindow:    time.Duration(global.DedupeWindow),
		retainDelivered: time.Duration(global.RetainDelivered),
		retainDead:      time.Duration(global.RetainDead),
		shutdownGrace:   time.Duration(global.ShutdownGrace),
		shutdownDelay:   time.Duration(global.ShutdownDelay),
		idleExit:        time.Duration(global.IdleExit),
		stallAfter:      time.Duration(global.StallAfter),
		metricsAddr:     string(global.MetricsAddr),
		alertURL:        global.AlertURL.parsed(),
		logLevel:        levelOf(global.LogLevel),
		logFormat:       string(global.LogFormat),
	}
	resolved.apiTokens = read.apiTokens(found)
	resolved.publicURL = read.publicURL(found)
	read.checkGlobal(found)
	resolved.sources = read.resolveSources(found)
	resolved.destinations = read.resolveDestinations(found)
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

// listenAddr reads the address that the service listens on, and nothing else.
func listenAddr(environ []string) (string, error) {
	var found problems
	read := loaded{env: newEnvironment(environ), global: readGlobal(environ, &found)}
	addr := read.addr(&found)
	return addr, found.only(among("WEIR_ADDR", "PORT"))
}

// loopback returns host and port by which this machine reaches a listener.
func loopback(addr string) (host, port string) {
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

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/webhook"
)

// settings is what the program runs by: checked, resolved, and never changed
// after [loadSettings] made it.
type settings struct {
	addr     string
	database string
	// apiTokens are the accepted ones, the current first; none closes the
	// operator API.
	apiTokens      []string
	publicURL      *url.URL // without a slash at the end; nil when unset
	clientIPHeader string
	trustedProxies []netip.Prefix
	refusedRate    webhook.Rate
	maxBody        int64 // bytes
	maxInflight    int64 // bytes
	maxDatabase    int64 // bytes; 0 is 80 % of the volume
	dedupeWindow   time.Duration

	retainDelivered time.Duration
	retainDead      time.Duration
	shutdownGrace   time.Duration
	shutdownDelay   time.Duration
	idleExit        time.Duration // 0 is never
	stallAfter      time.Duration

	metricsAddr string   // empty is off
	alertURL    *url.URL // nil is off
	logLevel    slog.Level
	logFormat   string // auto, text or json

	sources      []sourceSettings
	destinations []destinationSettings
	// warnings are sentences for the log at start, without secrets.
	warnings []string
}

// sourceSettings is one source. Empty members that its scheme decides (key,
// onConflict) were not set.
type sourceSettings struct {
	name   string
	scheme string
	// secretList holds the current secret and the previous one.
	secretList  []string
	key         string
	onConflict  webhook.OnConflict
	tolerance   time.Duration
	rate        []webhook.Rate
	maxBody     int64  // bytes
	signedBody  string // wire or decoded
	verifyToken string
	hmac        hmacSettings
	tokenIn     string
	allowFrom   []netip.Prefix
	to          []string
	status      int
	dropHeaders []string
}

// hmacSettings describe a signature of the scheme hmac.
type hmacSettings struct {
	header          string
	algorithm       string
	encoding        string
	prefix          string
	timestampHeader string
	template        string
}

// destinationSettings is one destination.
type destinationSettings struct {
	url           *url.URL // with its credentials
	headers       map[string]string
	signingSecret string
	policy        webhook.Policy
}

// String keeps the secrets out of whatever prints the settings as a whole.
func (s settings) String() string {
	return fmt.Sprintf("settings of %d sources and %d destinations", len(s.sources), len(s.destinations))
}

// String keeps the secrets of a source out.
func (s sourceSettings) String() string { return "settings of source " + s.name }

// String keeps the secrets of a destination out.
func (d destinationSettings) String() string { return "settings of destination " + d.policy.Name }

// GoString does the same for %#v.
func (s settings) GoString() string { return s.String() }

// GoString does the same for %#v.
func (s sourceSettings) GoString() string { return s.String() }

// GoString does the same for %#v.
func (d destinationSettings) GoString() string { return d.String() }

// fingerprint is a digest of what a hold for auth, gone or misdirected may be
// due to: SHA-256 in hex over URL, headers and signing secret. The parts are
// preceded by their lengths, so that they cannot be taken for each other.
func fingerprint(target *url.URL, headers map[string]string, signingSecret string) string {
	digest := sha256.New()
	add := func(part string) { fmt.Fprintf(digest, "%d:%s", len(part), part) }
	add(target.String())
	add(signingSecret)
	byName := make(map[string]string, len(headers))
	for name, value := range headers {
		byName[strings.ToLower(name)] = value
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		add(name)
		add(byName[name])
	}
	return hex.EncodeToString(digest.Sum(nil))
}

package config

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

// Settings is what the program runs by: checked, resolved, and never changed
// after [loadSettings] made it.
type Settings struct {
	Addr     string
	Database string
	// APITokens are the accepted ones, the current first; none closes the
	// operator API.
	APITokens      []string
	PublicURL      *url.URL // without a slash at the end; nil when unset
	ClientIPHeader string
	TrustedProxies []netip.Prefix
	RefusedRate    webhook.Rate
	MaxBody        int64 // bytes
	MaxInflight    int64 // bytes
	MaxDatabase    int64 // bytes; 0 is 80 % of the volume
	DedupeWindow   time.Duration

	RetainDelivered time.Duration
	RetainDead      time.Duration
	ShutdownGrace   time.Duration
	ShutdownDelay   time.Duration
	IdleExit        time.Duration // 0 is never
	StallAfter      time.Duration

	MetricsAddr string   // empty is off
	AdminAddr   string   // empty: WEIR_ADDR serves everything
	AlertURL    *url.URL // nil is off
	LogLevel    slog.Level
	LogFormat   string // auto, text or json

	Sources      []Source
	Destinations []Destination
	// Warnings are sentences for the log at start, without secrets.
	Warnings []string
}

// Source is one source. Empty members that its scheme decides (key,
// onConflict) were not set.
type Source struct {
	Name   string
	Scheme string
	// SecretList holds the current secret and the previous one.
	SecretList  []string
	key         string
	OnConflict  webhook.OnConflict
	Tolerance   time.Duration
	Rate        []webhook.Rate
	MaxBody     int64  // bytes
	signedBody  string // wire or decoded
	verifyToken string
	Hmac        hmac
	tokenIn     string
	Renew       bool // aged signatures are made anew where that can be done
	AllowFrom   []netip.Prefix
	To          []string
	Status      int
	DropHeaders []string
}

// hmac describe a signature of the scheme hmac.
type hmac struct {
	Header          string
	algorithm       string
	encoding        string
	prefix          string
	timestampHeader string
	timestampForm   string
	items           string
	keyEncoding     string
	template        string
}

// Destination is one destination.
type Destination struct {
	URL           *url.URL // with its credentials
	Headers       map[string]string
	SigningSecret string
	Policy        webhook.Policy
}

// String keeps the secrets out of whatever prints the settings as a whole.
func (s Settings) String() string {
	return fmt.Sprintf("settings of %d sources and %d destinations", len(s.Sources), len(s.Destinations))
}

// String keeps the secrets of a source out.
func (s Source) String() string { return "settings of source " + s.Name }

// String keeps the secrets of a destination out.
func (d Destination) String() string { return "settings of destination " + d.Policy.Name }

// GoString does the same for %#v.
func (s Settings) GoString() string { return s.String() }

// GoString does the same for %#v.
func (s Source) GoString() string { return s.String() }

// GoString does the same for %#v.
func (d Destination) GoString() string { return d.String() }

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

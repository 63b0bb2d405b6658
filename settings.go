package main

import (
	"crypto/sha256"
	"encoding/base64"
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
	refusedRate    []webhook.Rate
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

// destination returns the settings of one destination by name.
func (s settings) destination(name string) (destinationSettings, bool) {
	for _, d := range s.destinations {
		if d.policy.Name == name {
			return d, true
		}
	}
	return destinationSettings{}, false
}

// fingerprint is a digest of what a hold for auth, gone or misdirected may be
// due to: SHA-256 in hex over URL, headers and signing secret. The parts are
// preceded by their lengths, so that they cannot be taken for each other.
func fingerprint(target *url.URL, headers map[string]string, signingSecret string) string {
	digest := sha256.New()
	add := func(part string) { fmt.Fprintf(digest, "%d:%s", len(part), part) }
	add(target.String())
	add(signingSecret)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		add(strings.ToLower(name))
		add(headers[name])
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// secrets returns every secret text, so that what is kept of answers can be
// redacted: tokens, secrets, the values of headers with and without their
// scheme ("Bearer"), credentials of URLs in plain and in Basic form.
func (s settings) secrets() []string {
	list := slices.Clone(s.apiTokens)
	list = append(list, urlSecrets(s.alertURL)...)
	if s.alertURL != nil {
		list = append(list, s.alertURL.String())
	}
	for _, source := range s.sources {
		list = append(list, source.verifyToken)
		for _, one := range source.secretList {
			list = append(list, one)
			if user, password, isPair := strings.Cut(one, ":"); isPair && source.scheme == schemeBasic {
				list = append(list, password, basicCredentials(user, password))
			}
		}
	}
	for _, destination := range s.destinations {
		list = append(list, destination.secrets()...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(one string) bool { return one == "" })
}

// secrets returns those of one destination.
func (d destinationSettings) secrets() []string {
	list := append(urlSecrets(d.url), d.signingSecret)
	for _, value := range d.headers {
		list = append(list, value)
		if _, credentials, isPair := strings.Cut(value, " "); isPair {
			list = append(list, strings.TrimSpace(credentials))
		}
	}
	return list
}

// urlSecrets returns password, Basic form and query values of a URL.
func urlSecrets(u *url.URL) []string {
	if u == nil {
		return nil
	}
	var list []string
	if password, set := u.User.Password(); set {
		list = append(list, password)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		list = append(list, basicCredentials(u.User.Username(), password))
	}
	for _, values := range u.Query() {
		list = append(list, values...)
	}
	return list
}

// basicCredentials is the form that RFC 7617 sends.
func basicCredentials(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

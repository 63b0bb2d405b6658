package config

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/webhook"
)

// Destination holds the settings of one destination, prefix
// WEIR_DESTINATION_<NAME>_. [Load] fills in the URL of the one that
// WEIR_FORWARD_URL is short for.
type Destination struct {
	// Name is the name in WEIR_DESTINATIONS.
	Name string `ignored:"true"`

	URL           webURL       `split_words:"true" unset:"required" secret:"true" desc:"address to which events are sent, http or https; credentials in it are sent as Basic authorization and never shown"`
	Headers       headerObject `split_words:"true" unset:"–" secret:"true" desc:"JSON object of headers that are added to each request; their values are secret"`
	SigningSecret secret       `split_words:"true" unset:"–" secret:"true" desc:"secret with which requests are signed as Standard Webhooks describes: base64, with or without whsec_ before it"`
	Timeout       Duration     `split_words:"true" default:"15s" min:"1ms" max:"10m" desc:"longest time of one attempt, from connecting to the end of the response"`
	Concurrency   count        `split_words:"true" default:"4" min:"1" max:"256" desc:"requests in flight at the same time"`
	Rate          Rates        `split_words:"true" unset:"–" desc:"cap of all requests, in sliding windows; with several, each applies"`
	RetryBudget   Rate         `split_words:"true" default:"30/1m" desc:"cap of the requests that are not the first of their delivery"`
	MaxAttempts   count        `split_words:"true" default:"10" min:"1" max:"1000" desc:"most attempts of one delivery"`
	MaxAge        Duration     `split_words:"true" default:"72h" min:"1ms" max:"8760h" desc:"age at which a delivery is given up and becomes dead"`
	Backoff       Duration     `split_words:"true" default:"2s" min:"1ms" max:"24h" desc:"wait after the first failure; each further wait is three times as long"`
	BackoffMax    Duration     `split_words:"true" default:"15m" min:"1ms" max:"168h" desc:"longest such wait; a longer one that the destination asks for is obeyed"`
	MaxHold       Duration     `split_words:"true" default:"24h" min:"1ms" max:"744h" desc:"longest wait for which no action is needed; a longer one that the destination asks for is obeyed and reported"`
	MaxBody       ByteSize     `split_words:"true" unset:"–" min:"1B" max:"25MiB" desc:"largest body that is sent; deliveries of larger ones become dead (too_large)"`
	Fallback      text         `split_words:"true" unset:"–" desc:"another destination, to which due deliveries are sent while this one is held"`
}

// String keeps the secrets of a destination out of whatever prints it.
func (d Destination) String() string { return "settings of destination " + d.Name }

// GoString does the same for %#v.
func (d Destination) GoString() string { return d.String() }

// Policy returns what the dispatcher goes by.
func (d Destination) Policy() webhook.Policy {
	return webhook.Policy{
		Name:        d.Name,
		Fingerprint: fingerprint(d.URL.Parsed(), d.Headers, string(d.SigningSecret)),
		Timeout:     time.Duration(d.Timeout),
		Concurrency: int(d.Concurrency),
		Rate:        d.Rate,
		RetryBudget: webhook.Rate(d.RetryBudget),
		MaxAttempts: int(d.MaxAttempts),
		MaxAge:      time.Duration(d.MaxAge),
		Backoff:     time.Duration(d.Backoff),
		BackoffMax:  time.Duration(d.BackoffMax),
		MaxHold:     time.Duration(d.MaxHold),
		MaxBody:     int64(d.MaxBody),
		Fallback:    string(d.Fallback),
	}
}

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

// defaultDestination may be given by WEIR_FORWARD_URL alone.
const defaultDestination = "default"

func (d Destination) prefix() string { return PrefixOf(DestinationPrefix, d.Name) }

// readDestination reads and checks one destination, and warns.
func (p *pass) readDestination(d *Destination) {
	prefix := d.prefix()
	p.env.decode(prefix, d, &p.problems)
	switch {
	case d.Name == defaultDestination && d.URL == "":
		d.URL = p.settings.ForwardURL
	case !p.env.has(prefix+"URL") && !p.has("WEIR_DESTINATIONS"):
		p.add(prefix+"URL", "is required: the address to which events are sent")
	}
	if d.BackoffMax < d.Backoff && !p.has(prefix+"BACKOFF") {
		p.add(prefix+"BACKOFF_MAX", "must not be less than %sBACKOFF", prefix)
	}
	p.checkSigningSecret(*d)
	target := d.URL.Parsed()
	if target != nil && target.User != nil && d.Headers.has("Authorization") {
		p.add(prefix+"HEADERS", "sets Authorization, and the URL has credentials: use one of them")
	}
	if target != nil && strings.HasPrefix(target.Path, "/hooks/") && p.settings.isSelf(target) {
		p.warn(prefix+"URL", "is weir's own receive path: every event that is sent there is received again")
	}
	if d.Fallback == "" {
		return
	}
	if string(d.Fallback) == d.Name {
		p.add(prefix+"FALLBACK", "must be another destination")
	}
	p.checkListed(prefix+"FALLBACK", []string{string(d.Fallback)})
}

// checkForwardURL refuses a WEIR_FORWARD_URL that would not be used.
func (p *pass) checkForwardURL() {
	const key = "WEIR_FORWARD_URL"
	own := PrefixOf(DestinationPrefix, defaultDestination) + "URL"
	listed := p.settings.lists(defaultDestination)
	switch {
	case p.has("WEIR_DESTINATIONS"):
		// It is not known whether there is such a destination.
	case !p.env.has(key) && !p.env.has(own) && listed:
		p.add(key, "is required: the address to which webhooks are forwarded (or set %s)", own)
	case p.env.has(key) && p.env.has(own):
		p.add(key, "is set together with %s: set one of them", own)
	case p.env.has(key) && !listed:
		p.add(key, "is not used: WEIR_DESTINATIONS does not list default")
	}
}

// minSigningSecret is what Standard Webhooks asks for at least, in bytes.
const minSigningSecret = 24

// checkSigningSecret checks the form of Standard Webhooks: whsec_ and base64.
func (p *pass) checkSigningSecret(d Destination) {
	if d.SigningSecret == "" {
		return
	}
	key := d.prefix() + "SIGNING_SECRET"
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(d.SigningSecret), "whsec_"))
	switch {
	case err != nil || len(raw) == 0:
		p.add(key, "must be base64, with or without whsec_ before it")
	case len(raw) < minSigningSecret:
		p.warn(key, "is shorter than the %d bytes that Standard Webhooks requires", minSigningSecret)
	}
}

// checkListed reports names that WEIR_DESTINATIONS does not list. It does not
// repeat them: they may be something else that was pasted.
func (p *pass) checkListed(key string, wanted []string) {
	if p.has("WEIR_DESTINATIONS") {
		return // it is not known which there are
	}
	for i, name := range wanted {
		switch {
		case p.settings.lists(name):
		case !p.env.has(key) && name == defaultDestination:
			p.add(key, "is not set, and its default is %s, which WEIR_DESTINATIONS does not list; set it to a name in that list",
				defaultDestination)
		case len(wanted) > 1:
			p.add(key, "name %d is not in WEIR_DESTINATIONS", i+1)
		default:
			p.add(key, "must be a name in WEIR_DESTINATIONS")
		}
	}
}

// checkCycles refuses fallbacks that lead back to where they began.
func (p *pass) checkCycles() {
	next := make(map[string]string)
	for _, d := range p.settings.Destinations {
		next[d.Name] = string(d.Fallback)
	}
	for _, d := range p.settings.Destinations {
		at := next[d.Name]
		for range p.settings.Destinations {
			if at == d.Name {
				p.add(d.prefix()+"FALLBACK", "leads back to this destination")
			}
			at = next[at]
		}
	}
}

// warnUnused warns about destinations that nothing is sent to.
func (p *pass) warnUnused() {
	used := make(map[string]bool)
	for _, source := range p.settings.Sources {
		for _, name := range source.To {
			used[name] = true
		}
	}
	for _, d := range p.settings.Destinations {
		used[string(d.Fallback)] = true
	}
	for _, d := range p.settings.Destinations {
		if !used[d.Name] {
			p.warn("WEIR_DESTINATIONS", "no source sends to %s", d.Name)
		}
	}
}

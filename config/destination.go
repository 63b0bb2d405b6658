package config

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"weir/webhook"
)

// resolveDestinations checks every destination and returns what it runs by.
func (l loaded) resolveDestinations(found *problems) []Destination {
	list := make([]Destination, 0, len(l.destinations))
	l.checkForwardURL(found)
	for _, destination := range l.destinations {
		l.checkDestination(destination, found)
		l.doubtDestination(destination, found)
		list = append(list, l.resolveDestination(destination))
	}
	l.checkCycles(found)
	l.warnUnused(found)
	return list
}

// defaultDestination may be given by WEIR_FORWARD_URL alone.
const defaultDestination = "default"

// urlOf is the URL of a destination, or WEIR_FORWARD_URL.
func (l loaded) urlOf(destination namedDestination) webURL {
	if destination.name == defaultDestination && destination.config.URL == "" {
		return l.global.ForwardURL
	}
	return destination.config.URL
}

// checkForwardURL refuses a WEIR_FORWARD_URL that would not be looked at.
func (l loaded) checkForwardURL(found *problems) {
	const key = "WEIR_FORWARD_URL"
	own := PrefixOf(DestinationPrefix, defaultDestination) + "URL"
	listed := slices.Contains(l.global.Destinations, defaultDestination)
	switch {
	case !l.env.has(key) && !l.env.has(own) && listed:
		found.add(key, "is required: where webhooks go (or %s)", own)
	case l.env.has(key) && l.env.has(own):
		found.add(key, "is set together with %s: set one of them", own)
	case l.env.has(key) && !listed && !found.has("WEIR_DESTINATIONS"):
		found.add(key, "is not read: WEIR_DESTINATIONS does not list default")
	}
}

// checkDestination checks one destination.
func (l loaded) checkDestination(destination namedDestination, found *problems) {
	prefix, given := destination.prefix, destination.config
	if destination.name != defaultDestination && !l.env.has(prefix+"URL") && !found.has("WEIR_DESTINATIONS") {
		found.add(prefix+"URL", "is required: where webhooks go")
	}
	if given.BackoffMax < given.Backoff && !found.has(prefix+"BACKOFF") {
		found.add(prefix+"BACKOFF_MAX", "must not be less than %sBACKOFF", prefix)
	}
	if given.SigningSecret != "" {
		checkSigningSecret(prefix+"SIGNING_SECRET", given.SigningSecret, found)
	}
	if target := l.urlOf(destination).parsed(); target != nil && target.User != nil && given.Headers.has("Authorization") {
		found.add(prefix+"HEADERS", "sets Authorization, and the URL has credentials: use one of them")
	}
	if given.Fallback == "" {
		return
	}
	if string(given.Fallback) == destination.name {
		found.add(prefix+"FALLBACK", "names the destination itself")
	}
	l.checkListed(prefix+"FALLBACK", []string{string(given.Fallback)}, found)
}

// has reports whether a header is among them.
func (h headerObject) has(name string) bool {
	for given := range h {
		if strings.EqualFold(given, name) {
			return true
		}
	}
	return false
}

// minSigningSecret is what Standard Webhooks asks for at least, in bytes.
const minSigningSecret = 24

// checkSigningSecret wants the form of Standard Webhooks: whsec_ and base64.
func checkSigningSecret(key string, value secret, found *problems) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(value), "whsec_"))
	switch {
	case err != nil || len(raw) == 0:
		found.add(key, "want base64, after whsec_ or without")
	case len(raw) < minSigningSecret:
		found.warn(key, "is shorter than the %d bytes that Standard Webhooks asks for", minSigningSecret)
	}
}

// checkCycles refuses fallbacks that lead back to where they began.
func (l loaded) checkCycles(found *problems) {
	next := make(map[string]string)
	for _, destination := range l.destinations {
		next[destination.name] = string(destination.config.Fallback)
	}
	for _, destination := range l.destinations {
		at := next[destination.name]
		for range l.destinations {
			if at == destination.name {
				found.add(destination.prefix+"FALLBACK", "leads back to this destination")
			}
			at = next[at]
		}
	}
}

// warnUnused names destinations that nothing is sent to.
func (l loaded) warnUnused(found *problems) {
	used := make(map[string]bool)
	for _, source := range l.sources {
		for _, name := range source.config.To {
			used[name] = true
		}
	}
	for _, destination := range l.destinations {
		used[string(destination.config.Fallback)] = true
	}
	for _, destination := range l.destinations {
		if !used[destination.name] {
			found.warn("WEIR_DESTINATIONS", "no source sends to %s", destination.name)
		}
	}
}

// resolveDestination returns what one destination runs by.
func (l loaded) resolveDestination(destination namedDestination) Destination {
	given := destination.config
	target := l.urlOf(destination).parsed()
	if target == nil {
		return Destination{} // a fault that is noted already
	}
	return Destination{
		URL:           target,
		Headers:       given.Headers,
		SigningSecret: string(given.SigningSecret),
		Policy: webhook.Policy{
			Name:        destination.name,
			Fingerprint: fingerprint(target, given.Headers, string(given.SigningSecret)),
			Timeout:     time.Duration(given.Timeout),
			Concurrency: int(given.Concurrency),
			Rate:        given.Rate,
			RetryBudget: webhook.Rate(given.RetryBudget),
			MaxAttempts: int(given.MaxAttempts),
			MaxAge:      time.Duration(given.MaxAge),
			Backoff:     time.Duration(given.Backoff),
			BackoffMax:  time.Duration(given.BackoffMax),
			MaxHold:     time.Duration(given.MaxHold),
			MaxBody:     int64(given.MaxBody),
			Fallback:    string(given.Fallback),
		},
	}
}

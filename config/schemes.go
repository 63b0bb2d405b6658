package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/signature"
	"weir/webhook"
)

// The schemes that the settings treat specially.
const (
	SchemeHMAC  = "hmac"
	SchemeToken = "token"
	SchemeBasic = "basic"
	SchemeNone  = "none"
	schemeMeta  = "meta"
)

// SchemeNames lists the values of SCHEME in the order of the alphabet.
func SchemeNames() []string { return slices.Sorted(slices.Values(signature.Schemes())) }

// IsScheme reports whether a word is one of them.
func IsScheme(word string) bool { return slices.Contains(signature.Schemes(), word) }

// SignsTime reports whether TOLERANCE has a meaning: the scheme has a
// timestamp, or may have one.
func SignsTime(scheme string) bool {
	switch scheme {
	case "standard", "gitlab", "stripe", "slack", "discord", "zoom", "twitch", "paddle",
		"linear", "hubspot", "sendgrid", "mailgun", SchemeHMAC:
		return true
	}
	return false
}

// SignatureConfig returns what package signature needs to verify a source.
func (s Source) SignatureConfig(publicURL *url.URL) signature.Config {
	config := signature.Config{
		Scheme:      s.Scheme,
		Source:      s.Name,
		Secrets:     s.SecretList,
		Key:         s.key,
		Tolerance:   s.Tolerance,
		SignedBody:  s.signedBody,
		MaxBody:     s.MaxBody,
		VerifyToken: s.verifyToken,
		HMAC: signature.HMAC{
			Header:          s.Hmac.Header,
			Algorithm:       s.Hmac.algorithm,
			Encoding:        s.Hmac.encoding,
			Prefix:          s.Hmac.prefix,
			TimestampHeader: s.Hmac.timestampHeader,
			TimestampForm:   s.Hmac.timestampForm,
			Items:           s.Hmac.items,
			KeyEncoding:     s.Hmac.keyEncoding,
			Template:        s.Hmac.template,
		},
		TokenIn:     s.tokenIn,
		AllowedRate: perMinute(s.Rate),
	}
	if publicURL != nil {
		config.PublicURL = publicURL.String()
	}
	return config
}

// perMinute returns how many requests a minute all the rates allow for ever,
// at least 1; 0 without a rate.
func perMinute(list []webhook.Rate) int {
	least := 0
	for _, one := range list {
		allowed := max(1, int(float64(one.N)*float64(time.Minute)/float64(one.Per)))
		if least == 0 || allowed < least {
			least = allowed
		}
	}
	return least
}

// checkSignature lets package signature look at each secret: some have a form
// of their own.
func checkSignature(prefix string, source Source, publicURL *url.URL, found *problems) {
	config := source.SignatureConfig(publicURL)
	suffixes := [...]string{"SECRET", "SECRET_PREVIOUS"}
	for place, one := range source.SecretList {
		config.Secrets = []string{one}
		if _, err := signature.New(config); err != nil {
			reason, _, _ := strings.Cut(err.Error(), "\n")
			about := suffixes[place]
			if strings.HasPrefix(reason, "the HMAC items") {
				about = "HMAC_ITEMS"
			}
			found.add(prefix+about, "%s", strings.TrimPrefix(reason, "secret 1: "))
		}
	}
}

// warnOfAge warns where a signed time cannot be made anew, unless every
// destination of the source gets weir's own signature, which is fresh each time.
func (l loaded) warnOfAge(prefix string, source Source, publicURL *url.URL, found *problems) {
	if !source.Renew {
		return
	}
	verifier, err := signature.New(source.SignatureConfig(publicURL))
	if err != nil || verifier.Renewal() != signature.RenewalImpossible {
		return
	}
	for _, d := range l.destinations {
		if slices.Contains(source.To, d.name) && d.config.SigningSecret == "" {
			found.warn(prefix+"RENEW", "cannot be done: weir cannot replace the time that the scheme %s signs, "+
				"so an application that checks it refuses late deliveries; set SIGNING_SECRET of the destination and let the application verify that signature",
				source.Scheme)
			return
		}
	}
}

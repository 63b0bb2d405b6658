package main

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
	schemeHMAC  = "hmac"
	schemeToken = "token"
	schemeBasic = "basic"
	schemeNone  = "none"
	schemeMeta  = "meta"
)

// schemeNames lists the values of SCHEME in the order of the alphabet.
func schemeNames() []string { return slices.Sorted(slices.Values(signature.Schemes())) }

// isScheme reports whether a word is one of them.
func isScheme(word string) bool { return slices.Contains(signature.Schemes(), word) }

// signsTime reports whether TOLERANCE has a meaning: the scheme has a
// timestamp, or may have one.
func signsTime(scheme string) bool {
	switch scheme {
	case "standard", "gitlab", "stripe", "slack", "discord", "zoom", "twitch", "paddle",
		"linear", "hubspot", schemeHMAC:
		return true
	}
	return false
}

// signatureConfig returns what package signature needs to verify a source.
func (s sourceSettings) signatureConfig(publicURL *url.URL) signature.Config {
	config := signature.Config{
		Scheme:      s.scheme,
		Source:      s.name,
		Secrets:     s.secretList,
		Key:         s.key,
		Tolerance:   s.tolerance,
		SignedBody:  s.signedBody,
		MaxBody:     s.maxBody,
		VerifyToken: s.verifyToken,
		HMAC: signature.HMAC{
			Header:          s.hmac.header,
			Algorithm:       s.hmac.algorithm,
			Encoding:        s.hmac.encoding,
			Prefix:          s.hmac.prefix,
			TimestampHeader: s.hmac.timestampHeader,
			Template:        s.hmac.template,
		},
		TokenIn:     s.tokenIn,
		AllowedRate: perMinute(s.rate),
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
func checkSignature(prefix string, source sourceSettings, publicURL *url.URL, found *problems) {
	config := source.signatureConfig(publicURL)
	suffixes := [...]string{"SECRET", "SECRET_PREVIOUS"}
	for place, one := range source.secretList {
		config.Secrets = []string{one}
		if _, err := signature.New(config); err != nil {
			reason, _, _ := strings.Cut(err.Error(), "\n")
			found.add(prefix+suffixes[place], "%s", strings.TrimPrefix(reason, "secret 1: "))
		}
	}
}

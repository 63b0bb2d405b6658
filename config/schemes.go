package config

import (
	"slices"
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
func (s Source) SignatureConfig(publicURL webURL) signature.Config {
	return signature.Config{
		Scheme:      string(s.Scheme),
		Source:      s.Name,
		Secrets:     s.Secrets(),
		Key:         string(s.Key),
		Type:        string(s.Type),
		Tolerance:   time.Duration(s.Tolerance),
		PublicURL:   string(publicURL),
		SignedBody:  string(s.SignedBody),
		MaxBody:     int64(s.MaxBody),
		VerifyToken: string(s.VerifyToken),
		HMAC: signature.HMAC{
			Header:          string(s.HMACHeader),
			Algorithm:       string(s.HMACAlgorithm),
			Encoding:        string(s.HMACEncoding),
			Prefix:          string(s.HMACPrefix),
			TimestampHeader: string(s.HMACTimestampHeader),
			TimestampForm:   string(s.HMACTimestampForm),
			Items:           string(s.HMACItems),
			KeyEncoding:     string(s.HMACKeyEncoding),
			Template:        string(s.HMACTemplate),
		},
		TokenIn:     string(s.TokenIn),
		AllowedRate: perMinute(s.Rate),
	}
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

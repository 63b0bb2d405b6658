package main

import (
	"maps"
	"slices"
)

// schemeFacts is what the settings have to know of a scheme. How it verifies
// is known to package signature alone.
type schemeFacts struct {
	// signsURL: the signature covers the address that the sender called, so
	// WEIR_PUBLIC_URL must be known.
	signsURL bool
	// signsTime: there is a timestamp for TOLERANCE.
	signsTime bool
}

// schemes lists the values of SCHEME.
func schemes() map[string]schemeFacts {
	return map[string]schemeFacts{
		"standard":     {signsTime: true},
		"github":       {},
		"gitlab":       {signsTime: true},
		"stripe":       {signsTime: true},
		"shopify":      {},
		"slack":        {signsTime: true},
		"twilio":       {signsURL: true},
		"discord":      {signsTime: true},
		"meta":         {},
		"zoom":         {signsTime: true},
		"twitch":       {signsTime: true},
		"square":       {signsURL: true},
		"paddle":       {signsTime: true},
		"linear":       {signsTime: true},
		"hubspot":      {signsURL: true, signsTime: true},
		"pagerduty":    {},
		"bitbucket":    {},
		"gitea":        {},
		"dropbox":      {},
		"typeform":     {},
		"intercom":     {},
		"telegram":     {},
		"lemonsqueezy": {},
		"cloudevents":  {},
		schemeHMAC:     {},
		schemeToken:    {},
		schemeBasic:    {},
		schemeNone:     {},
	}
}

// The schemes that the settings treat specially.
const (
	schemeHMAC  = "hmac"
	schemeToken = "token"
	schemeBasic = "basic"
	schemeNone  = "none"
	schemeMeta  = "meta"
)

// schemeNames lists them in the order of the alphabet.
func schemeNames() []string { return slices.Sorted(maps.Keys(schemes())) }

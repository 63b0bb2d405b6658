package wording

import (
	"strings"

	"weir/webhook"
)

// Refusal says what an operator can do about a request that was refused: one
// sentence. The reason is the inner one, which no sender is told.
func Refusal(result webhook.Result, reason string) string {
	switch result {
	case webhook.ResultBadSignature:
		return badSignature(reason)
	case webhook.ResultStale:
		return "Its signature is too old or from the future: check the clock here, what holds requests back on their way, and TOLERANCE."
	case webhook.ResultUnknownSource:
		return "No source has this name: check the URL on the sender's page, or add the name to WEIR_SOURCES."
	case webhook.ResultMalformed:
		return "It arrived incomplete, or with a header twice: look at what stands between the sender and weir."
	case webhook.ResultTooLarge:
		return "Its body is larger than MAX_BODY of this source: raise it, or let the sender send less."
	case webhook.ResultUnsupported:
		return "Its encoding cannot be read here: let the sender send it uncompressed."
	case webhook.ResultKeyConflict:
		return "An event with the same id and other bytes is stored: see ON_CONFLICT and KEY of this source."
	case webhook.ResultThrottled:
		return "It came above a limit: RATE bounds the events of a source, WEIR_REFUSED_RATE what one address may get refused."
	case webhook.ResultUnavailable:
		return "It could not be stored: weir status, /readyz and the log say why."
	}
	return ""
}

// badSignature tells the reasons of a signature that does not hold apart.
func badSignature(reason string) string {
	switch {
	case strings.Contains(reason, "ALLOW_FROM"):
		return "The address is not in ALLOW_FROM of this source: add it, if it is the sender's."
	case strings.HasPrefix(reason, "no "):
		return "It is not signed: give the sender its secret, and check that SCHEME is the sender's."
	}
	return "The secret here is not the one on the sender's page, or something between has changed the request (SIGNED_BODY, WEIR_PUBLIC_URL)."
}

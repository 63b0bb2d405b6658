package main

import (
	"cmp"
	"fmt"
	"net/http"

	"weir/webhook"
)

// whyHold says in words why a destination is held and what it said.
func whyHold(h apiHold) string {
	line := meaningOfHold(h.Reason)
	if h.Status != 0 {
		line += fmt.Sprintf("; it answered %d %s", h.Status, http.StatusText(h.Status))
	}
	if said := plainLine(cmp.Or(h.Evidence.Body, h.Evidence.Note)); said != "" {
		line += ": " + shortened(said, 100)
	}
	return line
}

// meaningOfHold explains a hold in a few words.
func meaningOfHold(reason webhook.HoldReason) string {
	switch reason {
	case webhook.HoldPaused:
		return "somebody paused it"
	case webhook.HoldGone:
		return "it says that this address is withdrawn"
	case webhook.HoldAuth:
		return "it refuses our credentials"
	case webhook.HoldMisdirected:
		return "its address seems to be wrong"
	case webhook.HoldQuota:
		return "its quota is used up"
	case webhook.HoldRetryAfter:
		return "it asked to be left alone"
	}
	return string(reason)
}

// shortened cuts a text to so many characters.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

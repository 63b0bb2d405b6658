package main

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"weir/webhook"
)

// whyHeld returns the word for what holds a destination, until when, and what
// the downstream said; "" when nothing holds it.
func whyHeld(at apiDestination) (webhook.WaitingFor, time.Time, string) {
	switch {
	case at.Hold != nil:
		return webhook.WaitingFor(at.Hold.Reason), at.Hold.Until, whyHold(*at.Hold)
	case at.Breaker.State != "" && at.Breaker.State != "closed":
		return webhook.WaitBreaker, at.Breaker.Until, fmt.Sprintf("%d failures in a row", at.Breaker.FailuresInRow)
	}
	return "", time.Time{}, ""
}

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

// meaningOfWait explains in a few words what a delivery waits for.
func meaningOfWait(reason webhook.WaitingFor) string {
	meaning := map[webhook.WaitingFor]string{
		webhook.WaitDue:      "it is due",
		webhook.WaitInFlight: "it is being sent",
		webhook.WaitBackoff:  "the last attempt failed",
		webhook.WaitBreaker:  "the destination has failed too often",
		webhook.WaitBudget:   "the allowance of requests is used up",
		webhook.WaitPace:     "the pace is kept",
	}[reason]
	return fmt.Sprintf("waits for %s (%s)", reason, cmp.Or(meaning, meaningOfHold(webhook.HoldReason(reason))))
}

// meaningOfDead explains in a few words why a delivery ended.
func meaningOfDead(reason webhook.DeadReason) string {
	meaning := map[webhook.DeadReason]string{
		webhook.DeadRejected:    "the destination refused this payload",
		webhook.DeadTooLarge:    "these bytes are too large for the destination",
		webhook.DeadMisdirected: "the destination's address seems to be wrong",
		webhook.DeadExhausted:   "all attempts are spent",
		webhook.DeadExpired:     "it waited longer than MAX_AGE",
		webhook.DeadCancelled:   "somebody cancelled it",
	}[reason]
	return fmt.Sprintf("%s (%s)", reason, meaning)
}

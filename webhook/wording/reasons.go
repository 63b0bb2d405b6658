// Package wording puts states, holds, waits and times into plain words.
//
// # Guarantees
//
// Every function returns one line without control characters, in the same words
// wherever weir tells a person: commands, pages, alerts.
//
// # Example
//
//	wording.Wait(webhook.WaitQuota)  // "waits for quota (its quota is used up)"
//	wording.Moment(at, now)          // "15:04:05Z (in 12m30s)"
package wording

import (
	"cmp"
	"fmt"
	"strings"

	"weir/webhook"
)

// Hold explains a hold in a few words.
func Hold(reason webhook.HoldReason) string {
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

// Shortened cuts a text to so many characters.
func Shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// Wait explains in a few words what a delivery waits for.
func Wait(reason webhook.WaitingFor) string {
	meaning := map[webhook.WaitingFor]string{
		webhook.WaitDue:      "it is due",
		webhook.WaitInFlight: "it is being sent",
		webhook.WaitBackoff:  "the last attempt failed",
		webhook.WaitRefused:  "set aside: others are taken",
		webhook.WaitBreaker:  "the destination has failed too often",
		webhook.WaitBudget:   "the allowance of requests is used up",
		webhook.WaitPace:     "the pace is kept",
	}[reason]
	return fmt.Sprintf("waits for %s (%s)", reason, cmp.Or(meaning, Hold(webhook.HoldReason(reason))))
}

// Dead explains in a few words why a delivery ended.
func Dead(reason webhook.DeadReason) string {
	meaning := map[webhook.DeadReason]string{
		webhook.DeadRejected:    "the destination refused this payload",
		webhook.DeadRefused:     "the destination refused this delivery again and again, and took others",
		webhook.DeadTooLarge:    "these bytes are too large for the destination",
		webhook.DeadMisdirected: "the destination's address seems to be wrong",
		webhook.DeadExhausted:   "all attempts are spent",
		webhook.DeadExpired:     "it waited longer than MAX_AGE",
		webhook.DeadCancelled:   "somebody cancelled it",
	}[reason]
	return fmt.Sprintf("%s (%s)", reason, meaning)
}

// PlainLine makes a text from outside fit for one line of a terminal: control
// characters, which could steer it, become spaces.
func PlainLine(text string) string {
	visible := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(visible), " ")
}

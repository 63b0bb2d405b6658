// Package wording puts states, holds, waits, outcomes and times into plain words.
//
// # Guarantees
//
// Every function returns one line without control characters, in the same words
// wherever weir tells a person: commands, pages, alerts. A word that this package
// does not know is returned as it is.
//
// # Vocabulary
//
// A clause says what is the matter with a destination or a delivery and fits
// behind a colon or in brackets: "app: it asked us to back off". In it, "it" is
// the destination. A label stands alone, as in a table: "Rate limited".
//
// # Example
//
//	wording.Wait(webhook.WaitQuota)  // "waits for quota (its quota is used up)"
//	wording.Moment(at, now)          // "15:04:05Z (in 12m30s)"
package wording

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"weir/webhook"
)

// WaitingFor says in a clause what a delivery waits for.
func WaitingFor(reason webhook.WaitingFor) string {
	return known(reason, map[webhook.WaitingFor]string{
		webhook.WaitInFlight:    "a request is in flight",
		webhook.WaitPaused:      "paused by an operator",
		webhook.WaitGone:        "it says that its address is gone",
		webhook.WaitAuth:        "it rejects weir's credentials",
		webhook.WaitMisdirected: "its address seems to be wrong",
		webhook.WaitQuota:       "its quota is used up",
		webhook.WaitRetryAfter:  "it asked us to back off",
		webhook.WaitBreaker:     "too many requests to it failed",
		webhook.WaitBudget:      "weir's own rate or retry budget is used up",
		webhook.WaitPace:        "weir paces its requests",
		webhook.WaitRefused:     "set aside: others are taken",
		webhook.WaitBackoff:     "the last attempt failed",
		webhook.WaitDue:         "it is next",
	})
}

// Hold says in a clause why a destination is held.
func Hold(reason webhook.HoldReason) string { return WaitingFor(webhook.WaitingFor(reason)) }

// Wait names what a delivery waits for, and says what that means.
func Wait(reason webhook.WaitingFor) string {
	return fmt.Sprintf("waits for %s (%s)", PlainLine(string(reason)), WaitingFor(reason))
}

// DeadReason says in a clause why a delivery ended.
func DeadReason(reason webhook.DeadReason) string {
	return known(reason, map[webhook.DeadReason]string{
		webhook.DeadRejected:    "the destination rejected this payload",
		webhook.DeadRefused:     "the destination refused this event and took others",
		webhook.DeadTooLarge:    "the payload is too large for the destination",
		webhook.DeadMisdirected: "the destination's address seems to be wrong",
		webhook.DeadExhausted:   "all attempts are used",
		webhook.DeadExpired:     "it waited longer than MAX_AGE",
		webhook.DeadCancelled:   "cancelled by an operator",
	})
}

// Dead names why a delivery ended, and says what that means.
func Dead(reason webhook.DeadReason) string {
	return fmt.Sprintf("%s (%s)", PlainLine(string(reason)), DeadReason(reason))
}

// Outcome labels what an attempt was.
func Outcome(outcome webhook.Outcome) string {
	return known(outcome, map[webhook.Outcome]string{
		webhook.OutcomeDelivered:      "Delivered",
		webhook.OutcomeRateLimited:    "Rate limited",
		webhook.OutcomeQuotaExhausted: "Quota used up",
		webhook.OutcomeTransient:      "Failed for now",
		webhook.OutcomeNetwork:        "No response",
		webhook.OutcomeRejected:       "Payload rejected",
		webhook.OutcomeTooLarge:       "Payload too large",
		webhook.OutcomeGone:           "Address gone",
		webhook.OutcomeMisdirected:    "Wrong address",
		webhook.OutcomeAuth:           "Credentials rejected",
	})
}

// known returns the words for a word, else the word itself.
func known[T ~string](word T, words map[T]string) string {
	if text, found := words[word]; found {
		return text
	}
	return PlainLine(string(word))
}

// ActionNeeded says that a hold waits for a person, and why.
func ActionNeeded(reason webhook.HoldReason, destination string) string {
	if about, isIt := strings.CutPrefix(Hold(reason), "it "); isIt {
		return "Action needed: " + destination + " " + about
	}
	if about, isIts := strings.CutPrefix(Hold(reason), "its "); isIts {
		return "Action needed: " + destination + "'s " + about
	}
	return "Action needed: " + destination + " is " + Hold(reason)
}

// routed is what Go says before the reason for which a connection failed.
var routed = regexp.MustCompile(`^(?:dial|read|write) (?:tcp|udp)[46]?(?: \S+)?: (?:(?:connect|read|write): )?`)

// Answer shows what came back for a request: the status with what was said
// beside it, or why there is no response (status 0).
func Answer(status int, said string) string {
	said = PlainLine(said)
	line := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if status == 0 {
		line, said = "no response", routed.ReplaceAllString(said, "")
	}
	if said != "" {
		line += ": " + Shortened(said, 200)
	}
	return strings.TrimSpace(line)
}

// Shortened cuts a text to so many characters.
func Shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
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

// Moment shows a time for people: the clock in UTC, and how far it is from now.
func Moment(at, now time.Time) string {
	if at.IsZero() {
		return "when an operator releases it"
	}
	at = at.UTC()
	form := "15:04:05Z"
	if at.YearDay() != now.UTC().YearDay() || at.Year() != now.UTC().Year() {
		form = "2006-01-02 15:04:05Z"
	}
	return at.Format(form) + " (" + FromNow(at.Sub(now)) + ")"
}

// FromNow shows how far something is from now, in the two largest units.
func FromNow(d time.Duration) string {
	switch {
	case d >= time.Second/2:
		return "in " + Rounded(d)
	case d <= -time.Second/2:
		return Rounded(-d) + " ago"
	}
	return "now"
}

// Rounded shows a duration in its two largest units.
func Rounded(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	d = d.Round(time.Hour)
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

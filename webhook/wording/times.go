package wording

import (
	"fmt"
	"time"
)

// Moment shows a time for people: the clock in UTC, and how far it is.
func Moment(at, now time.Time) string {
	if at.IsZero() {
		return "when somebody releases it"
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

// Rounded shows a length in its two largest units.
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

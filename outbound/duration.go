package outbound

import (
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/sosodev/duration"

	"weir/webhook"
)

const day = 24 * time.Hour

// unitDuration reads durations in the grammar of Go's time package, without
// signs and with d for 24 hours: "7m12.345s", "1d2h". Too long ones saturate
// at [webhook.MaxHint].
func unitDuration(text string) (time.Duration, bool) {
	var sum time.Duration
	for text != "" {
		number, rest, ok := leadingDecimal(text)
		if !ok {
			return 0, false
		}
		unit, length := leadingUnit(rest)
		if length == 0 {
			return 0, false
		}
		sum = min(sum+number.times(unit), webhook.MaxHint)
		text = rest[length:]
	}
	return sum, true
}

// leadingUnit returns the unit at the start of text and the length of its
// name; 0 when there is none. Case matters: M could be months.
func leadingUnit(text string) (unit time.Duration, length int) {
	for _, u := range [...]struct {
		name string
		unit time.Duration
	}{
		{"ns", time.Nanosecond}, {"us", time.Microsecond},
		{"\u00b5s", time.Microsecond}, {"\u03bcs", time.Microsecond},
		{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute},
		{"h", time.Hour}, {"d", day},
	} {
		if strings.HasPrefix(text, u.name) {
			return u.unit, len(u.name)
		}
	}
	return 0, 0
}

// isoForm admits what has a fixed length: weeks, days, hours, minutes and
// seconds, each at most once and in this order. Months and years have none.
var isoForm = regexp.MustCompile(
	`^P(?:[0-9]+(?:\.[0-9]+)?W)?(?:[0-9]+(?:\.[0-9]+)?D)?` +
		`(?:T(?:[0-9]+(?:\.[0-9]+)?H)?(?:[0-9]+(?:\.[0-9]+)?M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?$`)

// isoDuration reads ISO 8601 durations of fixed length: "PT1M30S", "P1D". The
// form is checked first, because the library takes "P" for nothing, a month
// for 730 hours, and wraps when it overflows.
func isoDuration(text string) (time.Duration, bool) {
	last := text[len(text)-1]
	if last == 'P' || last == 'T' || !isoForm.MatchString(text) {
		return 0, false
	}
	parsed, err := duration.Parse(text)
	if err != nil {
		return 0, false
	}
	sum := parsed.Weeks*float64(7*day) + parsed.Days*float64(day) +
		parsed.Hours*float64(time.Hour) + parsed.Minutes*float64(time.Minute) +
		parsed.Seconds*float64(time.Second)
	if sum >= float64(webhook.MaxHint) {
		return webhook.MaxHint, true
	}
	// Whole nanoseconds below 31 days are exact in a float64; what a binary
	// fraction adds or takes is far less than half of one.
	if sum > 0 && sum < 1 {
		return time.Nanosecond, true
	}
	return time.Duration(math.Round(sum)), true
}

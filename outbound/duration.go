package outbound

import (
	"strings"
	"time"

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

// isoParts are the parts of an ISO 8601 duration in their order, those of the
// date and behind a T those of the time. Months and years have no fixed length.
var isoParts = [...]struct {
	name byte
	time bool
	unit time.Duration
}{
	{'W', false, 7 * day}, {'D', false, day},
	{'H', true, time.Hour}, {'M', true, time.Minute}, {'S', true, time.Second},
}

// isoDuration reads ISO 8601 durations of fixed length: "PT1M30S", "P1D". Each
// part may stand once. Too long ones saturate at [webhook.MaxHint].
func isoDuration(text string) (time.Duration, bool) {
	rest, ok := strings.CutPrefix(text, "P")
	if !ok {
		return 0, false
	}
	var sum time.Duration
	inTime, given := false, false
	for _, part := range isoParts {
		if part.time && !inTime && strings.HasPrefix(rest, "T") {
			inTime, given, rest = true, false, rest[1:]
		}
		number, after, ok := leadingDecimal(rest)
		if !ok || part.time != inTime || after == "" || after[0] != part.name {
			continue
		}
		sum = min(sum+number.times(part.unit), webhook.MaxHint)
		given, rest = true, after[1:]
	}
	return sum, given && rest == ""
}

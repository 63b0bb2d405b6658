package outbound

import (
	"strings"
	"time"

	"weir/webhook"
)

// maxValue bounds the text of one wait; no form needs more.
const maxValue = 256

// meaning says what a bare number in a field stands for.
type meaning int

const (
	bySize       meaning = iota // seconds, or an epoch when it is that large
	seconds                     // Retry-After and its kin
	milliseconds                // the -ms headers
)

// meaningOf tells the meaning from the name of a header or a JSON member, in
// any case, with hyphens or underscores.
func meaningOf(field string) meaning {
	for _, name := range [...]struct {
		ending string
		meaning
	}{
		{"-ms", milliseconds}, {"_ms", milliseconds}, {"milliseconds", milliseconds},
		{"retry-after", seconds}, {"retry_after", seconds}, {"retryafter", seconds},
		{"reset-after", seconds}, {"reset_after", seconds},
		{"_seconds", seconds}, {"-seconds", seconds}, {"estimated_time", seconds},
	} {
		if hasSuffixFold(field, name.ending) {
			return name.meaning
		}
	}
	return bySize
}

// Wait reads the value of a field that says when to come back. Instants are
// measured against base (see [Base]). The result is rounded up to the
// millisecond and within [0, webhook.MaxHint]: what is too long saturates,
// what is past is 0, and what cannot be read is not ok and to be ignored.
//
// A bare number is seconds in Retry-After and -reset-after fields and
// milliseconds in -ms fields. In reset fields its size tells deltas from
// epochs. Durations ("1m30s", "PT90S") and instants (HTTP-date, RFC 3339) are
// read in all but the -ms fields.
func Wait(field, value string, base time.Time) (wait time.Duration, ok bool) {
	if len(value) > maxValue {
		return 0, false
	}
	what := meaningOf(field)
	if what == bySize {
		return oneWait(what, value, base)
	}
	// Field lines with one name may have been joined by commas on the way
	// (RFC 9110 section 5.3); the longest of them is never early.
	for member := range listMembers(value) {
		if one, read := oneWait(what, member, base); read {
			wait, ok = max(wait, one), true
		}
	}
	return wait, ok
}

// listMembers splits at commas, but for the one that follows a weekday.
func listMembers(value string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; i <= len(value); i++ {
			if i < len(value) && (value[i] != ',' || isWeekday(value[start:i])) {
				continue
			}
			if !yield(value[start:i]) {
				return
			}
			start = i + 1
		}
	}
}

// isWeekday reports whether text is the name of a day, short or long.
func isWeekday(text string) bool {
	text = strings.TrimSpace(text)
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name := d.String(); text == name || text == name[:3] {
			return true
		}
	}
	return false
}

// oneWait reads a single value.
func oneWait(what meaning, value string, base time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if value == "" {
		return 0, false
	}
	if number, ok := wholeDecimal(value); ok {
		return bareWait(what, number, base), true
	}
	if what == milliseconds {
		return 0, false
	}
	if value[0] == 'P' {
		wait, ok := isoDuration(value)
		return ceilWait(wait), ok
	}
	if wait, ok := unitDuration(value); ok {
		return ceilWait(wait), true
	}
	moment, ok := instant(value)
	return until(moment, base), ok
}

// bareWait gives a number its meaning.
func bareWait(what meaning, number decimal, base time.Time) time.Duration {
	switch what {
	case milliseconds:
		return ceilWait(number.times(time.Millisecond))
	case seconds:
		if number.whole >= 1e9 && nearEpoch(number, base) {
			return until(sinceEpoch(number, 1), base)
		}
	case bySize:
		if number.whole >= 1e9 {
			return until(epoch(number), base)
		}
	}
	return ceilWait(number.times(time.Second))
}

// nearEpoch reports whether a number of seconds since 1970 lies where an
// instant to come back at would: from a day before to 31 days after.
func nearEpoch(number decimal, base time.Time) bool {
	if number.whole >= 1e12 {
		return false
	}
	moment := sinceEpoch(number, 1)
	return !moment.Before(base.Add(-day)) && !moment.After(base.Add(webhook.MaxHint))
}

// until is the wait from base to a moment. A count that is out of every range
// saturates like any other.
func until(moment, base time.Time) time.Duration {
	return ceilWait(moment.Sub(base))
}

// hasSuffixFold is strings.HasSuffix without regard to ASCII case.
func hasSuffixFold(text, suffix string) bool {
	return len(text) >= len(suffix) && strings.EqualFold(text[len(text)-len(suffix):], suffix)
}

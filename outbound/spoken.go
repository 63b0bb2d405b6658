package outbound

import (
	"strings"
	"time"

	"weir/webhook"
)

// waitPhrase is a phrase that a wait follows.
type waitPhrase struct {
	words string
	// as is what the hint is said to come from.
	as string
	// bare says that a number without a unit counts as seconds.
	bare bareNumber
}

// bareNumber tells whether a phrase may be followed by a number alone.
type bareNumber int

const (
	needsUnit bareNumber = iota
	bareSeconds
)

// waitPhrases are explicit requests to come back later.
var waitPhrases = [...]waitPhrase{
	{"again in ", "body: try again in", bareSeconds},
	{"again after ", "body: try again after", bareSeconds},
	{"again at ", "body: try again at", needsUnit},
	{"retry in ", "body: retry in", bareSeconds},
	{"retry after", "body: retry after", bareSeconds},
	{"retry-after", "body: retry after", bareSeconds},
	{"retry at ", "body: retry at", needsUnit},
	{"try after ", "body: try after", bareSeconds},
	{"available in ", "body: available in", needsUnit},
	{"access on ", "body: access on", needsUnit},
	{"access at ", "body: access at", needsUnit},
	{"wait ", "body: wait", needsUnit},
}

// resetPhrases tell when a window ends, which is less than asking for a wait.
var resetPhrases = [...]waitPhrase{
	{"resets in ", "body: resets in", needsUnit},
	{"reset in ", "body: reset in", needsUnit},
	{"reset after ", "body: reset after", needsUnit},
	{"resets at ", "body: resets at", needsUnit},
	{"resets on ", "body: resets on", needsUnit},
}

// spokenWait returns the longest wait that follows one of the phrases.
func spokenWait(text string, phrases []waitPhrase, base time.Time) webhook.Hint {
	var longest webhook.Hint
	for _, phrase := range phrases {
		for rest := text; ; {
			i := strings.Index(rest, phrase.words)
			if i < 0 {
				break
			}
			rest = rest[i+len(phrase.words):]
			if wait, ok := phrase.read(rest, base); ok {
				longest = longer(longest, webhook.Hint{Wait: wait, From: phrase.as})
			}
		}
	}
	return longest
}

// longer returns the hint with the longer wait; of equal ones the one whose
// source comes first by name, so that the order of headers does not matter.
func longer(a, b webhook.Hint) webhook.Hint {
	switch {
	case !a.Given(), b.Given() && b.Wait > a.Wait:
		return b
	case b.Given() && b.Wait == a.Wait && b.From < a.From:
		return b
	}
	return a
}

// fillers may stand between a phrase and its value.
var fillers = [...]string{
	"about ", "approximately ", "approx. ", "around ", "another ", "at least ",
	"until ", "for ", "the ",
}

// read reads the value behind a phrase: a moment or a length.
func (p waitPhrase) read(text string, base time.Time) (time.Duration, bool) {
	text = skipAny(text, " :=\"'(`~", 4)
	for _, filler := range fillers {
		text = strings.TrimPrefix(text, filler)
	}
	if text == "" {
		return 0, false
	}
	if moment, ok := spokenInstant(text); ok {
		return until(moment, base), true
	}
	if !isDigit(text[0]) {
		return 0, false
	}
	return spokenDuration(text, p.bare)
}

// spokenDuration reads "7m12.345s", "45 seconds", "1 hour and 30 minutes". A
// value that touches the end of the text may have been cut there and is none:
// half of a wait is early.
func spokenDuration(text string, bare bareNumber) (time.Duration, bool) {
	var sum time.Duration
	for joined := false; ; joined = true {
		number, rest, _ := groupedDecimal(text)
		name := strings.TrimLeft(rest, " -")
		letters := leadingLetters(name)
		unit, known := spokenUnit(letters)
		if !known {
			if joined || bare != bareSeconds || !endsNumber(rest) {
				return 0, false
			}
			return ceilWait(number.times(time.Second)), true
		}
		sum = min(sum+number.times(unit), webhook.MaxHint)
		after := name[len(letters):]
		if after == "" {
			return 0, false
		}
		next := nextPart(after)
		if next == "" {
			return ceilWait(sum), true
		}
		text = next
	}
}

// nextPart returns the text from the next number of a duration on; empty when
// the duration has ended.
func nextPart(text string) string {
	if isDigit(text[0]) {
		return text
	}
	part := strings.TrimPrefix(text, ",")
	part = strings.TrimPrefix(part, " and")
	part = strings.TrimPrefix(part, " ")
	_, rest, ok := groupedDecimal(part)
	if !ok {
		return ""
	}
	if _, known := spokenUnit(leadingLetters(strings.TrimLeft(rest, " -"))); !known {
		return "" // a number of something else
	}
	return part
}

// spokenUnit knows the units of time, short and long.
func spokenUnit(name string) (time.Duration, bool) {
	switch name {
	case "ms", "msec", "msecs", "millis", "millisecond", "milliseconds":
		return time.Millisecond, true
	case "s", "sec", "secs", "second", "seconds":
		return time.Second, true
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute, true
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour, true
	case "d", "day", "days":
		return day, true
	case "week", "weeks":
		return 7 * day, true
	}
	return 0, false
}

// endsNumber reports whether a number is followed by the end of its clause.
func endsNumber(rest string) bool {
	if rest == "" {
		return false
	}
	if rest == " " {
		return true
	}
	if strings.IndexByte(".,;!)]}\"'<", rest[0]) < 0 {
		return false
	}
	return len(rest) == 1 || !isDigit(rest[1])
}

// spokenInstant reads a moment in a folded text: RFC 3339, "2026-12-01 at
// 00:00 UTC", or an HTTP-date. It must name its zone.
func spokenInstant(text string) (time.Time, bool) {
	if len(text) > maxSpoken {
		text = text[:maxSpoken]
	}
	if isLower(text[0]) {
		return spokenDate(text)
	}
	const form = "2006-01-02"
	if len(text) <= len(form) || text[4] != '-' || text[7] != '-' {
		return time.Time{}, false
	}
	clock := text[len(form):]
	for _, joint := range [...]string{" at ", "t", ", ", " "} {
		if after, found := strings.CutPrefix(clock, joint); found {
			clock = after
			break
		}
	}
	digits := len(clock) - len(strings.TrimLeft(clock, "0123456789:."))
	zone, ok := spokenZone(strings.TrimPrefix(clock[digits:], " "))
	if !ok {
		return time.Time{}, false
	}
	return instant(text[:len(form)] + "T" + clock[:digits] + zone)
}

// maxSpoken is longer than any moment is written.
const maxSpoken = 48

// spokenZone reads a zone and returns it as RFC 3339 has it.
func spokenZone(text string) (zone string, ok bool) {
	switch leadingLetters(text) {
	case "z", "utc", "gmt":
		return "Z", true
	}
	if len(text) >= 6 && (text[0] == '+' || text[0] == '-') && text[3] == ':' {
		return text[:6], true
	}
	return "", false
}

// spokenDate reads an HTTP-date in lower case, up to its zone.
func spokenDate(text string) (time.Time, bool) {
	for _, zone := range [...]string{" gmt", " utc"} {
		if before, _, found := strings.Cut(text, zone); found {
			return instant(before + strings.ToUpper(zone))
		}
	}
	return time.Time{}, false
}

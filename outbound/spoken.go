package outbound

import (
	"strings"
	"time"

	"weir/webhook"
)

// bareNumber tells whether a phrase may be followed by a number alone.
type bareNumber int

const (
	needsUnit bareNumber = iota
	bareSeconds
)

// wait reads what follows the word from start to end, where that word ends a
// phrase or is the name of a member.
func (r *reader) wait(start, end int) {
	switch r.text[start:end] {
	case "retry", "retryafter", "retryafterms", "retrydelay", "estimated", "x":
		r.member(start)
	case "wait":
		r.phrase("body: wait", end, needsUnit)
	case "in", "after", "at", "on":
		if start > 1 && (r.text[start-1] == ' ' || r.text[start-1] == '-') && isLower(r.text[start-2]) {
			r.pair(start, end)
		}
	}
}

// pair reads what follows a phrase of two words, the second of which is from
// start to end.
func (r *reader) pair(start, end int) {
	second := r.text[start:end]
	switch r.before {
	case "again":
		r.phrase("body: try again "+second, end, bareSeconds)
	case "retry":
		r.phrase("body: retry "+second, end, bareSeconds)
	case "try":
		if second == "after" {
			r.phrase("body: try after", end, bareSeconds)
		}
	case "available":
		r.phrase("body: available "+second, end, needsUnit)
	case "access":
		r.phrase("body: access "+second, end, needsUnit)
	case "reset", "resets":
		if wait, ok := phraseWait(r.text[end:], needsUnit, r.base); ok {
			r.resets = longer(r.resets, webhook.Hint{Wait: wait, From: "body: resets " + second})
		}
	}
}

// phrase reads the wait behind a phrase.
func (r *reader) phrase(as string, end int, bare bareNumber) {
	if wait, ok := phraseWait(r.text[end:], bare, r.base); ok {
		r.asked = longer(r.asked, webhook.Hint{Wait: wait, From: as})
	}
}

// member reads the JSON member whose name begins at start: Discord's and
// Telegram's retry_after, Google's retryDelay, Hugging Face's estimated_time,
// wherever they stand. OpenRouter repeats a provider's reset header there.
func (r *reader) member(start int) {
	if start == 0 || r.text[start-1] != '"' && r.text[start-1] != '\'' {
		return
	}
	end := strings.IndexByte(r.text[start:min(len(r.text), start+maxName)], r.text[start-1])
	if end < 0 {
		return
	}
	name := r.text[start : start+end]
	switch name {
	case "retry_after", "retryafter", "retry-after", "retry_after_seconds",
		"retry_after_ms", "retryafterms", "retrydelay", "estimated_time", bodyReset:
	default:
		return
	}
	value, _, ok := valueOf(r.text[start+end:])
	if !ok {
		return
	}
	wait, ok := memberWait(name, value, r.base)
	switch hint := (webhook.Hint{Wait: wait, From: "body: " + name}); {
	case !ok:
	case name == bodyReset:
		r.resets = longer(r.resets, hint)
	default:
		r.asked = longer(r.asked, hint)
	}
}

// bodyReset is a header that is found in bodies.
const bodyReset = "x-ratelimit-reset"

// maxName is longer than the names of members that matter.
const maxName = 24

// memberWait reads a member's value. It has been folded: instants want their
// capitals back.
func memberWait(name, value string, base time.Time) (time.Duration, bool) {
	if name == "retryafterms" {
		name = "retry_after_ms"
	}
	if wait, ok := Wait(name, value, base); ok {
		return wait, true
	}
	return Wait(name, strings.ToUpper(value), base)
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

// phraseWait reads the value behind a phrase: a moment or a length.
func phraseWait(text string, bare bareNumber, base time.Time) (time.Duration, bool) {
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
	return spokenDuration(text, bare)
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

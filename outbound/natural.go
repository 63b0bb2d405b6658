package outbound

import (
	"bytes"
	"net/http"
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
// phrase or begins the name of a member.
func (r *reader) wait(start, end int) {
	switch word := r.text[start:end]; word {
	case "wait":
		r.phrase("body: wait", end, needsUnit)
	case "in", "after", "at", "on":
		if start > 1 && (r.text[start-1] == ' ' || r.text[start-1] == '-') && isLower(r.text[start-2]) {
			r.pair(start, end)
		}
	default:
		if len(word) > 3 || word == "x" {
			r.member(start)
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
	case "available", "access", "request", "requests", "replenished", "refilled", "renewed", "refreshed", "unlocked":
		r.phrase("body: "+r.before+" "+second, end, needsUnit)
	case "reset", "resets", "renews", "refills", "replenishes":
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

// waitName is a part of the names of members that say when to come back,
// without its underscores and hyphens.
type waitName struct {
	part string
	// reset says that it is the end of a window, no explicit wait.
	reset bool
	// source says whose answers have it.
	source string
}

// waitNames are found in the names of members, wherever these stand.
var waitNames = [...]waitName{
	{"retryafter", false, "Discord, Telegram, Cloudflare"},
	{"retryin", false, "services"},
	{"retrydelay", false, "Google"},
	{"retryat", false, "services"},
	{"nextretry", false, "services"},
	{"estimatedtime", false, "Hugging Face; Meta, in minutes, as …toregainaccess"},
	{"nextaccesstime", false, "WSO2"},
	{"nextallowed", false, "services"},
	{"ratelimitnext", false, "Akamai"},
	{"clearsin", false, "ChatGPT"},
	{"availablein", false, "services"},
	{"waitseconds", false, "services"},
	{"waittime", false, "services"},
	{"secondstowait", false, "services"},
	{"resetin", true, "services"},
	{"resetsin", true, "Codex"},
	{"resetafter", true, "services"},
	{"resetat", true, "Echo"},
	{"resetsat", true, "Codex"},
	{"resettime", true, "services"},
	{"resetdate", true, "Slite"},
	{"ratelimitreset", true, "OpenRouter, which repeats a provider's headers"},
}

// nameOfWait finds what a member's name says about a wait.
func nameOfWait(name string) (waitName, bool) {
	plain := make([]byte, 0, maxName)
	for i := range len(name) {
		if name[i] != '_' && name[i] != '-' {
			plain = append(plain, name[i])
		}
	}
	if string(plain) == "reset" {
		return waitName{"reset", true, "services"}, true
	}
	for _, known := range waitNames {
		if strings.Contains(string(plain), known.part) {
			return known, true
		}
	}
	return waitName{}, false
}

// member reads the member whose name begins at start, wherever it stands: in
// quotation marks as in JSON, or before "=" as in "reset_in=3600".
func (r *reader) member(start int) {
	switch r.text[start] {
	case 'r', 'n', 'e', 'c', 'a', 'w', 's', 'x':
	default:
		return // no name begins so
	}
	end := start
	for end < len(r.text) && end-start < maxName && (isLower(r.text[end]) || r.text[end] == '_' || r.text[end] == '-') {
		end++
	}
	if end == len(r.text) || end-start < len("reset") {
		return
	}
	var value string
	ok := false
	switch c := r.text[end]; {
	case start > 0 && (c == '"' || c == '\'') && r.text[start-1] == c:
		value, _, ok = valueOf(r.text[end:])
	case c == '=':
		value = r.text[end+1:]
		stop := strings.IndexAny(value[:min(len(value), maxValue)], ";&,\" ")
		if ok = stop > 0; ok {
			value = value[:stop]
		}
	}
	if ok {
		r.named(r.text[start:end], value)
	}
}

// named takes in the value of a member if its name speaks of a wait.
func (r *reader) named(name, value string) {
	known, ok := nameOfWait(name)
	if !ok {
		return
	}
	wait, ok := memberWait(name, value, r.base)
	switch hint := (webhook.Hint{Wait: wait, From: "body: " + name}); {
	case !ok:
	case known.reset:
		r.resets = longer(r.resets, hint)
	default:
		r.asked = longer(r.asked, hint)
	}
}

// maxName is longer than the names of members that matter.
const maxName = 40

// memberWait reads a member's value. It has been normalised: instants want
// their capitals back.
func memberWait(name, value string, base time.Time) (time.Duration, bool) {
	name = strings.ReplaceAll(name, "afterms", "after_ms")
	if strings.HasSuffix(name, "regain_access") || strings.HasSuffix(name, "minutes") {
		number, ok := wholeDecimal(value)
		return ceilWait(number.times(time.Minute)), ok
	}
	for _, form := range [...]string{value, strings.ToUpper(value)} {
		if wait, ok := Wait(name, form, base); ok {
			return wait, true
		}
	}
	if value == "" || len(value) > maxMoment {
		return 0, false
	}
	if moment, ok := naturalInstant(value); ok {
		return until(moment, base), true
	}
	return clockDuration(value + " ")
}

// waitsInXML returns the longest wait that an element of an XML body asks for;
// none in other bodies. The normalised text has no tags.
func waitsInXML(body []byte, base time.Time) webhook.Hint {
	r := reader{base: base}
	if firstByte(body) != '<' {
		return r.asked
	}
	for rest := body; ; {
		_, after, found := bytes.Cut(rest, []byte("<"))
		if !found {
			return longer(r.asked, r.resets)
		}
		rest = after
		name, value, found := bytes.Cut(after[:min(len(after), maxName+maxMoment)], []byte(">"))
		if !found || len(name) > maxName || len(name) < len("reset") {
			continue
		}
		if value, _, found = bytes.Cut(value, []byte("<")); found {
			_, local, prefixed := strings.Cut(strings.ToLower(string(name)), ":")
			if !prefixed {
				local = strings.ToLower(string(name))
			}
			r.named(local, strings.ToLower(strings.TrimSpace(string(value))))
		}
	}
}

// waitsInFields returns the longest wait that a member of a field's own JSON
// asks for, as in Meta's X-Business-Use-Case-Usage.
func waitsInFields(header http.Header, base time.Time) webhook.Hint {
	var asked webhook.Hint
	for name, values := range header {
		if len(values) == 0 || !strings.HasSuffix(name, "-Usage") || values[0] == "" || values[0][0] != '{' {
			continue
		}
		text := normalise([]byte(values[0][:min(len(values[0]), maxField)]), complete)
		words := readWords(text, nil, base)
		if words.asked.Wait > 0 {
			words.asked.From = name
			asked = longer(asked, words.asked)
		}
	}
	return asked
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
	"until ", "for ", "the ", "next ",
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
	if moment, ok := naturalInstant(text); ok {
		return until(moment, base), true
	}
	if !isDigit(text[0]) {
		return 0, false
	}
	if number, rest, _ := leadingDecimal(text); number.whole >= 1e9 && rest != "" && nearEpoch(number, base) {
		return until(sinceEpoch(number, 1), base), true
	}
	if wait, ok := clockDuration(text); ok {
		return wait, true
	}
	return naturalDuration(text, bare)
}

// naturalDuration reads "7m12.345s", "45 seconds", "1 hour and 30 minutes". A
// value that touches the end of the text may have been cut there and is none:
// half of a wait is early.
func naturalDuration(text string, bare bareNumber) (time.Duration, bool) {
	var sum time.Duration
	for joined := false; ; joined = true {
		number, rest, _ := groupedDecimal(text)
		name := strings.TrimLeft(rest, " -")
		letters := leadingLetters(name)
		unit, known := naturalUnit(letters)
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
	if _, known := naturalUnit(leadingLetters(strings.TrimLeft(rest, " -"))); !known {
		return "" // a number of something else
	}
	return part
}

// naturalUnit knows the units of time, short and long.
func naturalUnit(name string) (time.Duration, bool) {
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

// clockDuration reads the form of .NET's TimeSpan, "hh:mm:ss" or "d.hh:mm:ss",
// with a fraction of the seconds or without.
func clockDuration(text string) (time.Duration, bool) {
	first, rest, ok := leadingDecimal(text)
	if !ok || !strings.HasPrefix(rest, ":") {
		return 0, false
	}
	days, hours := uint64(0), first.whole
	if first.scale > 1 {
		days, hours = first.whole, first.part // "22.14" is no fraction here
	}
	if len(rest) < len(":mm:ss.") || !isDigit(rest[1]) || !isDigit(rest[2]) || rest[3] != ':' || !isDigit(rest[4]) || !isDigit(rest[5]) || hours > 99 || days > 999 {
		return 0, false
	}
	seconds, after, _ := leadingDecimal(rest[4:])
	if after == "" {
		return 0, false // it may have been cut here
	}
	minutes := int(rest[1]-'0')*10 + int(rest[2]-'0')
	sum := time.Duration(days)*day + time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	return ceilWait(sum + seconds.times(time.Second)), true
}

// naturalInstant reads a moment in a normalised text: RFC 3339, "2026-12-01 at
// 00:00 UTC", Go's "2026-12-04 23:59:59 +0800 CST", WSO2's "2026-Dec-01
// 00:00:00+0000 UTC", or an HTTP-date. It must name its zone.
func naturalInstant(text string) (time.Time, bool) {
	if len(text) > maxMoment {
		text = text[:maxMoment]
	}
	if isLower(text[0]) {
		return naturalDate(text)
	}
	text = numberedMonth(text)
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
	zone, ok := naturalZone(strings.TrimPrefix(clock[digits:], " "))
	if !ok {
		return time.Time{}, false
	}
	return instant(text[:len(form)] + "T" + clock[:digits] + zone)
}

// numberedMonth writes the month of "2026-dec-01" as a number.
func numberedMonth(text string) string {
	if len(text) < len("2006-jan-02") || text[4] != '-' || !isLower(text[5]) || text[8] != '-' {
		return text
	}
	for month := time.January; month <= time.December; month++ {
		if strings.EqualFold(month.String()[:3], text[5:8]) {
			return text[:5] + string([]byte{'0' + byte(month/10), '0' + byte(month%10)}) + text[8:]
		}
	}
	return text
}

// maxMoment is longer than any moment is written.
const maxMoment = 48

// naturalZone reads a zone and returns it as RFC 3339 has it. A name behind an
// offset adds nothing to it.
func naturalZone(text string) (zone string, ok bool) {
	switch leadingLetters(text) {
	case "z", "utc", "gmt":
		return "Z", true
	}
	if len(text) < len("+0800") || text[0] != '+' && text[0] != '-' {
		return "", false
	}
	if len(text) >= len("+08:00") && text[3] == ':' {
		return text[:6], true
	}
	for _, c := range []byte(text[1:5]) {
		if !isDigit(c) {
			return "", false
		}
	}
	return text[:3] + ":" + text[3:5], true
}

// naturalDate reads an HTTP-date in lower case, up to its zone.
func naturalDate(text string) (time.Time, bool) {
	for _, zone := range [...]string{" gmt", " utc"} {
		if before, _, found := strings.Cut(text, zone); found {
			return instant(before + strings.ToUpper(zone))
		}
	}
	return time.Time{}, false
}

package outbound

import (
	"net/http"
	"strings"
	"time"
)

// writtenForms are the layouts of RFC 3339, and its form without seconds that
// Atlassian documents.
var writtenForms = [...]string{
	"2006-01-02T15:04:05.999999999Z07:00",
	"2006-01-02T15:04Z07:00",
}

// instant reads a moment: the three forms of HTTP-date with GMT, UTC or a
// numeric zone, or RFC 3339. A named zone is refused, because the name is not
// an offset and the time package would read it as UTC.
func instant(text string) (time.Time, bool) {
	if len(text) < len("2006-01-02T15:04Z") || len(text) > 64 {
		return time.Time{}, false
	}
	if isDigit(text[0]) && text[10] == 'T' {
		moment, ok := inForm(writtenForms[0], text)
		if !ok {
			moment, ok = inForm(writtenForms[1], text)
		}
		return moment, ok
	}
	if text[3] == ' ' {
		return inForm(time.ANSIC, text)
	}
	if at := strings.LastIndexByte(text, ' '); at >= 0 {
		return zoned(text[:at], text[at+1:])
	}
	return time.Time{}, false
}

// zoned reads a dated form with its zone. The weekday is read and carries no
// time.
func zoned(text, zone string) (time.Time, bool) {
	form := "Monday, 2-Jan-06 15:04:05"
	switch {
	case len(text) < len("2006-01-02 15:04:05"):
		return time.Time{}, false
	case isDigit(text[0]):
		form = "2006-01-02 15:04:05"
	case text[3] == ',':
		form = "Mon, 2 Jan 2006 15:04:05"
	}
	switch {
	case zone == "GMT" || zone == "UTC":
		return inForm(form, text)
	case zone != "" && (zone[0] == '+' || zone[0] == '-'):
		return inForm(form+" -0700", text+" "+zone)
	}
	return time.Time{}, false
}

// inForm reads a moment in one layout.
func inForm(layout, text string) (time.Time, bool) {
	moment, err := time.Parse(layout, text)
	return moment, err == nil
}

// epoch reads a count since 1970 whose unit follows from its size: from 1e18
// nanoseconds, from 1e15 microseconds, from 1e12 milliseconds, else seconds.
func epoch(number decimal) time.Time {
	switch {
	case number.whole >= 1e18:
		return sinceEpoch(number, 1e9)
	case number.whole >= 1e15:
		return sinceEpoch(number, 1e6)
	case number.whole >= 1e12:
		return sinceEpoch(number, 1e3)
	}
	return sinceEpoch(number, 1)
}

// sinceEpoch counts so many parts of a second from 1970.
func sinceEpoch(number decimal, perSecond uint64) time.Time {
	unit := time.Second / time.Duration(perSecond)
	below := time.Duration(number.whole%perSecond)*unit + number.fractionOf(unit)
	return time.Unix(int64(number.whole/perSecond), int64(below))
}

// Base returns the moment against which an answer's instants are measured:
// its own Date header, so that a wrong clock on either side does not matter,
// else now.
func Base(header http.Header, now time.Time) time.Time {
	if date, ok := instant(strings.TrimSpace(header.Get("Date"))); ok {
		return date
	}
	return now
}

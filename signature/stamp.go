package signature

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/webhook"
)

// stampForm is how a timestamp is written.
type stampForm int

const (
	seconds stampForm = iota // Unix seconds
	millis                   // Unix milliseconds
	rfc3339                  // RFC 3339
	anyForm                  // whichever of these it looks like
)

// millisDigits is the least number of digits that are read as milliseconds
// where the form is not known: seconds have that many from the year 5138.
const millisDigits = 12

// of returns the form of a text: its own, or what the text looks like.
func (f stampForm) of(text string) stampForm {
	switch {
	case f != anyForm:
		return f
	case strings.Trim(text, "0123456789") != "":
		return rfc3339
	case len(text) >= millisDigits:
		return millis
	}
	return seconds
}

// stampRule says where the time of signing is. The zero rule is no timestamp.
type stampRule struct {
	// header has it, or item stands before it in the signature's own list,
	// or member is its name in the signed JSON body.
	header string
	item   string
	member string
	form   stampForm
}

// exists reports whether a time is signed at all.
func (s stampRule) exists() bool { return s.header != "" || s.item != "" || s.member != "" }

// entry reports whether an entry of the signature's list is the timestamp.
func (s stampRule) entry(text string) (string, bool) {
	if s.item == "" || len(text) < len(s.item) || text[:len(s.item)] != s.item {
		return "", false
	}
	return text[len(s.item):], true
}

// find makes sure that the text that is signed as the time is there. The body
// is not looked at.
func (s stampRule) find(in *input) *refusal {
	if s.header != "" {
		if in.stamp = in.Header.Get(s.header); in.stamp == "" {
			return bad("no header " + s.header)
		}
	}
	if s.item != "" && in.stamp == "" {
		return bad("no timestamp in the signature header")
	}
	return nil
}

// parse is strict: plain ASCII digits without a sign, at most 15 of them, or
// the RFC 3339 form.
func (f stampForm) parse(text string) (time.Time, bool) {
	f = f.of(text)
	if f == rfc3339 {
		at, err := time.Parse(time.RFC3339Nano, text)
		return at, err == nil && len(text) <= 64 && at.Year() >= 1970
	}
	if len(text) == 0 || len(text) > 15 {
		return time.Time{}, false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return time.Time{}, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	if f == millis {
		return time.UnixMilli(n), true
	}
	return time.Unix(n, 0), true
}

// fresh refuses what was signed too far from now, either way. It is asked
// only about a request whose signature is right.
func (s stampRule) fresh(in *input, now time.Time, tolerance time.Duration) *refusal {
	if s.member != "" {
		if in.stamp = jsonText(in.json(), s.member); in.stamp == "" {
			return bad("no " + s.member + " in the body")
		}
	}
	if in.stamp == "" {
		return nil
	}
	at, ok := s.form.parse(in.stamp)
	if !ok {
		return bad("the timestamp is not of the sender's form")
	}
	// Sub saturates, so a time millions of years away cannot wrap around.
	switch off := now.Sub(at); {
	case off > tolerance:
		return &refusal{webhook.ResultStale, fmt.Sprintf("timestamp too old by %s", short(off-tolerance))}
	case off < -tolerance:
		return &refusal{webhook.ResultStale, fmt.Sprintf("timestamp too far ahead by %s", short(-tolerance-off))}
	}
	return nil
}

func short(d time.Duration) time.Duration {
	if d < time.Second {
		return d
	}
	return d.Truncate(time.Second)
}

// set writes the time of signing into the request, in the form of the one that
// is there where the form is not known.
func (s stampRule) set(in *input, now time.Time) {
	switch s.form.of(in.stamp) {
	case seconds:
		in.stamp = strconv.FormatInt(now.Unix(), 10)
	case millis:
		in.stamp = strconv.FormatInt(now.UnixMilli(), 10)
	case rfc3339:
		layout := time.RFC3339Nano
		if in.stamp != "" && !strings.Contains(in.stamp, ".") {
			layout = time.RFC3339
		}
		in.stamp = now.UTC().Format(layout)
	}
	if s.header != "" {
		in.Header.Set(s.header, in.stamp)
	}
}

package dashboard

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// functions are those of the templates.
func (d *Dashboard) functions() template.FuncMap {
	return template.FuncMap{
		"asset":   d.assetURL,
		"visible": visible,
		"size":    size,
		"span":    span,
		"count":   count,
	}
}

// moment is a time as seen at another.
type moment struct {
	At  time.Time
	Now time.Time
}

// at returns a moment as seen by a visit.
func (v visit) at(t time.Time) moment { return moment{t, v.now} }

// None reports that there is no such time.
func (m moment) None() bool { return m.At.IsZero() }

// Machine is the form for programs: RFC 3339 with milliseconds.
func (m moment) Machine() string { return m.At.UTC().Format("2006-01-02T15:04:05.000Z") }

// UTC is the form for people.
func (m moment) UTC() string { return m.At.UTC().Format("2006-01-02 15:04:05 UTC") }

// Relative says how far away it is.
func (m moment) Relative() string {
	away := m.At.Sub(m.Now)
	switch {
	case away >= time.Second:
		return "in " + span(away)
	case away > -time.Second:
		return "now"
	default:
		return span(-away) + " ago"
	}
}

// span writes a duration in its two largest units.
func span(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatInt(max(d.Milliseconds(), 0), 10) + " ms"
	}
	units := []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	for i, unit := range units {
		if d < unit.length {
			continue
		}
		text := fmt.Sprintf("%d %s", d/unit.length, unit.name)
		if rest := d % unit.length; i+1 < len(units) && rest >= units[i+1].length {
			text += fmt.Sprintf(" %d %s", rest/units[i+1].length, units[i+1].name)
		}
		return text
	}
	return "0 s"
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}

// count writes a number with its noun: "1 delivery", "2 deliveries".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	many := one + "s"
	if rest, found := strings.CutSuffix(one, "y"); found {
		many = rest + "ies"
	}
	return strconv.Itoa(n) + " " + many
}

// visible makes a stranger's text safe to look at: characters that would hide
// or reorder what stands beside them are written as escapes. Escaping for HTML
// is the templates' work.
func visible(text string) string {
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// hidden reports whether a character has no shape of its own: controls, and
// format characters such as those that turn the direction of writing.
func hidden(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// clip bounds a text to so many bytes at the border of a character.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

package outbound

import (
	"strings"
	"unicode/utf8"
)

// resolvedText is a text with its escapes resolved: those of JSON (\u002B, \/),
// of addresses (%2B) and of HTML (&#43;, &#x2B;, &amp;), in either case.
type resolvedText struct {
	text string
	// at holds where each byte begins in the text that it came from, and at
	// the end the length of that.
	at []int
}

// hasEscapes reports whether a text may hold any escape.
func hasEscapes(text string) bool { return strings.ContainsAny(text, `\%&`) }

// resolve undoes one layer of escapes.
func resolve(text string) resolvedText {
	out := make([]byte, 0, len(text))
	at := make([]int, 0, len(text)+1)
	for i := 0; i < len(text); {
		length := 1
		char := []byte{text[i]}
		if r, n := escapeAt(text[i:]); n > 0 {
			char, length = utf8.AppendRune(nil, r), n
			if text[i] == '%' {
				char = []byte{byte(r)} // of a character that may have several
			}
		}
		for range char {
			at = append(at, i)
		}
		out = append(out, char...)
		i += length
	}
	return resolvedText{string(out), append(at, len(text))}
}

// escapeAt reads the escape at the start of a text; its length is 0 when there
// is none.
func escapeAt(text string) (r rune, length int) {
	switch text[0] {
	case '\\':
		if len(text) >= 6 && text[1] == 'u' {
			if r, ok := digits(text[2:6], 16); ok {
				return r, 6
			}
		}
		if len(text) >= 2 && strings.IndexByte(`"\/'`, text[1]) >= 0 {
			return rune(text[1]), 2
		}
	case '%':
		if len(text) >= 3 {
			if r, ok := digits(text[1:3], 16); ok {
				return r, 3
			}
		}
	case '&':
		return entityAt(text)
	}
	return 0, 0
}

// maxEntity is longer than the entities that are resolved.
const maxEntity = 12

// entityAt reads an entity of HTML: a number, or one of the five of XML.
func entityAt(text string) (r rune, length int) {
	end := strings.IndexByte(text[:min(len(text), maxEntity)], ';')
	if end < 2 {
		return 0, 0
	}
	name := text[1:end]
	switch strings.ToLower(name) {
	case "amp":
		return '&', end + 1
	case "lt":
		return '<', end + 1
	case "gt":
		return '>', end + 1
	case "quot":
		return '"', end + 1
	case "apos":
		return '\'', end + 1
	}
	if name[0] != '#' {
		return 0, 0
	}
	base, number := 10, name[1:]
	if number != "" && number[0]|0x20 == 'x' {
		base, number = 16, number[1:]
	}
	if r, ok := digits(number, base); ok {
		return r, end + 1
	}
	return 0, 0
}

// digits reads a number of a base up to 16, all of the text.
func digits(text string, base int) (rune, bool) {
	value := 0
	for i := range len(text) {
		digit := strings.IndexByte("0123456789abcdef", lower(text[i]))
		if digit < 0 || digit >= base {
			return 0, false
		}
		if value = value*base + digit; value > utf8.MaxRune {
			return 0, false
		}
	}
	return rune(value), text != ""
}

// removeEscaped replaces the values that stand in a text in escapes, also in
// escapes of escapes.
func (s Secrets) removeEscaped(text string) string {
	for layer := 0; layer < 2 && hasEscapes(text); layer++ {
		view := resolve(text)
		if layer == 1 {
			inner := resolve(view.text)
			for i, at := range inner.at {
				inner.at[i] = view.at[at]
			}
			view = inner
		}
		text = s.removeFromView(text, view)
	}
	return text
}

// removeFromView replaces in a text what its view shows to be a value.
func (s Secrets) removeFromView(text string, view resolvedText) string {
	for _, needle := range s.needles {
		for from := 0; ; {
			i := strings.Index(view.text[from:], needle)
			if i < 0 {
				break
			}
			i += from
			start, end := view.at[i], view.at[i+len(needle)]
			text = text[:start] + redacted + text[end:]
			grown := len(redacted) - (end - start)
			at := append(view.at[:i:i], fill(start, len(redacted))...)
			for _, old := range view.at[i+len(needle):] {
				at = append(at, old+grown)
			}
			view = resolvedText{view.text[:i] + redacted + view.text[i+len(needle):], at}
			from = i + len(redacted)
		}
	}
	return text
}

// fill counts from a place on.
func fill(from, count int) []int {
	places := make([]int, count)
	for i := range places {
		places[i] = from + i
	}
	return places
}

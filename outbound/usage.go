package outbound

import (
	"math"
	"strings"
)

// figure is a count that a text names after a word.
type usageNumber struct {
	value int64
	unit  string
	known bool
}

// figures gathers the counts of a text: the first of each kind, but of several
// limits the last that is named before the request's own size.
type usageNumbers struct {
	limit, used, requested usageNumber
}

// take reads the figure behind a word.
func (f *usageNumbers) take(word, after string) {
	switch word {
	case "limit":
		if !f.limit.known || !f.requested.known {
			if next := readUsageNumber(after); next.known {
				f.limit = next
			}
		}
	case "used":
		if !f.used.known {
			f.used = readUsageNumber(after)
		}
	case "requested":
		if !f.requested.known {
			f.requested = readUsageNumber(after)
		}
	}
}

// pointers returns what is known. Figures in different units cannot be
// compared, so the request's is left out then.
func (f *usageNumbers) pointers() (limit, used, requested *int64) {
	if !f.limit.known && !f.used.known && !f.requested.known {
		return nil, nil, nil
	}
	values := [3]int64{f.limit.value, f.used.value, f.requested.value}
	if f.limit.known {
		limit = &values[0]
	}
	if f.used.known {
		used = &values[1]
	}
	if f.requested.known && (!f.limit.known || f.limit.unit == f.requested.unit) {
		requested = &values[2]
	}
	return limit, used, requested
}

// readUsageNumber reads a number such as ` 100000`, `": 100,000` or `=5` and the
// unit of size behind it.
func readUsageNumber(text string) usageNumber {
	text = skipAny(text, " :=\"'(`", 4)
	for _, word := range [...]string{"of ", "is "} {
		text = strings.TrimPrefix(text, word)
	}
	number, rest, ok := groupedDecimal(text)
	if !ok || number.whole > math.MaxInt64 {
		return usageNumber{}
	}
	unit := leadingLetters(strings.TrimPrefix(rest, " "))
	if !isSizeUnit(unit) {
		if leadingLetters(rest) != "" {
			return usageNumber{} // a word or a duration that begins with a digit
		}
		unit = ""
	}
	return usageNumber{value: int64(number.whole), unit: unit, known: true}
}

// groupedDecimal reads a number whose thousands may be set off by commas.
func groupedDecimal(text string) (decimal, string, bool) {
	number, rest, ok := leadingDecimal(text)
	for ok && number.scale == 1 && isGroup(rest) {
		for _, digit := range []byte(rest[1:4]) {
			number.whole = appendDigit(number.whole, digit)
		}
		rest = rest[4:]
		if len(rest) > 1 && rest[0] == '.' && isDigit(rest[1]) {
			return groupedFraction(number, rest)
		}
	}
	return number, rest, ok
}

// groupedFraction reads the fraction behind the last group.
func groupedFraction(number decimal, rest string) (decimal, string, bool) {
	for rest = rest[1:]; rest != "" && isDigit(rest[0]); rest = rest[1:] {
		number = number.withFractionDigit(rest[0])
	}
	return number, rest, true
}

// isGroup reports whether text begins with a comma and exactly three digits.
func isGroup(text string) bool {
	return len(text) >= 4 && text[0] == ',' &&
		isDigit(text[1]) && isDigit(text[2]) && isDigit(text[3]) &&
		(len(text) == 4 || !isDigit(text[4]))
}

// isSizeUnit knows the units in which sizes of bodies are given.
func isSizeUnit(word string) bool {
	switch word {
	case "b", "byte", "bytes", "k", "kb", "kib", "m", "mb", "mib", "g", "gb", "gib":
		return true
	}
	return false
}

// leadingLetters returns the letters at the start of a normalised text.
func leadingLetters(text string) string {
	end := 0
	for end < len(text) && isLower(text[end]) {
		end++
	}
	return text[:end]
}

// skipAny skips at most so many leading characters of a set.
func skipAny(text, set string, most int) string {
	for ; most > 0 && text != "" && strings.IndexByte(set, text[0]) >= 0; most-- {
		text = text[1:]
	}
	return text
}

package outbound

import "strings"

// containsWord reports whether a text holds a word that is not part of a
// longer one.
func containsWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(word)
		if (start == 0 || !isWordByte(text[start-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		at = end
	}
}

func isWordByte(c byte) bool { return isLower(c) || isDigit(c) || c == '_' }

// member finds the first value of a JSON member in a normalised text that need not
// be whole. It returns what follows the value, to go on from.
func member(text, name string) (value, rest string, ok bool) {
	for {
		i := strings.Index(text, name)
		if i < 0 {
			return "", "", false
		}
		quoted := i > 0 && (text[i-1] == '"' || text[i-1] == '\'')
		text = text[i+len(name):]
		if !quoted {
			continue
		}
		if value, rest, ok := valueOf(text); ok {
			return value, rest, true
		}
	}
}

// valueOf reads the value of a member whose name ends where the text begins: a
// text, a number or a word. A value that the end of the text cuts off does not
// count.
func valueOf(text string) (value, rest string, ok bool) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return "", "", false
	}
	text, ok = strings.CutPrefix(strings.TrimLeft(text[1:], " "), ":")
	if !ok {
		return "", "", false
	}
	text = strings.TrimLeft(text, " ")
	ends := ",}] "
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		ends, text = text[:1], text[1:]
	}
	end := strings.IndexAny(text[:min(len(text), maxValue)], ends)
	if end < 0 {
		return "", "", false
	}
	return text[:end], text[end:], true
}

package outbound

// normalise makes the searchable form of a body in one pass: ASCII letters in lower
// case, JSON escapes undone, runs of white space made one space, and the tags
// of HTML and XML made spaces. It reads broken JSON and cut HTML alike, and
// grows by no more than a space at the end, which says that the text is whole:
// a number that touches the end may have been cut there.
func normalise(body []byte, ending ending) string {
	out := make([]byte, 0, len(body)+1)
	last := byte(0)
	first := firstByte(body)
	for i := 0; i < len(body); {
		c, length := lower(body[i]), 1
		switch {
		case c == '\\':
			c, length = unescaped(body[i:])
		case c == '<':
			if length = tagLength(body[i:], first == '<'); length > 0 {
				c = ' '
			} else {
				length = 1
			}
		}
		i += length
		if c != ' ' || last != ' ' {
			out = append(out, c)
		}
		last = c
	}
	if ending == complete && first != '{' && first != '[' {
		out = append(out, ' ')
	}
	return string(out)
}

// ending says whether a body was read to its end.
type ending int

const (
	complete ending = iota
	cutShort
)

// unescaped returns the first character of text in lower case, with its
// escape (and the escapes of the escape, as in JSON within JSON) undone, and
// how many bytes it took.
func unescaped(text []byte) (c byte, length int) {
	for length < len(text)-1 && text[length] == '\\' {
		length++
	}
	c = text[length]
	if length > 0 {
		switch c {
		case 'n', 'r', 't', 'b', 'f':
			return ' ', length + 1
		case 'u':
			if code, ok := hex4(text[length+1:]); ok {
				return lower(code), length + 5
			}
		}
	}
	return lower(c), length + 1
}

// hex4 reads the digits of a \u escape. What is not ASCII becomes a mark that
// is no letter: no pattern asks for it.
func hex4(text []byte) (byte, bool) {
	if len(text) < 4 {
		return 0, false
	}
	code := 0
	for _, c := range text[:4] {
		switch c = lower(c); {
		case isDigit(c):
			code = code<<4 | int(c-'0')
		case 'a' <= c && c <= 'f':
			code = code<<4 | int(c-'a'+10)
		default:
			return 0, false
		}
	}
	if code >= 0x80 {
		return '?', true
	}
	return byte(code), true
}

// lower maps letters to lower case and white space to the space.
func lower(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case c == '\n' || c == '\r' || c == '\t':
		return ' '
	}
	return c
}

// firstByte returns the first byte that is not white space; 0 when there is
// none. '<' begins HTML and XML, a brace or bracket JSON.
func firstByte(body []byte) byte {
	for _, c := range body {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

// maxTag bounds the look for the end of a tag, so that a body of nothing but
// opening brackets costs no more than its length times this.
const maxTag = 256

// tagLength returns the length of the tag at the start of text, 0 when it is
// none. In a body that is not HTML or XML itself a name of letters and digits
// has to end as one, so that "#<Some::Error: …>" is read.
func tagLength(text []byte, markup bool) int {
	if len(text) < 3 || !isLower(lower(text[1])) && text[1] != '/' && text[1] != '!' && text[1] != '?' {
		return 0
	}
	named := false
	for i, c := range text[:min(len(text), maxTag)] {
		if c == '>' {
			return i + 1
		}
		if markup || named || i < 2 || isLower(lower(c)) || isDigit(c) {
			continue
		}
		if c != ' ' && c != '/' {
			return 0
		}
		named = true
	}
	return 0
}

package signature

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file reads single members of a JSON text without building the whole.
// It is a scanner with a counter for the depth and no recursion over the
// text, so a hundred thousand brackets cost what their bytes cost. Of a name
// that appears twice the last member counts, as in the usual parsers. Numbers
// are kept as they are written.

// jsonText returns the string or number at a path; empty where there is none
// or it is of another type. Path parts are separated by dots; in an array a
// part is an index.
func jsonText(text []byte, path string) string { return scalar(jsonValue(text, path)) }

// jsonValue returns the bytes of the value at a path; nil without one.
func jsonValue(text []byte, path string) []byte {
	value := trimBOM(text)
	for part := range strings.SplitSeq(path, ".") {
		if value = jsonMember(value, part); value == nil {
			return nil
		}
	}
	return value
}

func trimBOM(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) }

// jsonMember returns the bytes of a member of an object or of an element of
// an array; nil without one.
func jsonMember(text []byte, name string) []byte {
	text = skipSpace(text)
	if len(text) == 0 {
		return nil
	}
	switch text[0] {
	case '{':
		return objectMember(text[1:], name)
	case '[':
		index, err := strconv.Atoi(name)
		if err != nil || index < 0 {
			return nil
		}
		var found []byte
		eachElement(text, func(i int, element []byte) bool {
			if i == index {
				found = element
			}
			return i < index
		})
		return found
	}
	return nil
}

// objectMember walks the members behind an opening brace.
func objectMember(text []byte, name string) []byte {
	var found []byte
	text = skipSpace(text)
	for len(text) > 0 && text[0] == '"' {
		end := stringEnd(text)
		if end < 0 {
			return nil
		}
		key, rest := text[:end], skipSpace(text[end:])
		if len(rest) == 0 || rest[0] != ':' {
			return nil
		}
		rest = skipSpace(rest[1:])
		length := valueEnd(rest)
		if length <= 0 {
			return nil
		}
		if sameName(key, name) {
			found = rest[:length]
		}
		text = skipSpace(rest[length:])
		if len(text) == 0 {
			return nil
		}
		if text[0] == '}' {
			return found
		}
		if text[0] != ',' {
			return nil
		}
		text = skipSpace(text[1:])
	}
	return nil
}

// eachElement calls visit for the elements of an array until it returns
// false. It reports whether the array was whole.
func eachElement(text []byte, visit func(i int, element []byte) bool) bool {
	text = skipSpace(text)
	if len(text) == 0 || text[0] != '[' {
		return false
	}
	text = skipSpace(text[1:])
	if len(text) > 0 && text[0] == ']' {
		return true
	}
	for i := 0; ; i++ {
		length := valueEnd(text)
		if length <= 0 {
			return false
		}
		if !visit(i, text[:length]) {
			return false
		}
		text = skipSpace(text[length:])
		if len(text) == 0 || text[0] != ',' {
			return len(text) > 0 && text[0] == ']'
		}
		text = skipSpace(text[1:])
	}
}

// valueEnd returns the length of the value at the beginning of text; -1 where
// it does not end.
func valueEnd(text []byte) int {
	if len(text) == 0 {
		return -1
	}
	switch text[0] {
	case '"':
		return stringEnd(text)
	case '{', '[':
		return nestEnd(text)
	}
	for i, c := range text {
		if c == ',' || c == '}' || c == ']' || isSpace(c) {
			return i
		}
	}
	return len(text)
}

// nestEnd returns the length of an object or array by counting brackets.
func nestEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end := stringEnd(text[i:])
			if end < 0 {
				return -1
			}
			i += end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// stringEnd returns the length of the string at the beginning of text, with
// both quotes; -1 where it does not end.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			return -1
		}
		end := i + quote
		escapes := 0
		for end-1-escapes >= i && text[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
		i = end + 1
	}
	return -1
}

// sameName compares a quoted name with a plain one.
func sameName(quoted []byte, name string) bool {
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	return unquote(quoted) == name
}

func unquote(quoted []byte) string {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return ""
	}
	return text
}

// scalar returns the text of a string, or a number as it is written.
func scalar(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	if value[0] == '"' {
		if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
			return string(inner)
		}
		return unquote(value)
	}
	if (value[0] == '-' || value[0] >= '0' && value[0] <= '9') && json.Valid(value) {
		return string(value)
	}
	return ""
}

func skipSpace(text []byte) []byte {
	for len(text) > 0 && isSpace(text[0]) {
		text = text[1:]
	}
	return text
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

package outbound

import (
	"strings"
	"unicode/utf8"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// Redact returns a text without secrets and cut to at most so many bytes, at
// the border of a character. Secrets go first and the rest is cut then, so
// that no part of one is left at the edge.
//
// Removed are the values of s in all their spellings, and what looks like a
// credential: the values of members whose names speak of one, bearer strings,
// keys with well-known prefixes, JSON Web Tokens, and user information in
// addresses.
func (s Secrets) Redact(text string, most int) string {
	text = s.removeFrom(text)
	scan := scanner{text: text, most: most}
	text = cut(scan.redact(), most)
	if s.contains(text) {
		return redacted // pieces that only together made one
	}
	return text
}

// cut shortens valid UTF-8 at the border of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// scanner goes over a text once and leaves out what looks like a credential.
type scanner struct {
	text string
	// most is how much is wanted: what follows need not be read.
	most int
	out  strings.Builder
	// from is where what has not been written yet begins.
	from int
}

// redact returns the text, or as much of its start as is wanted.
func (s *scanner) redact() string {
	for i := 0; i < len(s.text) && s.out.Len()+i-s.from <= s.most; {
		c := s.text[i]
		switch {
		case isTokenByte(c):
			end := i
			for end < len(s.text) && isTokenByte(s.text[end]) {
				end++
			}
			i = s.word(i, end)
		case c == ':' && strings.HasPrefix(s.text[i:], "://"):
			i = s.address(i + len("://"))
		default:
			i++
		}
	}
	if s.from == 0 {
		return s.text
	}
	s.out.WriteString(s.text[s.from:])
	return s.out.String()
}

// drop leaves out the text from start to end and returns end.
func (s *scanner) drop(start, end int) int {
	if end > start && s.text[start:end] != redacted {
		s.out.WriteString(s.text[s.from:start])
		s.out.WriteString(redacted)
		s.from = end
	}
	return end
}

// word looks at one word and returns where to go on.
func (s *scanner) word(start, end int) int {
	word := s.text[start:end]
	if looksLikeKey(word) {
		return s.drop(start, end)
	}
	if isScheme(word) {
		if from, to, ok := s.credential(end); ok {
			return s.drop(from, to)
		}
		return end
	}
	if len(word) >= shortestName && s.separator(end) >= 0 && namesSecret(word) {
		if from, to, ok := s.valueOf(word, end); ok {
			return s.drop(from, to)
		}
	}
	return end
}

// isScheme knows the authentication schemes whose credentials follow them.
func isScheme(word string) bool {
	return strings.EqualFold(word, "bearer") || strings.EqualFold(word, "basic")
}

// credential finds what follows a scheme: a run of token characters that is
// not the name of a parameter (RFC 9110 section 11.2).
func (s *scanner) credential(at int) (from, to int, ok bool) {
	from = at
	for from < len(s.text) && s.text[from] == ' ' {
		from++
	}
	to = from
	for to < len(s.text) && isCredentialByte(s.text[to]) {
		to++
	}
	if to-from < minCredential || from == at || isProse(s.text[from:to]) {
		return 0, 0, false
	}
	parameter := s.text[to-1] == '=' && to < len(s.text) && (s.text[to] == '"' || s.text[to] == '\\')
	return from, to, !parameter
}

// isProse knows the words that follow the name of a scheme in sentences.
func isProse(word string) bool {
	switch strings.ToLower(strings.TrimRight(word, ".")) {
	case "authentication", "authorization", "credential", "credentials", "[redacted]":
		return true
	}
	return false
}

// minCredential is the least length of a credential: "Bearer token" is prose.
const minCredential = 8

// address leaves out the user information of the address whose authority
// begins here.
func (s *scanner) address(start int) int {
	end, at := start, -1
	for end < len(s.text) && strings.IndexByte("/?# \t\r\n\"'<>\\", s.text[end]) < 0 {
		if s.text[end] == '@' {
			at = end
		}
		end++
	}
	if at > start {
		return s.drop(start, at)
	}
	return start
}

// isTokenByte reports whether c belongs to words, names and keys.
func isTokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c == '-' || c == '.'
}

// isCredentialByte reports whether c belongs to a token68 (RFC 9110 section
// 11.2) or is percent-encoded.
func isCredentialByte(c byte) bool {
	return isTokenByte(c) || c == '+' || c == '/' || c == '~' || c == '=' || c == '%'
}

package outbound

import "strings"

// secretWords are parts of the names of members and fields that hold secrets.
var secretWords = [...]string{
	"token", "secret", "password", "passwd", "passphrase", "api-key", "api_key", "apikey",
	"authorization", "cookie", "signature", "credential", "private-key", "private_key",
	"privatekey", "access-key", "access_key", "accesskey",
}

// shortestName is the length of the shortest of them.
const shortestName = len("token")

// namesSecret reports whether a word is the name of something secret.
func namesSecret(word string) bool {
	if len(word) < shortestName || len(word) > maxNameKept {
		return false
	}
	return anyFold(word, secretWords[:])
}

// anyFold reports whether a text contains one of the parts, which are in lower
// case, without regard to its own.
func anyFold(text string, parts []string) bool {
	for _, part := range parts {
		if containsFold(text, part) {
			return true
		}
	}
	return false
}

// containsFold is strings.Contains for a lower-case part without regard to
// ASCII case.
func containsFold(text, part string) bool {
	for i := 0; i+len(part) <= len(text); i++ {
		if text[i]|0x20 == part[0]|0x20 && strings.EqualFold(text[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// keyPrefixes begin the keys of well-known services.
var keyPrefixes = [...]string{
	"sk-", "sk_", "rk_", "pk_", "whsec_", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_",
	"glpat-", "xoxb-", "xoxp-", "xoxa-", "xapp-", "AKIA", "ASIA", "AIza", "eyJ", "SG.", "shpat_", "hf_", "npm_",
}

// looksLikeKey reports whether a word is a key by its prefix and length.
func looksLikeKey(word string) bool {
	if len(word) < minCredential+len("sk-") {
		return false
	}
	for _, prefix := range keyPrefixes {
		if strings.HasPrefix(word, prefix) && len(word) >= len(prefix)+minCredential {
			return true
		}
	}
	return false
}

// valueOf finds the value behind the name of a secret: `token=…`,
// `"token":"…"`, `\"token\": …`, `Cookie: …`, `<token>…`.
func (s *scanner) valueOf(name string, at int) (from, to int, ok bool) {
	from = s.separator(at)
	if from < 0 {
		return 0, 0, false
	}
	separator := s.text[from]
	from = s.skip(from+1, " \t=>")
	quote := from
	from = s.skip(from, "\\")
	if from < len(s.text) && (s.text[from] == '"' || s.text[from] == '\'' || s.text[from] == '`') {
		to = s.closing(from+1, s.text[quote:from+1])
		return from + 1, to, to > from+1
	}
	from = quote
	switch {
	case from == len(s.text), s.text[from] == '{', strings.HasPrefix(s.text[from:], redacted):
		return 0, 0, false
	case s.text[from] == '[':
		to = s.until(from, "]")
	case separator == '>':
		to = s.until(from, "<")
	case containsFold(name, "authorization"), containsFold(name, "cookie"):
		to = s.until(from, "\r\n\"'<")
	default:
		to = s.until(from, " \t\r\n\"',;&<)}]")
	}
	if isCount(name, s.text[from:to]) {
		return 0, 0, false
	}
	return from, to, to > from
}

// separator returns the place of the sign between a name that ends here and
// its value; -1 when there is none.
func (s *scanner) separator(at int) int {
	at = s.skip(at, " \\\"'`")
	if at == len(s.text) || s.text[at] != ':' && s.text[at] != '=' && s.text[at] != '>' {
		return -1
	}
	return at
}

// isCount reports whether a member is a number of tokens and not a token.
func isCount(name, value string) bool {
	if len(value) > 12 || !anyFold(name, countNames[:]) {
		return false
	}
	_, ok := wholeDecimal(value)
	return ok
}

// countNames are parts of the names of counts.
var countNames = [...]string{"tokens", "count", "limit", "remaining", "used"}

// skip passes over the characters of a set.
func (s *scanner) skip(at int, set string) int {
	for at < len(s.text) && strings.IndexByte(set, s.text[at]) >= 0 {
		at++
	}
	return at
}

// until returns the place of the first character of a set, or the end.
func (s *scanner) until(at int, set string) int {
	if i := strings.IndexAny(s.text[at:], set); i >= 0 {
		return at + i
	}
	return len(s.text)
}

// closing returns the place of the closing quote with the backslashes that
// belong to it. What is not closed goes to the end.
func (s *scanner) closing(at int, quote string) int {
	escapes, mark := len(quote)-1, quote[len(quote)-1]
	run := 0
	for i := at; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			run++
			continue
		case mark:
			if closes(run, escapes) {
				return i - min(run, escapes)
			}
		}
		run = 0
	}
	return len(s.text)
}

// closes reports whether a quote behind a run of backslashes ends a text that
// began with one behind so many. In plain JSON an even run is of escaped
// backslashes. In JSON within JSON each of those is doubled, the quote has one
// of its own, and an even run ends the outer text.
func closes(run, escapes int) bool {
	switch escapes {
	case 0:
		return run%2 == 0
	case 1:
		return run%2 == 0 || run/2%2 == 0
	}
	return run <= escapes
}

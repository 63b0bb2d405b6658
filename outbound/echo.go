package outbound

import (
	"strings"

	"weir/webhook"
)

// echoed are the kinds that decide nothing where the payload has the very
// words: a validation error may repeat what an alert or a message says.
const echoed = guarded | objectKind | ageKind | sizeKind

// maxSent bounds how much of a payload is looked at, in bytes.
const maxSent = 64 << 10

// minEcho is the least length of words that are taken for an echo.
const minEcho = 8

// payload is what was sent, in its searchable form. It is made when it is
// first asked for.
type payload struct {
	raw  []byte
	text string
	done bool
}

// normalised returns the searchable form of as much as is looked at.
func (p *payload) normalised() string {
	if !p.done {
		p.text, p.done = normalise(p.raw[:min(len(p.raw), maxSent)], cutShort), true
	}
	return p.text
}

// holds reports whether a clause of an answer stands in the payload.
func (p *payload) holds(clause string) bool {
	if p == nil || len(p.raw) == 0 {
		return false
	}
	clause = strings.Trim(clause, " \"'`.,:;!?{}[]()|")
	return len(clause) >= minEcho && strings.Contains(p.normalised(), clause)
}

// namesField reports whether a body names a field of the payload in a member
// of its own, as validators do.
func namesField(text string) bool {
	if !strings.Contains(text, `":`) && !strings.Contains(text, `" :`) {
		return false
	}
	for _, name := range fieldNames {
		if i := strings.Index(text, name); i >= 0 && filled(text[i+len(name):]) {
			return true
		}
	}
	return errorsByField(text)
}

// filled reports whether a member's value, which begins with its colon, is
// there and not empty.
func filled(text string) bool {
	text, ok := strings.CutPrefix(strings.TrimLeft(text, " "), ":")
	if !ok {
		return false
	}
	text = strings.TrimLeft(text, " ")
	for _, empty := range [...]string{"null", `""`, "[]", "{}", "false"} {
		if strings.HasPrefix(text, empty) {
			return false
		}
	}
	return text != ""
}

// errorsByField finds `"errors":{"email":["…"]}`, the form of Laravel, Rails
// and ASP.NET: members of errors are lists of messages.
func errorsByField(text string) bool {
	_, rest, ok := strings.Cut(text, `"errors":{"`)
	if !ok {
		if _, rest, ok = strings.Cut(text, `"errors": {"`); !ok {
			return false
		}
	}
	_, rest, ok = strings.Cut(rest[:min(len(rest), maxValue)], `"`)
	rest = strings.TrimLeft(rest, ": ")
	return ok && strings.HasPrefix(rest, "[")
}

// withoutEchoes leaves out the values of members that repeat the payload.
func withoutEchoes(text string) string {
	removed := 0
	for _, name := range payloadNames {
		for from := 0; ; {
			i := strings.Index(text[from:], name)
			if i < 0 || removed == maxTries {
				break
			}
			removed++
			from += i + len(name)
			length := valueLength(text[from:])
			text = text[:from] + text[from+length:]
		}
	}
	return text
}

// valueLength returns the length of a member's value with its colon: an object
// or a list up to its closing bracket, a text up to its quotation mark. What is
// not closed is left alone: escapes are undone in the text, so a stray mark must
// not hide the rest.
func valueLength(text string) int {
	at := len(text) - len(strings.TrimLeft(text, " "))
	if at == len(text) || text[at] != ':' {
		return 0
	}
	at++
	at += len(text[at:]) - len(strings.TrimLeft(text[at:], " "))
	if at == len(text) {
		return 0
	}
	switch text[at] {
	case '"':
		if end := strings.IndexByte(text[at+1:], '"'); end >= 0 {
			return at + 1 + end + 1
		}
	case '{', '[':
		depth := 0
		for i := at; i < len(text); i++ {
			switch text[i] {
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return 0
}

// refusesPayload reports whether a refusal names a field or a value of the
// payload, or one object in it.
func (f *facts) refusesPayload(v verdict) bool {
	switch v.outcome {
	case webhook.OutcomeTooLarge:
		return true
	case webhook.OutcomeRejected:
		return v.rule == RuleOneObject || v.rule == RuleRejected && f.namesPayload()
	}
	return false
}

// namesPayload reports whether the body names a field or a value of the
// payload: by a member for it, by a validator's words, or by a value that
// stands in what was sent.
func (f *facts) namesPayload() bool {
	return f.namesField || f.says(fieldKind|objectKind) || f.sent.namedIn(f.text)
}

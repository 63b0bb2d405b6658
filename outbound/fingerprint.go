package outbound

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"weir/webhook"
)

// fingerprintLength is how many bytes of the digest are kept: enough that two
// different refusals of one destination do not meet by chance.
const fingerprintLength = 8

// maxFingerprint bounds the text that a fingerprint is made of, in bytes.
const maxFingerprint = 4 << 10

// fingerprint identifies a refusal by its status and its words. What differs
// from request to request is left out: numbers, ids and dates, and what stands
// in the request as well. It is the same in each run of the program. Outcomes
// that refuse nothing have none.
func (r Response) fingerprint(outcome webhook.Outcome, text string) string {
	switch outcome {
	case webhook.OutcomeRejected, webhook.OutcomeAuth, webhook.OutcomeMisdirected, webhook.OutcomeGone:
	default:
		return ""
	}
	text = text[:min(len(text), maxFingerprint)]
	var shared map[string]bool
	if len(r.Sent) > 0 {
		shared = sharedWords(text, r.Sent)
	}
	digest := sha256.New()
	digest.Write([]byte(strconv.Itoa(r.Status)))
	var before string
	for word := range tokens(text) {
		// A word of the payload stands alone in quotation marks; of a longer
		// run, two neighbours have to be in it.
		if isVariable(word.text) || word.quoted && shared[word.text] || shared[before+" "+word.text] || shared[word.text+" "+word.next] {
			before = word.text
			continue
		}
		before = word.text
		digest.Write([]byte(" " + word.text))
	}
	return hex.EncodeToString(digest.Sum(nil)[:fingerprintLength])
}

// token is a word of a text, with what stands around it.
type token struct {
	text, next string
	quoted     bool
}

// isTokenText reports whether c belongs to a word, an id or an address.
func isTokenText(c byte) bool {
	return isLower(c) || isDigit(c) || c == '_' || c == '-' || c == '@' || c >= 0x80
}

// tokens goes over the words of a normalised text.
func tokens(text string) func(yield func(token) bool) {
	return func(yield func(token) bool) {
		start, end := nextToken(text, 0)
		for start < end {
			after, last := nextToken(text, end)
			quoted := start > 0 && end < len(text) && isQuote(text[start-1]) && isQuote(text[end])
			if !yield(token{text[start:end], text[after:last], quoted}) {
				return
			}
			start, end = after, last
		}
	}
}

// nextToken returns where the next word begins and ends; equal when there is
// none.
func nextToken(text string, at int) (start, end int) {
	for at < len(text) && !isTokenText(text[at]) {
		at++
	}
	end = at
	for end < len(text) && (isTokenText(text[end]) || text[end] == '.' && end+1 < len(text) && isTokenText(text[end+1])) {
		end++ // a point within a word belongs to it: "1.5", "a@example.com"
	}
	return at, end
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// isVariable reports whether a word differs from request to request by its
// nature: a number, an id, an address, the name of a day or a month.
func isVariable(word string) bool {
	if strings.ContainsAny(word, "0123456789@") {
		return true
	}
	switch word {
	case "mon", "tue", "wed", "thu", "fri", "sat", "sun",
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "gmt", "utc":
		return true
	}
	return isHexID(word)
}

// isHexID reports whether a word without a digit is one of hexadecimal digits
// all the same: long, and of no other letters.
func isHexID(word string) bool {
	return len(word) >= 8 && strings.Trim(word, "abcdef-") == ""
}

// sharedWords returns the words of a text, and its pairs of neighbours, that
// stand in a payload too. It goes over each of them once.
func sharedWords(text string, sent []byte) map[string]bool {
	shared := map[string]bool{}
	for word := range tokens(text) {
		shared[word.text] = false
		shared[word.text+" "+word.next] = false
	}
	pair := make([]byte, 0, 128)
	for word := range tokens(normalise(sent[:min(len(sent), maxSent)], cutShort)) {
		if _, there := shared[word.text]; there && word.quoted {
			shared[word.text] = true
		}
		pair = append(append(append(pair[:0], word.text...), ' '), word.next...)
		if _, there := shared[string(pair)]; there {
			shared[string(pair)] = true
		}
	}
	return shared
}

// minNamed is the least length of a value that names a payload.
const minNamed = 4

// namedIn reports whether an answer repeats a value of the payload: an id or a
// number of some length, or a word in quotation marks of its own.
func (p *payload) namedIn(text string) bool {
	if len(p.raw) == 0 {
		return false
	}
	sent := p.normalised()
	tries := 0
	for word := range tokens(text[:min(len(text), maxFingerprint)]) {
		named := isVariable(word.text) && strings.ContainsAny(word.text, "0123456789") && !isDate(word.text)
		if !named || len(word.text) < minNamed {
			continue
		}
		if tries++; tries > maxTries {
			break
		}
		if standsIn(sent, word.text) {
			return true
		}
	}
	return quotedIn(text, sent)
}

// maxTries bounds how many words of an answer are looked for in a payload.
const maxTries = 16

// isDate reports whether a word is a date or the start of a moment, which an
// answer has of its own.
func isDate(word string) bool {
	return len(word) >= len("2006-01-02") && word[4] == '-' && word[7] == '-' || len(word) == 4 && word[:2] == "20"
}

// quotedIn reports whether a word in single quotation marks or backticks stands
// in a payload.
func quotedIn(text, sent string) bool {
	for _, quote := range [...]string{"'", "`"} {
		_, rest, ok := strings.Cut(text, quote)
		for tries := 0; ok && tries < maxTries; tries++ {
			var word string
			if word, rest, ok = strings.Cut(rest, quote); ok && len(word) >= minNamed && len(word) < maxValue && standsIn(sent, word) {
				return true
			}
			_, rest, ok = strings.Cut(rest, quote)
		}
	}
	return false
}

// standsIn reports whether a text holds a word that is not part of a longer
// one.
func standsIn(text, word string) bool { return containsWord(text, word) }

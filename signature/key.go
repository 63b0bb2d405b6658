package signature

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// place is where a key is looked for.
type place string

const (
	inHeader  place = "header"
	inJSON    place = "json"
	inForm    place = "form"
	wholeBody place = "body"
	// signedID is the id that the signature itself covers: safer than the same
	// id in a header that anybody on the way can change.
	signedID place = "signed"
)

// keyRule is one place for a key. With several names all must be there; they
// are joined by colons, with the colons and percent signs in all but the last
// escaped, so that different parts never give the same key.
type keyRule struct {
	kind  place
	names []string // headers are in canonical form
	// from is the text of [Verdict.KeyFrom].
	from string
}

func ruleOf(kind place, names []string) keyRule {
	return keyRule{kind, names, string(kind) + ":" + strings.Join(names, "+")}
}

func header(names ...string) keyRule {
	rule := ruleOf(inHeader, names)
	rule.names = canonical(names)
	return rule
}

func member(names ...string) keyRule { return ruleOf(inJSON, names) }

func idThatIsSigned() keyRule { return keyRule{kind: signedID} }

func field(names ...string) keyRule { return ruleOf(inForm, names) }

// keysFor reads the setting KEY; empty means the scheme's own rules.
func keysFor(definition scheme, setting string, problems *[]error) []keyRule {
	if setting == "" {
		return definition.keys
	}
	rule, err := parseKey(setting)
	if err != nil {
		*problems = append(*problems, err)
	}
	return rule
}

func parseKey(setting string) ([]keyRule, error) {
	switch setting {
	case "none":
		return nil, nil
	case "body":
		return []keyRule{{kind: wholeBody, from: string(wholeBody)}}, nil
	}
	kind, name, _ := strings.Cut(setting, ":")
	switch place(kind) {
	case inHeader:
		if isHeaderName(name) {
			return []keyRule{header(name)}, nil
		}
		return nil, errors.New("key does not name a header")
	case inJSON:
		if name != "" && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".") && !strings.Contains(name, "..") {
			return []keyRule{member(name)}, nil
		}
		return nil, errors.New("key does not name a member")
	}
	return nil, errors.New("key is not header:NAME, json:path.to.id, body or none")
}

// isHeaderName reports whether text is a token (RFC 9110 section 5.6.2).
func isHeaderName(text string) bool {
	for _, c := range []byte(text) {
		alphanumeric := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alphanumeric && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return text != ""
}

// key reads the event's key by the first rule that finds one. An event without
// the id that its sender always gives is known by its bytes, so that a repeat of
// it is recognised all the same; so is one whose id header is there and empty.
func (v *Verifier) key(in *input) (key, from string) {
	expected := !v.scheme.optionalID
	for _, rule := range v.keys {
		expected = expected || rule.hasEmptyHeader(in)
		if found := rule.find(v.config.Source, in); found != "" {
			if rule.kind == signedID {
				return bounded(found), "header:" + in.idHeader
			}
			return bounded(found), rule.from
		}
	}
	if len(v.keys) > 0 && expected {
		return bodyDigest(v.config.Source, in.Body), string(wholeBody)
	}
	return "", ""
}

// bodyDigest is the key of an event that is known by its bytes.
func bodyDigest(source string, body []byte) string {
	sum := sha256.New()
	sum.Write([]byte(source + "\x00"))
	sum.Write(body)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// hasEmptyHeader reports whether a header of the rule is there without a value.
func (k keyRule) hasEmptyHeader(in *input) bool {
	return k.kind == inHeader && slices.ContainsFunc(k.names, func(name string) bool {
		values := in.Header[name]
		return len(values) == 1 && values[0] == ""
	})
}

func (k keyRule) find(source string, in *input) string {
	switch k.kind {
	case inHeader:
		return join(k.names, in.Header.Get)
	case inJSON:
		return k.inBody(in.json())
	case inForm:
		if form, _ := isForm(in); !form {
			return ""
		}
		values, err := url.ParseQuery(string(in.json()))
		if err != nil {
			return ""
		}
		return join(k.names, values.Get)
	case signedID:
		return in.id
	case wholeBody:
		return bodyDigest(source, in.Body)
	}
	return ""
}

// inBody reads a key from JSON. An array is a batch: its key is the keys of
// its elements in their order, joined by commas; an element without one
// leaves the batch without.
func (k keyRule) inBody(text []byte) string {
	text = skipSpace(trimBOM(text))
	if len(text) == 0 || text[0] != '[' || k.indexes() {
		return k.ofObject(text)
	}
	var keys []string
	whole := eachElement(text, func(_ int, element []byte) bool {
		key := k.ofObject(element)
		keys = append(keys, key)
		return key != ""
	})
	if !whole {
		return ""
	}
	return strings.Join(keys, ",")
}

// indexes reports that the path itself begins with an array's index.
func (k keyRule) indexes() bool {
	first, _, _ := strings.Cut(k.names[0], ".")
	return strings.Trim(first, "0123456789") == ""
}

func (k keyRule) ofObject(text []byte) string {
	return join(k.names, func(path string) string { return distinctText(jsonValue(text, path)) })
}

// distinctText is [scalar] for keys. What is no text (bytes that are not UTF-8,
// half a surrogate pair) would all become U+FFFD and so the same key: it is kept
// apart by its bytes, behind one that no text has.
func distinctText(value []byte) string {
	text := scalar(value)
	if strings.ContainsRune(text, utf8.RuneError) {
		return "\xff" + string(value)
	}
	return text
}

var escapeParts = strings.NewReplacer("%", "%25", ":", "%3A")

// join puts the parts of a key together; empty where one is missing.
func join(names []string, read func(name string) string) string {
	if len(names) == 1 {
		return read(names[0])
	}
	parts := make([]string, len(names))
	for i, name := range names {
		part := read(name)
		if part == "" {
			return ""
		}
		if i < len(names)-1 {
			part = escapeParts.Replace(part)
		}
		parts[i] = part
	}
	return strings.Join(parts, ":")
}

// isPlain reports valid UTF-8 without control characters.
func isPlain(text string) bool {
	ascii := true
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == 0x7f {
			return false
		} else if c >= utf8.RuneSelf {
			ascii = false
		}
	}
	return ascii || utf8.ValidString(text) && strings.IndexFunc(text, unicode.IsControl) < 0
}

// bounded replaces a key that is too long or not plain text by its digest.
func bounded(key string) string {
	if len(key) <= maxKey && isPlain(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

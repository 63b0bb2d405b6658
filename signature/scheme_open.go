package signature

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
)

// tokenSchemes show a shared secret with the request.
func tokenSchemes() []scheme {
	return []scheme{
		{
			name: "telegram", secret: sharedText,
			proofs: always(token{header: "X-Telegram-Bot-Api-Secret-Token"}),
			keys:   []keyRule{member("update_id")},
		},
		{
			name: "cloudevents", secret: sharedText, handshake: cloudEventsHandshake, options: true,
			proofs: always(token{header: "Authorization", auth: "Bearer"}, token{query: "access_token"}),
			keys:   []keyRule{header("ce-id", "ce-source"), member("id", "source")},
		},
	}
}

// openSchemes are those that belong to no sender.
func openSchemes() []scheme {
	return []scheme{
		openScheme(scheme{name: "hmac", secret: literalKey, proofs: hmacProofs, ping: wooPing}),
		openScheme(scheme{name: "token", secret: sharedText, proofs: tokenProofs}),
		openScheme(scheme{name: "basic", secret: credentials, proofs: always(token{header: "Authorization", auth: "Basic"})}),
		openScheme(scheme{name: "none", proofs: always(open{})}),
	}
}

// openScheme adds what is the same for all of them: their senders may give an
// Idempotency-Key, and make any of the known handshakes.
func openScheme(s scheme) scheme {
	s.keys, s.optionalID = []keyRule{header("Idempotency-Key")}, true
	s.handshake, s.challenge = openHandshake, openChallenge
	return s
}

// hmacProofs builds the configurable signature.
func hmacProofs(c Config) ([]proof, error) {
	var problems []error
	if !isHeaderName(c.HMAC.Header) {
		problems = append(problems, errors.New("the HMAC header is missing or not a header name"))
	}
	if c.HMAC.TimestampHeader != "" && !isHeaderName(c.HMAC.TimestampHeader) {
		problems = append(problems, errors.New("the HMAC timestamp header is not a header name"))
	}
	a := algorithm(cmp.Or(strings.ToLower(c.HMAC.Algorithm), string(sha256MAC)))
	if a.newHash() == nil {
		problems = append(problems, errors.New("the HMAC algorithm is not sha1, sha256, sha384 or sha512"))
	}
	e := encoding(cmp.Or(strings.ToLower(c.HMAC.Encoding), string(inHex)))
	if e != inHex && e != inBase64 {
		problems = append(problems, errors.New("the HMAC encoding is neither hex nor base64"))
	}
	content, err := parseTemplate(c.HMAC.Template)
	problems = append(problems, err)
	form, found := stampForms()[c.HMAC.TimestampForm]
	if !found {
		problems = append(problems, errors.New("the HMAC timestamp form is not auto, seconds, milliseconds or rfc3339"))
	}
	s := &signed{
		header: c.HMAC.Header, encoding: e, content: content,
		marks: []mark{{c.HMAC.Prefix, a}}, stamp: stampRule{header: c.HMAC.TimestampHeader, form: form},
	}
	if c.HMAC.Items != "" {
		problems = append(problems, s.list(c.HMAC, a))
	}
	problems = append(problems, s.checkParts(c))
	return []proof{s}, errors.Join(problems...)
}

// checkParts holds the template and the headers that it needs together.
func (s *signed) checkParts(c Config) error {
	if s.content.uses(partTimestamp) != s.stamp.exists() {
		return errors.New("the HMAC template's {timestamp} and the timestamp's header or item need each other")
	}
	if !s.content.uses(partID) {
		return nil
	}
	name, found := strings.CutPrefix(cmp.Or(c.Key, "header:Idempotency-Key"), "header:")
	if !found || !isHeaderName(name) {
		return errors.New("the HMAC template's {id} needs a key of the form header:NAME")
	}
	s.idHeader = name
	return nil
}

// tokenProofs reads the setting TOKEN_IN.
func tokenProofs(c Config) ([]proof, error) {
	kind, name, _ := strings.Cut(cmp.Or(c.TokenIn, "bearer"), ":")
	switch {
	case kind == "bearer" && name == "":
		return []proof{token{header: "Authorization", auth: "Bearer"}}, nil
	case kind == "header" && isHeaderName(name):
		return []proof{token{header: http.CanonicalHeaderKey(name)}}, nil
	case kind == "query" && name != "":
		return []proof{token{query: name}}, nil
	}
	return nil, errors.New("token in is not bearer, header:NAME or query:NAME")
}

// stampForms are the values of the setting HMAC_TIMESTAMP_FORM.
func stampForms() map[string]stampForm {
	return map[string]stampForm{
		"": anyForm, "auto": anyForm, "seconds": seconds, "milliseconds": millis, "rfc3339": rfc3339,
	}
}

// partSignature stands for the signature in the setting HMAC_ITEMS.
const partSignature = "{signature}"

// list makes the header a list of named items, as the setting HMAC_ITEMS
// describes it.
func (s *signed) list(h HMAC, a algorithm) error {
	if h.Prefix != "" {
		return errors.New("the HMAC items name the signature: a prefix has no meaning beside them")
	}
	s.separator, s.spaced, s.marks = ",", true, nil
	if strings.Contains(h.Items, ";") {
		s.separator = ";"
	}
	for item := range strings.SplitSeq(h.Items, s.separator) {
		item = strings.TrimSpace(item)
		if name, found := strings.CutSuffix(item, partSignature); found && isItemName(name) {
			s.marks = append(s.marks, mark{name, a})
			continue
		}
		name, found := strings.CutSuffix(item, partTimestamp)
		if !found || !isItemName(name) || s.stamp.exists() {
			return errors.New("the HMAC items are not of the form t={timestamp},v1={signature}, with one timestamp at most and not also a header for it")
		}
		s.stamp.item = name
	}
	if len(s.marks) == 0 {
		return errors.New("the HMAC items lack a {signature}")
	}
	return nil
}

// isItemName reports whether text can stand before an item's value.
func isItemName(text string) bool {
	return text != "" && !strings.ContainsAny(text, "{} ,;")
}

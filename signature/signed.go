package signature

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"
)

const (
	// maxSignatures is how many signatures of one header are looked at.
	maxSignatures = 10
	// maxEntries bounds the entries of a list, known and unknown.
	maxEntries = 100
)

// signed is a signature in a header, over a template of the request.
type signed struct {
	// header is in canonical form, as are the timestamp's and chooser.
	header string
	// separator stands between the entries of the header's value; empty
	// where the value is one signature.
	separator string
	// spaced says that white space may stand around the entries.
	spaced   bool
	marks    []mark
	encoding encoding
	content  template
	idHeader string
	stamp    stampRule
	// urls gives the forms of the address that a sender may have signed; nil
	// is the address as it is.
	urls func(url string) []string
	// choose picks the marks by the request's headers; nil is all of them.
	choose func(header http.Header, marks []mark) []mark
	// chooser names the header that choose looks at.
	chooser string
}

func (s *signed) takes(kind secretKind) bool {
	for _, m := range s.marks {
		if m.algorithm.kind() == kind {
			return true
		}
	}
	return false
}

func (s *signed) needsURL() bool { return s.content.uses(partURL) }

func (s *signed) headers() []string {
	return []string{s.header, s.idHeader, s.stamp.header, s.chooser}
}

func (s *signed) present(in *input) bool {
	return len(in.Header[s.header]) > 0
}

func (s *signed) missing() string { return "no signature header " + s.header }

// candidate is one signature of the header, decoded.
type candidate struct {
	algorithm algorithm
	raw       []byte
}

func (s *signed) check(v *Verifier, in *input, now time.Time) (int, *refusal) {
	candidates, refused := s.read(in)
	if refused != nil {
		return -1, refused
	}
	if refused := s.stamp.find(in); refused != nil {
		return -1, refused
	}
	place, refused := s.match(v, in, candidates)
	if refused != nil {
		return -1, refused
	}
	return place, s.stamp.fresh(in, now, v.config.Tolerance)
}

// read takes the header apart and finds the texts that are signed with it.
func (s *signed) read(in *input) ([]candidate, *refusal) {
	value := in.Header.Get(s.header)
	if value == "" {
		return nil, bad("header " + s.header + " is empty")
	}
	if s.idHeader != "" {
		if in.id = in.Header.Get(s.idHeader); in.id == "" {
			return nil, bad("no header " + s.idHeader)
		}
		in.idHeader = s.idHeader
	}
	candidates, refused := s.candidates(in, value)
	if refused == nil && len(candidates) == 0 {
		refused = bad("header " + s.header + " has no signature of a known form")
	}
	return candidates, refused
}

// candidates decodes the entries of the header's value. What is unknown or
// cannot be decoded is passed over.
func (s *signed) candidates(in *input, value string) ([]candidate, *refusal) {
	marks := s.marks
	if s.choose != nil {
		marks = s.choose(in.Header, marks)
	}
	found := make([]candidate, 0, 1)
	looked := 0
	for seen, more := 0, true; more && seen < maxEntries && looked < maxSignatures; seen++ {
		var entry string
		entry, value, more = s.cut(value)
		if text, isStamp := s.stamp.entry(entry); isStamp {
			if in.stamp != "" {
				return nil, malformed("header " + s.header + " has two timestamps")
			}
			in.stamp = text
			continue
		}
		text, algorithm := known(marks, entry)
		if algorithm == "" {
			continue
		}
		looked++
		if raw, err := s.encoding.decode(text); err == nil && len(raw) > 0 {
			found = append(found, candidate{algorithm, raw})
		}
	}
	return found, nil
}

// cut takes the first entry off a list; what is no list is one entry.
func (s *signed) cut(value string) (entry, rest string, more bool) {
	if s.separator == "" {
		return value, "", false
	}
	entry, rest, more = strings.Cut(value, s.separator)
	if s.spaced {
		entry = strings.TrimSpace(entry)
	}
	return entry, rest, more
}

// known finds the mark that an entry begins with, and the text behind it.
func known(marks []mark, entry string) (string, algorithm) {
	for _, m := range marks {
		if text, found := strings.CutPrefix(entry, m.prefix); found {
			return text, m.algorithm
		}
	}
	return "", ""
}

// match tries every secret on every candidate, the current secret first. It
// leaves in the input the form of the address that was signed.
func (s *signed) match(v *Verifier, in *input, candidates []candidate) (int, *refusal) {
	addresses := s.addresses(in.url)
	for _, key := range v.secrets {
		for _, address := range addresses {
			in.url = address
			matched, refused := s.matches(in, key, candidates)
			if refused != nil {
				return -1, refused
			}
			if matched {
				return key.place, nil
			}
		}
	}
	return -1, bad("wrong secret or altered request")
}

func (s *signed) addresses(url string) []string {
	if s.urls == nil {
		return []string{url}
	}
	return s.urls(url)
}

// matches tries one secret on the candidates. The HMAC is made once for each
// algorithm, not for each candidate.
func (s *signed) matches(in *input, key secret, candidates []candidate) (bool, *refusal) {
	var last algorithm
	var sum []byte
	matched := false
	for _, c := range candidates {
		if c.algorithm.kind() != key.kind {
			continue
		}
		if c.algorithm != last {
			made, refused := s.content.digest(in, key, c.algorithm)
			if refused != nil {
				return false, refused
			}
			last, sum = c.algorithm, made
		}
		switch c.algorithm {
		case ed25519ID:
			matched = matched || ed25519.Verify(key.key, sum, c.raw)
		case ecdsaP256:
			matched = matched || ecdsa.VerifyASN1(key.public, sum, c.raw)
		default:
			matched = subtle.ConstantTimeCompare(sum, c.raw) == 1 || matched
		}
	}
	return matched, nil
}

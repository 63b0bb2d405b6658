package signature

import (
	"net/http"
	"time"
)

// SignAge is the age of the sender's signed time from which [Verifier.Renew]
// signs anew. A first, quick delivery is younger and keeps the sender's own
// signature. It is far below the least tolerance of the senders' own libraries
// (Paddle's: 5 s).
const SignAge = 2 * time.Second

// Renew signs a stored request anew where the sender's signed time is [SignAge]
// old or older: by the same scheme, under the same names, with the current
// secret, the time now, the same id and body. The senders' own libraries refuse
// what was signed minutes ago, and a delivery may be hours late. It returns the
// fields to replace, in canonical form; none where the request should go on as
// it came. It changes nothing itself.
//
// Only what one of the configured secrets verifies is signed again, however old
// it is: what a withdrawn secret signed, or what was stored while the source
// took unsigned requests, is never given a signature that it did not have.
//
// A scheme that signs the address (hubspot) is signed for the address that the
// sender called, which is the public URL, as the sender's own signature is: the
// application verifies both with the same one. The query of an address is not
// stored, so a signature that covers one stays as it is.
//
// It returns nothing where the scheme signs no time in a header, or where only
// the sender's public key is known: see [Verifier.Renewal].
func (v *Verifier) Renew(header http.Header, body []byte, now time.Time) http.Header {
	var fresh http.Header
	for _, p := range v.proofs {
		s, isSigned := p.(*signed)
		if !isSigned || !v.canRenew(s) || len(header[s.header]) == 0 {
			continue
		}
		for name, values := range v.renew(s, Request{Method: http.MethodPost, Header: header, Body: body}, now) {
			if fresh == nil {
				fresh = http.Header{}
			}
			fresh[name] = values
		}
	}
	return fresh
}

// Renewal says whether the signatures of a source can be renewed.
type Renewal int

const (
	// RenewalUnneeded means that the scheme signs no time, so that no signature
	// of it ages.
	RenewalUnneeded Renewal = iota
	// RenewalPossible means that [Verifier.Renew] signs anew.
	RenewalPossible
	// RenewalImpossible means that a time is signed which cannot be replaced: it
	// is in the body, or the source knows only the sender's public key.
	RenewalImpossible
)

// Renewal tells whether signatures of this source age, and whether they can be
// renewed with its current secret.
func (v *Verifier) Renewal() Renewal {
	renewal := RenewalUnneeded
	for _, p := range v.proofs {
		s, isSigned := p.(*signed)
		switch {
		case p == proof(mailgunProof{}):
			renewal = RenewalImpossible
		case !isSigned || !s.stamp.exists():
		case v.canRenew(s):
			return RenewalPossible
		default:
			renewal = RenewalImpossible
		}
	}
	return renewal
}

// canRenew reports whether a time outside the body is signed with a key that
// the source has.
func (v *Verifier) canRenew(s *signed) bool {
	if s.stamp.header == "" && s.stamp.item == "" || len(v.secrets) == 0 {
		return false
	}
	return s.takes(v.secrets[0].kind) && v.secrets[0].canSign()
}

// renew returns the fields of one signature, made anew; none where the
// sender's own is young or is not right.
func (v *Verifier) renew(s *signed, r Request, now time.Time) http.Header {
	for _, r.Target = range v.targets(s) {
		in, refused := v.open(r)
		if refused != nil {
			return nil
		}
		candidates, refused := s.read(in)
		if refused != nil || s.stamp.find(in) != nil {
			return nil
		}
		at, ok := s.stamp.form.parse(in.stamp)
		if !ok || now.Sub(at) < SignAge {
			return nil
		}
		if _, refused := s.match(v, in, candidates); refused == nil {
			return s.resign(in, v.secrets[0], now)
		}
	}
	return nil
}

// targets returns the request targets that the sender may have called. Only
// schemes that sign the address look at them.
func (v *Verifier) targets(s *signed) []string {
	path := "/hooks/" + v.config.Source
	if !s.needsURL() {
		return []string{path}
	}
	return []string{path, path + "/"}
}

// resign makes the signature of a verified request and its time anew, for the
// form of the address that the sender was found to have signed.
func (s *signed) resign(in *input, key secret, now time.Time) http.Header {
	once, renewed := *s, *in
	once.urls = func(address string) []string { return []string{address} }
	renewed.Header = in.Header.Clone()
	if once.sign(&renewed, key, now) != nil {
		return nil
	}
	fresh := http.Header{}
	for _, name := range []string{s.header, s.stamp.header} {
		if name != "" {
			fresh[name] = renewed.Header[name]
		}
	}
	return fresh
}

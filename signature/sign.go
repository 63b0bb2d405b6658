package signature

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Sign returns the request as the sender would make it at the time now: with
// its id and event headers, where the request has none of its own, and signed
// with the current secret. The id is used where the sender puts its own id
// into a header.
//
// Errors: [ErrPublicKey] where only the sender's public key is known.
func (v *Verifier) Sign(r Request, id string, now time.Time) (Request, error) {
	if r.Header = r.Header.Clone(); r.Header == nil {
		r.Header = http.Header{}
	}
	v.addHeaders(r.Header, id, now)
	in := &input{Request: r, signed: r.Body, maxBody: v.config.MaxBody}
	if v.config.SignedBody == SignedDecoded {
		plain, err := decode(r, v.config.MaxBody)
		if err != nil {
			return Request{}, err
		}
		in.signed = plain
	}
	in.url = v.publicURL(r.Target)
	var current secret
	if len(v.secrets) > 0 {
		current = v.secrets[0]
	}
	for _, p := range v.proofs {
		if p.takes(current.kind) {
			err := p.sign(in, current, now)
			return in.Request, err
		}
	}
	return Request{}, errors.New("the current secret cannot sign")
}

// addHeaders adds what the sender sends beside the signature.
func (v *Verifier) addHeaders(header http.Header, id string, now time.Time) {
	setMissing := func(name, value string) {
		if header.Get(name) == "" {
			header.Set(name, value)
		}
	}
	fill := filler(id, now)
	for name, value := range sampleOf(v.scheme.name).headers {
		setMissing(name, fill(value))
	}
	for _, p := range v.proofs {
		if s, isSigned := p.(*signed); isSigned && s.idHeader != "" && len(v.secrets) > 0 && p.takes(v.secrets[0].kind) {
			setMissing(s.idHeader, id)
			break
		}
	}
	if len(v.keys) > 0 && v.keys[0].kind == inHeader && len(v.keys[0].names) == 1 {
		setMissing(v.keys[0].names[0], id)
	}
}

// ErrPublicKey says that a request cannot be signed because the source holds
// only the sender's public key.
var ErrPublicKey = errors.New("the source holds a public key: only its owner can sign")

func (s *signed) sign(in *input, key secret, now time.Time) error {
	m, found := s.markFor(in, key)
	if !found {
		return errors.New("the current secret cannot make this kind of signature")
	}
	s.stamp.set(in, now)
	if s.idHeader != "" {
		in.id = in.Header.Get(s.idHeader)
	}
	in.url = s.addresses(in.url)[0]
	sum, refused := s.content.digest(in, key, m.algorithm)
	if refused != nil {
		return errors.New(refused.reason)
	}
	switch {
	case !key.canSign():
		return ErrPublicKey
	case m.algorithm == ed25519ID:
		sum = ed25519.Sign(key.private, sum)
	case m.algorithm == ecdsaP256:
		var err error
		if sum, err = ecdsa.SignASN1(rand.Reader, key.owner, sum); err != nil {
			return fmt.Errorf("signing by ECDSA: %w", err)
		}
	}
	value := m.prefix + s.encoding.encode(sum)
	if s.stamp.item != "" {
		value = s.stamp.item + in.stamp + s.separator + value
	}
	in.Header.Set(s.header, value)
	return nil
}

func (s *signed) markFor(in *input, key secret) (mark, bool) {
	marks := s.marks
	if s.choose != nil {
		marks = s.choose(in.Header, marks)
	}
	for _, m := range marks {
		if m.algorithm.kind() == key.kind {
			return m, true
		}
	}
	return mark{}, false
}

// Package signature turns a raw request, the secrets of its source and the
// time into a verdict: a verified event with its key, the answer to a
// handshake, or a refusal with its reason.
//
// # Guarantees
//
// Nothing is accepted unless the received bytes were proven to come from
// somebody who holds a configured secret (the scheme none aside). Nothing in a
// body is read before that. No reason and no error has the value of a secret, a
// header or a body in it. The package does no I/O, reads no clock, and imports
// the standard library only.
//
// # Vocabulary
//
//   - A scheme is how one kind of sender signs. The table in scheme.go has all
//     of them as data over a few mechanisms.
//   - A proof is one way in which a request shows who sent it: a signature in
//     a header over a template of the request, a shared token, or nothing. A
//     scheme with several takes the first that the request shows; there is no
//     second try with a weaker one.
//   - A mark is the text before a signature that names its algorithm. An
//     algorithm works only with secrets of its own kind, so a public key is
//     never used as an HMAC key.
//   - The key is the sender's own id for the event.
//
// # Rules
//
//   - Headers with a single signature, timestamp, token or id appear once, and
//     but for the id are not empty. Lists inside one value may have several signatures, of
//     which ten are looked at.
//   - Hex in either case and padded standard base64, without anything between.
//   - Timestamps are plain digits (RFC 3339 for Twitch, any of these for hmac).
//     The text itself is what is signed. They may be off by the tolerance, both ways, and are
//     compared only after the signature was found right.
//   - Keys in JSON: of a name that appears twice the last member counts,
//     numbers are kept as written, an array is a batch whose key is made of the
//     keys of its elements. A compressed body is inflated for this, within the
//     bound for bodies; what is stored remains the bytes on the wire.
//   - An event without the id that its sender always gives is known by the digest
//     of source and body.
//   - Signatures whose time has aged are made anew for each attempt, where the
//     secret is shared and the time is in a header: [Verifier.Renew].
//   - Headers that hops add (X-Request-Id, traceparent, Date) are never a key.
//
// # Example
//
//	v, err := signature.New(signature.Config{
//		Scheme:  "github",
//		Source:  "github",
//		Secrets: []string{current, previous},
//	})
//	…
//	verdict := v.Verify(signature.Request{
//		Method: r.Method, Target: r.RequestURI, Header: r.Header, Body: body,
//	}, time.Now())
//	if verdict.Result == webhook.ResultAccepted {
//		store(verdict.Key, body)
//	}
package signature

package signature

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/webhook"
)

// Request is one request as it was received.
type Request struct {
	Method string
	// Target is the request target exactly as sent: path and query, as in
	// [http.Request.RequestURI].
	Target string
	Header http.Header
	// Body is exactly the bytes that came over the wire.
	Body []byte
	// Reserve is called before memory is taken for n bytes of an inflated body;
	// false refuses the request with ResultUnavailable. Nil always reserves.
	Reserve func(n int64) bool
}

// Verdict is what a verifier makes of a request.
type Verdict struct {
	// Result is ResultAccepted, ResultChallenge, or why the request is
	// refused: ResultBadSignature, ResultStale, ResultMalformed,
	// ResultTooLarge, ResultUnsupported, or ResultUnavailable where Reserve
	// had no room.
	Result webhook.Result
	// Reason is a short phrase that an operator can act on; it has no value
	// of any header in it. Empty when the request is accepted.
	Reason string
	// Key is the sender's own id for the event, read after verification.
	// Empty when the sender gives none. A key that is longer than [maxKey]
	// bytes, is not UTF-8 or has control characters is replaced by "sha256:"
	// and its digest in hex.
	Key string
	// KeyFrom says where the key was read: "header:X-GitHub-Delivery",
	// "json:id", "form:MessageSid", "body"; empty without a key.
	KeyFrom string
	// Type is the sender's own word for what has happened: "push". Empty where
	// there is none of at most 128 bytes of plain text.
	Type string
	// Secret is the place of the secret that matched: 0 is the current one.
	// -1 when none matched, or the scheme has none.
	Secret int
	// Challenge is the answer to a handshake: nothing is stored. A refused
	// handshake may have one too.
	Challenge *Challenge
	// Alert is a sentence for the operator, where the event itself needs a
	// person: a subscription was revoked. The event is accepted like any other.
	Alert string
}

// Challenge is the answer that a sender's handshake expects.
type Challenge struct {
	Status int
	Header http.Header
	Body   []byte
}

// refusal says why a request is not accepted; nil is no refusal.
type refusal struct {
	result webhook.Result
	reason string
}

func bad(reason string) *refusal { return &refusal{webhook.ResultBadSignature, reason} }

func malformed(reason string) *refusal { return &refusal{webhook.ResultMalformed, reason} }

func (r *refusal) verdict() Verdict {
	return Verdict{Result: r.result, Reason: r.reason, Secret: -1}
}

// input is a request on its way through a check.
type input struct {
	Request
	// signed is the body that the signature covers: the wire's, or inflated.
	signed []byte
	// url is the address as the sender saw it.
	url string
	// id and stamp are the texts of the signed id and timestamp.
	id       string
	idHeader string
	stamp    string
	// plain is the inflated body, made when a key is read.
	plain     []byte
	plainDone bool
	// noRoom is set when there was no room for plain.
	noRoom  bool
	maxBody int64
	// fields is what a form gives to the signed content, made once.
	fields     string
	fieldsBad  *refusal
	fieldsDone bool
}

// Verify checks a POST request at the time now. The signature is checked over
// the received bytes; only then are timestamp, handshake and key looked at.
func (v *Verifier) Verify(r Request, now time.Time) Verdict {
	in, refused := v.open(r)
	if refused != nil {
		return refused.verdict()
	}
	if answer := v.pinged(in); answer != nil {
		return Verdict{Result: webhook.ResultChallenge, Secret: -1, Challenge: answer}
	}
	secret, refused := v.prove(in, now)
	if in.noRoom {
		refused = decodeRefusal(errNoRoom)
	}
	if refused != nil {
		return refused.verdict()
	}
	if v.scheme.challenge != nil {
		if answer := v.scheme.challenge(v, in, secret); answer != nil {
			return Verdict{Result: webhook.ResultChallenge, Secret: secret, Challenge: answer}
		}
	}
	verdict := Verdict{Result: webhook.ResultAccepted, Secret: secret}
	verdict.Key, verdict.KeyFrom = v.key(in)
	if in.noRoom {
		return decodeRefusal(errNoRoom).verdict()
	}
	verdict.Type = v.eventType(in)
	if v.scheme.alert != nil {
		verdict.Alert = v.scheme.alert(in)
	}
	return verdict
}

// open refuses doubled headers and inflates the body where that is what is
// signed.
func (v *Verifier) open(r Request) (*input, *refusal) {
	for _, name := range v.singles {
		if len(r.Header[name]) > 1 {
			return nil, malformed("header " + name + " appears more than once")
		}
	}
	in := &input{Request: r, signed: r.Body, maxBody: v.config.MaxBody}
	if v.config.SignedBody == SignedDecoded {
		plain, err := decode(r, v.config.MaxBody)
		if err != nil {
			return nil, decodeRefusal(err)
		}
		in.signed, in.plain, in.plainDone = plain, plain, true
	}
	if v.signsURL {
		in.url = v.publicURL(r.Target)
	}
	return in, nil
}

// pinged answers a request that shows no proof and is the sender's ping.
func (v *Verifier) pinged(in *input) *Challenge {
	if v.scheme.ping == nil || slices.ContainsFunc(v.proofs, func(p proof) bool { return p.present(in) }) {
		return nil
	}
	return v.scheme.ping(v, in)
}

// prove finds the way in that the request takes and walks it. A request that
// shows none is refused; it never falls back to a weaker one.
func (v *Verifier) prove(in *input, now time.Time) (int, *refusal) {
	for _, p := range v.proofs {
		if p.present(in) {
			return p.check(v, in, now)
		}
	}
	if len(v.proofs) == 0 {
		return -1, bad("no usable secret is configured")
	}
	return -1, bad(v.proofs[0].missing())
}

// publicURL is the address that the sender saw, for a request target.
func (v *Verifier) publicURL(target string) string {
	if v.config.PublicURL == "" {
		return ""
	}
	if _, rest, absolute := strings.Cut(target, "://"); absolute && !strings.HasPrefix(target, "/") {
		_, path, _ := strings.Cut(rest, "/")
		target = "/" + path
	}
	return v.config.PublicURL + target
}

// canonical returns the names in canonical form, each once.
func canonical(names []string) []string {
	var out []string
	for _, name := range names {
		name = http.CanonicalHeaderKey(name)
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

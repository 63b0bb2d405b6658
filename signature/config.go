package signature

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/webhook"
)

// The bounds and defaults of a [Config].
const (
	// defaultTolerance is how far a signed timestamp may be from now, both
	// ways, where the configuration says nothing.
	defaultTolerance = 5 * time.Minute
	// defaultMaxBody bounds an inflated body, in bytes, where the
	// configuration says nothing.
	defaultMaxBody = 1 << 20
	// maxKey is the longest key in bytes that is kept as it is. See
	// [Verdict.Key].
	maxKey = 256
	// maxChallenge is the longest challenge in bytes that is answered.
	maxChallenge = 4096
)

// The values of [Config.SignedBody].
const (
	// SignedWire says that the bytes on the wire are what is signed.
	SignedWire = "wire"
	// SignedDecoded says that the bytes before gzip are what is signed.
	SignedDecoded = "decoded"
)

// Config describes one source. Its zero members have the defaults named here.
type Config struct {
	// Scheme is one of [Schemes].
	Scheme string
	// Source names the source; it is part of the key "body".
	Source string
	// Secrets are accepted alike, the current one first. White space around
	// them is not part of them.
	Secrets []string
	// Key is the setting KEY: "header:NAME", "json:path.to.id", "body",
	// "none", or empty for the scheme's own.
	Key string
	// Type is the setting TYPE: "header:NAME", "json:path.to.type", "none", or
	// empty for the scheme's own.
	Type string
	// Tolerance of signed timestamps, both ways; 0 is [DefaultTolerance].
	Tolerance time.Duration
	// SignedBody is [SignedWire] (also when empty) or [SignedDecoded].
	SignedBody string
	// MaxBody bounds an inflated body in bytes; 0 is [DefaultMaxBody].
	MaxBody int64
	// VerifyToken answers the GET handshake of meta.
	VerifyToken string
	// PublicURL is the scheme, host and path prefix under which senders
	// reach this service. Schemes that sign the URL need it.
	PublicURL string
	// HMAC describes the signature of the scheme hmac.
	HMAC HMAC
	// TokenIn says where the scheme token looks: "bearer" (also when empty),
	// "header:NAME" or "query:NAME".
	TokenIn string
	// AllowedRate is told to CloudEvents senders, in requests per minute;
	// 0 tells them that there is no limit.
	AllowedRate int
}

// HMAC describes the signature of the configurable scheme.
type HMAC struct {
	// Header has the signature.
	Header string
	// Algorithm is sha1, sha256 (also when empty), sha384 or sha512.
	Algorithm string
	// Encoding is hex (also when empty) or base64.
	Encoding string
	// Prefix stands before the signature in the header: "sha256=".
	Prefix string
	// TimestampHeader has the time of signing; empty when the sender gives none
	// there.
	TimestampHeader string
	// TimestampForm is how the time is written: seconds or milliseconds (of the
	// Unix epoch), rfc3339, or auto (also when empty): whichever of these it
	// looks like.
	TimestampForm string
	// Items describes a header that is a list of named items:
	// "t={timestamp},v1={signature}". What stands between the items separates
	// them; one of them may be repeated, and unknown ones are passed over. Empty
	// where the header is one signature.
	Items string
	// KeyEncoding is how the secret is written: text (also when empty), base64
	// or hex.
	KeyEncoding string
	// Template is what is signed: text with the parts {timestamp}, {id},
	// {method}, {url} and {body}. Empty is {body}.
	Template string
}

// Verifier checks the requests of one source. It does not change and may be
// used by many goroutines at once.
type Verifier struct {
	config Config
	scheme scheme
	// all are the ways of the scheme, proofs those that the secrets can open.
	all     []proof
	proofs  []proof
	secrets []secret
	keys    []keyRule
	types   []keyRule
	// singles are the headers that may not be doubled.
	singles  []string
	signsURL bool
}

// New checks a configuration and returns its verifier. The error names every
// problem, one a line, and no value that could be a secret.
func New(config Config) (*Verifier, error) {
	config = config.withDefaults()
	definition, found := find(config.Scheme)
	if !found {
		return nil, fmt.Errorf("unknown scheme %q", config.Scheme)
	}
	v := &Verifier{config: config, scheme: definition}
	problems := []error{config.check()}
	if definition.name == "hmac" {
		definition.secret = encodedKey(config.HMAC.KeyEncoding)
	}
	v.secrets = readSecrets(definition, config.Secrets, &problems)
	v.all = proofsFor(definition, config, &problems)
	v.proofs = openable(v.all, v.secrets)
	v.keys = keysFor(definition, config.Key, &problems)
	v.types = typesFor(definition, config.Type, &problems)
	problems = append(problems, v.checkKeys())
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	v.singles = v.singleValued()
	v.signsURL = slices.ContainsFunc(v.proofs, proof.needsURL)
	return v, nil
}

func (c Config) withDefaults() Config {
	if c.Tolerance == 0 {
		c.Tolerance = defaultTolerance
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.SignedBody == "" {
		c.SignedBody = SignedWire
	}
	c.VerifyToken = strings.TrimSpace(c.VerifyToken)
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	return c
}

// check looks at the members that do not depend on the scheme.
func (c Config) check() error {
	var problems []error
	if c.Tolerance < 0 {
		problems = append(problems, errors.New("tolerance is negative"))
	}
	if c.MaxBody < 0 {
		problems = append(problems, errors.New("max body is negative"))
	}
	if c.AllowedRate < 0 {
		problems = append(problems, errors.New("allowed rate is negative"))
	}
	if c.SignedBody != SignedWire && c.SignedBody != SignedDecoded {
		problems = append(problems, errors.New("signed body is neither wire nor decoded"))
	}
	if c.PublicURL != "" && !isPublicURL(c.PublicURL) {
		problems = append(problems, errors.New("public URL is not an http or https URL with a host and without a query"))
	}
	return errors.Join(problems...)
}

func isPublicURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Host != "" && !strings.ContainsAny(text, "?#")
}

// checkKeys refuses a key that would be a secret: keys are shown.
func (v *Verifier) checkKeys() error {
	secret := append(v.TokenHeaders(), "Authorization", "Proxy-Authorization", "Cookie")
	for _, rule := range v.keys {
		for _, name := range rule.names {
			if rule.kind == inHeader && slices.Contains(secret, name) {
				return errors.New("key names a header that holds a secret")
			}
		}
	}
	return nil
}

// proofsFor returns the ways in that the scheme has.
func proofsFor(definition scheme, config Config, problems *[]error) []proof {
	all, err := definition.proofs(config)
	if err != nil {
		*problems = append(*problems, err)
		return nil
	}
	for _, p := range all {
		if s, isSigned := p.(*signed); isSigned {
			s.header = http.CanonicalHeaderKey(s.header)
			s.stamp.header = http.CanonicalHeaderKey(s.stamp.header)
		}
		if p.needsURL() && config.PublicURL == "" {
			*problems = append(*problems, fmt.Errorf("scheme %s signs the URL: the public URL is needed", definition.name))
		}
	}
	return all
}

// openable returns the ways in that the configured secrets can open.
func openable(all []proof, secrets []secret) []proof {
	var usable []proof
	for _, p := range all {
		opens := func(s secret) bool { return p.takes(s.kind) }
		if p.takes(noSecret) || slices.ContainsFunc(secrets, opens) {
			usable = append(usable, p)
		}
	}
	return usable
}

// singleValued lists the headers that may not be doubled.
func (v *Verifier) singleValued() []string {
	var names []string
	for _, p := range v.proofs {
		names = append(names, p.headers()...)
	}
	for _, rule := range v.keys {
		if rule.kind == inHeader {
			names = append(names, rule.names...)
		}
	}
	return canonical(names)
}

// DefaultOnConflict is the scheme's own answer to a known key with other
// bytes: refused where the key is an Idempotency-Key, ignored for senders
// whose retries change bytes (Stripe, HubSpot), kept elsewhere.
func (v *Verifier) DefaultOnConflict() webhook.OnConflict {
	for _, rule := range v.keys {
		if rule.kind == inHeader && strings.EqualFold(rule.names[0], "Idempotency-Key") {
			return webhook.RejectConflict
		}
	}
	if v.scheme.unstable {
		return webhook.IgnoreConflict
	}
	return webhook.KeepConflict
}

// KeyPlaces names the places where a key is looked for, in their order and in
// the words of [Verdict.KeyFrom]; none where repeats cannot be recognised.
func (v *Verifier) KeyPlaces() []string {
	var places []string
	for _, rule := range v.keys {
		if rule.kind != signedID {
			places = append(places, rule.from)
			continue
		}
		for _, p := range v.proofs {
			if s, isSigned := p.(*signed); isSigned && s.idHeader != "" {
				places = append(places, "header:"+s.idHeader)
			}
		}
	}
	return places
}

// Unsigned reports that every request passes: the scheme none.
func (v *Verifier) Unsigned() bool { return v.scheme.name == "none" }

// TokenHeaders names the request headers that hold a secret itself, in
// canonical form: also of ways that are not configured, because the sender may
// show its token all the same. They must never be stored, logged or forwarded.
func (v *Verifier) TokenHeaders() []string {
	var names []string
	for _, p := range v.all {
		if t, isToken := p.(token); isToken && t.header != "" {
			names = append(names, t.header)
		}
	}
	return canonical(names)
}

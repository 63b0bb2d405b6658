package config

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"weir/signature"
)

// Source holds the settings of one source, prefix WEIR_SOURCE_<NAME>_. [Load]
// fills in Scheme and MaxBody where they are unset; Key and OnConflict stay
// empty where the scheme decides them.
type Source struct {
	// Name is the name in WEIR_SOURCES.
	Name string `ignored:"true"`

	Scheme              choice       `split_words:"true" unset:"the name, when it is a scheme" desc:"how requests are verified: the name of a provider, or hmac, token, basic; none accepts unsigned requests and must be written out"`
	Secret              secret       `split_words:"true" unset:"required, except by none" secret:"true" desc:"secret that is shared with the sender; user:password for basic"`
	SecretPrevious      secret       `split_words:"true" unset:"–" secret:"true" desc:"previous secret, still accepted while the sender changes to the new one"`
	Key                 keyPlace     `split_words:"true" unset:"by scheme" desc:"where the sender puts its id of the event: header:NAME, json:path.to.id, body (the digest of the body is the id), none"`
	Type                typePlace    `split_words:"true" unset:"by scheme" desc:"where the event's type is: header:NAME, json:path.to.type, none"`
	OnConflict          choice       `split_words:"true" unset:"by scheme" oneof:"reject|keep|ignore" desc:"what to do with the same id and another body: reject answers 422, keep stores it as an event of its own, ignore drops it as a repeat"`
	Tolerance           Duration     `split_words:"true" default:"5m" min:"1ms" max:"876000h" desc:"how far a signed timestamp may be in the past or in the future"`
	Rate                Rates        `split_words:"true" default:"3000/1m" desc:"cap of new events; further ones are answered 429. With the scheme none, the cap of each client address"`
	MaxBody             ByteSize     `split_words:"true" unset:"WEIR_MAX_BODY" min:"1B" max:"25MiB" desc:"largest body that is received"`
	SignedBody          choice       `split_words:"true" default:"wire" oneof:"wire|decoded" desc:"whether the signature covers the body as it is sent (wire), or as it was before compression (decoded)"`
	VerifyToken         secret       `split_words:"true" scheme:"meta|hmac|token|basic|none" unset:"–" secret:"true" desc:"for meta, and for senders that do the same under hmac, token, basic or none: token of the handshake"`
	HMACHeader          headerName   `split_words:"true" scheme:"hmac" unset:"required by hmac" desc:"for hmac: header that holds the signature"`
	HMACAlgorithm       choice       `split_words:"true" scheme:"hmac" default:"sha256" oneof:"sha256|sha512|sha384|sha1" desc:"for hmac: the hash function"`
	HMACEncoding        choice       `split_words:"true" scheme:"hmac" default:"hex" oneof:"hex|base64" desc:"for hmac: how the signature is written"`
	HMACPrefix          text         `split_words:"true" scheme:"hmac" unset:"–" raw:"true" desc:"for hmac: text before the signature in its header, such as sha256="`
	HMACTimestampHeader headerName   `split_words:"true" scheme:"hmac" unset:"–" desc:"for hmac: header that holds the timestamp"`
	HMACTimestampForm   choice       `split_words:"true" scheme:"hmac" default:"auto" oneof:"auto|seconds|milliseconds|rfc3339" desc:"for hmac: how the timestamp is written: in seconds or milliseconds since 1970, or by RFC 3339; auto recognises it"`
	HMACItems           text         `split_words:"true" scheme:"hmac" unset:"–" desc:"for hmac: the named items of a header that is a list, such as t={timestamp},v1={signature}"`
	HMACKeyEncoding     choice       `split_words:"true" scheme:"hmac" default:"text" oneof:"text|base64|hex" desc:"for hmac: how the secret is written"`
	HMACTemplate        hmacTemplate `split_words:"true" scheme:"hmac" default:"{body}" raw:"true" desc:"for hmac: what is signed, made of the parts {timestamp}, {id}, {method}, {url} and {body}"`
	TokenIn             tokenPlace   `split_words:"true" scheme:"token" default:"bearer" desc:"for token: where the sender puts the token: bearer, header:NAME, or query:NAME for senders that take only a URL"`
	Renew               choice       `split_words:"true" default:"auto" oneof:"auto|never" desc:"whether a signature whose time is old is made anew for each attempt, so that the application's own check of the time accepts late deliveries; never forwards it as it came"`
	AllowFrom           prefixes     `split_words:"true" unset:"–" desc:"networks that requests must come from, in addition to a valid signature"`
	To                  names        `split_words:"true" default:"default" desc:"names of the destinations; each gets a delivery of its own"`
	Status              count        `split_words:"true" default:"200" min:"200" max:"299" desc:"status with which accepted events are answered"`
	DropHeaders         headerNames  `split_words:"true" unset:"–" desc:"headers that are not forwarded"`
}

// String keeps the secrets of a source out of whatever prints it.
func (s Source) String() string { return "settings of source " + s.Name }

// GoString does the same for %#v.
func (s Source) GoString() string { return s.String() }

// Secrets returns the secrets that are accepted, the current first.
func (s Source) Secrets() []string { return setOnes(s.Secret, s.SecretPrevious) }

func (s Source) prefix() string { return PrefixOf(SourcePrefix, s.Name) }

// readSource reads and checks one source, fills in what follows from other
// settings, and warns.
func (p *pass) readSource(s *Source) {
	prefix := s.prefix()
	p.env.decode(prefix, s, &p.problems)
	if p.fillScheme(s); s.Scheme != "" {
		p.checkSecret(s)
		p.warnSecrets(s)
		p.checkIgnored(s)
		p.checkScheme(s)
	}
	p.checkListed(prefix+"TO", s.To)
	if s.MaxBody == 0 {
		s.MaxBody = p.settings.MaxBody
	}
	if s.MaxBody > p.settings.MaxInflight {
		p.warn(prefix+"MAX_BODY", "is more than WEIR_MAX_INFLIGHT: the largest bodies cannot be received")
	}
	if !p.about(prefix) && !p.has("WEIR_PUBLIC_URL") {
		p.checkSignature(*s)
	}
}

// fillScheme fills in the scheme of a source whose name is one, and leaves it
// empty where it cannot be known. That unsigned requests are accepted must be
// written out.
func (p *pass) fillScheme(s *Source) {
	key, written := s.prefix()+"SCHEME", string(s.Scheme)
	s.Scheme = ""
	switch {
	case p.env.has(key) && IsScheme(written):
		s.Scheme = choice(written)
	case p.env.has(key):
		p.add(key, "must be one of %s%s", strings.Join(SchemeNames(), ", "), schemeAdvice(written, 3))
	case s.Name == SchemeNone:
		p.add(key, "is required: write none to accept unsigned requests")
	case p.has("WEIR_SOURCES") && !p.env.mayBeBare(s.prefix()):
		// It is the name that is wrong, which has been reported.
	case !IsScheme(s.Name):
		p.add(key, "is required, as the source's name is not a scheme; must be one of %s%s",
			strings.Join(SchemeNames(), ", "), schemeAdvice(s.Name, nearName))
	default:
		s.Scheme = choice(s.Name)
	}
}

// schemeAdvice suggests a scheme that is at most so many letters away.
func schemeAdvice(scheme string, letters int) string {
	switch scheme {
	case "svix", "clerk", "resend", "openai", "standard-webhooks", "standardwebhooks":
		return "; this sender signs by standard"
	}
	if nearest := nearestName(scheme, SchemeNames(), letters); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}

// checkSecret requires a secret wherever requests are verified, and refuses one
// where they are not: it would give a false sense of safety.
func (p *pass) checkSecret(s *Source) {
	key := s.prefix() + "SECRET"
	switch {
	case s.Scheme == SchemeNone:
		for _, unused := range []string{key, key + "_PREVIOUS"} {
			if p.env.has(unused) {
				p.add(unused, "is not used by the scheme none; remove it")
			}
		}
		p.warn(s.prefix()+"SCHEME", "none accepts unsigned requests: everybody who knows the address can send events")
	case !p.env.has(key):
		p.add(key, "is required: without it everybody could send events")
	}
}

// warnSecrets warns about secrets that are valid but probably a mistake. No
// warning holds a part of a secret.
func (p *pass) warnSecrets(s *Source) {
	key := s.prefix() + "SECRET"
	if warning := secretWarning(string(s.Secret), s.Scheme); warning != "" {
		p.warn(key, "%s", warning)
	}
	if warning := secretWarning(string(s.SecretPrevious), s.Scheme); warning != "" {
		p.warn(key+"_PREVIOUS", "%s", warning)
	}
}

// shortSecret is shorter than what any sender makes, and can be guessed.
const shortSecret = 8

// secretWarning says what looks wrong with a secret; "" when nothing does.
func secretWarning(value string, scheme choice) string {
	switch {
	case value == "":
		return ""
	case strings.ContainsFunc(value, unicode.IsControl):
		return "contains a line break or another control character"
	case quoted(value):
		return "is in quotation marks, which are taken as a part of it"
	case scheme == "stripe" && (strings.HasPrefix(value, "sk_") || strings.HasPrefix(value, "rk_")):
		return "looks like an API key; the secret of an endpoint begins with whsec_"
	case len(value) < shortSecret:
		return "is so short that it can be guessed"
	}
	return ""
}

// quoted reports whether a text is in quotation marks, as files for the
// environment of a container leave them.
func quoted(text string) bool {
	last := len(text) - 1
	return last > 0 && text[0] == text[last] && (text[0] == '"' || text[0] == '\'')
}

// checkIgnored refuses settings that the scheme of the source does not use:
// whoever set them expects something that would not happen.
func (p *pass) checkIgnored(s *Source) {
	for _, v := range variables(s.prefix(), s) {
		if !v.usedBy(s.Scheme) && p.env.has(v.Key) {
			p.add(v.Key, "is used by the scheme %s only, and this source's is %s", strings.ReplaceAll(string(v.scheme), "|", ", "), s.Scheme)
		}
	}
	for _, suffix := range [...]string{"TOLERANCE", "RENEW"} {
		if key := s.prefix() + suffix; !SignsTime(string(s.Scheme)) && p.env.has(key) {
			p.warn(key, "has no effect: the scheme %s has no timestamp", s.Scheme)
		}
	}
}

// longTolerance is the length from which a TOLERANCE is worth a warning.
const longTolerance = Duration(time.Hour)

// checkScheme checks what the scheme needs besides its secret.
func (p *pass) checkScheme(s *Source) {
	prefix := s.prefix()
	signsURL := signature.NeedsURL(string(s.Scheme)) || s.Scheme == SchemeHMAC && s.HMACTemplate.has("url")
	if signsURL && !p.env.has("WEIR_PUBLIC_URL") {
		p.add("WEIR_PUBLIC_URL", "is required: source %s signs the address that it calls", s.Name)
	}
	if s.Tolerance > longTolerance && !p.has(prefix+"TOLERANCE") {
		p.warn(prefix+"TOLERANCE", "lets anybody who recorded a request send it again for longer than an hour")
	}
	if s.Scheme == schemeMeta && !p.env.has(prefix+"VERIFY_TOKEN") {
		p.warn(prefix+"VERIFY_TOKEN", "is not set: Meta's handshake will be refused")
	}
	if s.Scheme == SchemeHMAC {
		p.checkHMAC(s)
	}
}

// checkHMAC checks that the parts of a signature go together.
func (p *pass) checkHMAC(s *Source) {
	prefix := s.prefix()
	timestamp := prefix + "HMAC_TIMESTAMP_HEADER"
	if !p.env.has(prefix + "HMAC_HEADER") {
		p.add(prefix+"HMAC_HEADER", "is required by the scheme hmac: the header of the signature")
	}
	signed := s.HMACTemplate.has("timestamp")
	listed := strings.Contains(string(s.HMACItems), "{timestamp}")
	switch {
	case listed && !signed:
		p.add(prefix+"HMAC_TEMPLATE", "does not contain {timestamp}, which HMAC_ITEMS contains: the time would prove nothing")
	case signed && !listed && !p.env.has(timestamp):
		p.add(timestamp, "is required: HMAC_TEMPLATE contains {timestamp}")
	case !signed && p.env.has(timestamp):
		p.add(timestamp, "is not signed: HMAC_TEMPLATE does not contain {timestamp}, so that the time would prove nothing")
	}
	if s.HMACTemplate.has("id") && !strings.HasPrefix(string(s.Key), "header:") {
		p.add(prefix+"KEY", "must be header:NAME: HMAC_TEMPLATE contains {id}")
	}
}

// checkSignature lets package signature look at each secret: some have a form
// of their own.
func (p *pass) checkSignature(s Source) {
	config := s.SignatureConfig(p.settings.PublicURL)
	suffixes := [...]string{"SECRET", "SECRET_PREVIOUS"}
	for place, one := range s.Secrets() {
		config.Secrets = []string{one}
		if _, err := signature.New(config); err != nil {
			reason, _, _ := strings.Cut(err.Error(), "\n")
			about := suffixes[place]
			if strings.HasPrefix(reason, "the HMAC items") {
				about = "HMAC_ITEMS"
			}
			p.add(s.prefix()+about, "%s", strings.TrimPrefix(reason, "secret 1: "))
		}
	}
}

// warnAged warns where a signed time cannot be made anew, unless every
// destination of the source gets weir's own signature, which is fresh each time.
func (p *pass) warnAged(s Source) {
	if s.Scheme == "" || s.Renew == "never" {
		return
	}
	verifier, err := signature.New(s.SignatureConfig(p.settings.PublicURL))
	if err != nil || verifier.Renewal() != signature.RenewalImpossible {
		return
	}
	for _, d := range p.settings.Destinations {
		if slices.Contains(s.To, d.Name) && d.SigningSecret == "" {
			p.warn(s.prefix()+"RENEW", "cannot be done: weir cannot replace the time that the scheme %s signs, "+
				"so that an application that checks it refuses late deliveries; set SIGNING_SECRET of the destination and let the application verify that signature", s.Scheme)
			return
		}
	}
}

package config

import (
	"strings"
	"time"

	"weir/signature"
	"weir/webhook"
)

// resolveSources checks every source and returns what it runs by.
func (l loaded) resolveSources(found *problems) []Source {
	list := make([]Source, 0, len(l.sources))
	for _, source := range l.sources {
		list = append(list, l.resolveSource(source, found))
	}
	return list
}

// resolveSource checks one source.
func (l loaded) resolveSource(source namedSource, found *problems) Source {
	scheme := l.schemeOf(source, found)
	if scheme != "" {
		l.checkSecret(source, scheme, found)
		l.doubtSource(source, scheme, found)
		l.checkIgnored(source, scheme, found)
		l.checkScheme(source, scheme, found)
	}
	l.checkListed(source.prefix+"TO", source.config.To, found)
	given := source.config
	maxBody := given.MaxBody
	if maxBody == 0 {
		maxBody = l.global.MaxBody
	}
	if maxBody > l.global.MaxInflight {
		found.warn(source.prefix+"MAX_BODY", "is more than WEIR_MAX_INFLIGHT: the largest bodies cannot come in")
	}
	resolved := Source{
		Name:        source.name,
		Scheme:      scheme,
		SecretList:  given.secretList(),
		key:         string(given.Key),
		OnConflict:  webhook.OnConflict(given.OnConflict),
		Tolerance:   time.Duration(given.Tolerance),
		Rate:        given.Rate,
		MaxBody:     int64(maxBody),
		signedBody:  string(given.SignedBody),
		verifyToken: string(given.VerifyToken),
		Hmac:        given.hmac(),
		tokenIn:     string(given.TokenIn),
		Renew:       given.Renew != "never",
		AllowFrom:   given.AllowFrom,
		To:          given.To,
		Status:      int(given.Status),
		DropHeaders: given.DropHeaders,
	}
	if !found.about(source.prefix) && !found.has("WEIR_PUBLIC_URL") {
		public := l.publicURL(found)
		checkSignature(source.prefix, resolved, public, found)
		l.warnOfAge(source.prefix, resolved, public, found)
	}
	return resolved
}

// secretList returns the secrets that are set, the current first.
func (c sourceConfig) secretList() []string {
	var list []string
	for _, one := range []secret{c.Secret, c.SecretPrevious} {
		if one != "" {
			list = append(list, string(one))
		}
	}
	return list
}

// hmac returns the settings of the scheme hmac.
func (c sourceConfig) hmac() hmac {
	return hmac{
		Header:          string(c.HMACHeader),
		algorithm:       string(c.HMACAlgorithm),
		encoding:        string(c.HMACEncoding),
		prefix:          string(c.HMACPrefix),
		timestampHeader: string(c.HMACTimestampHeader),
		timestampForm:   string(c.HMACTimestampForm),
		items:           string(c.HMACItems),
		keyEncoding:     string(c.HMACKeyEncoding),
		template:        string(c.HMACTemplate),
	}
}

// schemeOf returns the scheme of a source: what is written, else its name. To
// take unsigned requests must be written out.
func (l loaded) schemeOf(source namedSource, found *problems) string {
	key, scheme := source.prefix+"SCHEME", string(source.config.Scheme)
	if l.env.has(key) {
		if !IsScheme(scheme) {
			found.add(key, "want one of %s%s", strings.Join(SchemeNames(), ", "), schemeAdvice(scheme, 3))
			return ""
		}
		return scheme
	}
	switch {
	case source.name == SchemeNone:
		found.add(key, "is required: to take unsigned requests write none")
		return ""
	case found.has("WEIR_SOURCES") && !l.env.mayBeBare(source.prefix):
		return "" // this is the name that is wrong
	case !IsScheme(source.name):
		found.add(key, "is required, as the source's name is not that of a scheme; want one of %s%s",
			strings.Join(SchemeNames(), ", "), schemeAdvice(source.name, nearName))
		return ""
	}
	return source.name
}

// schemeAdvice helps with words that are so many letters from a scheme.
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

// checkSecret wants a secret wherever requests are verified, and none where
// they are not: it would give a false sense of safety.
func (l loaded) checkSecret(source namedSource, scheme string, found *problems) {
	key := source.prefix + "SECRET"
	if scheme == SchemeNone {
		l.refuse(key, "is not used by the scheme none", found)
		l.refuse(key+"_PREVIOUS", "is not used by the scheme none", found)
		found.warn(source.prefix+"SCHEME", "none takes unsigned requests: everybody who knows the address can send events")
		return
	}
	if !l.env.has(key) {
		found.add(key, "is required: without it everybody could send events")
	}
}

// readerOf names the one scheme that reads a setting; "" when all do.
func readerOf(suffix string) string {
	switch {
	case strings.HasPrefix(suffix, "HMAC_"):
		return SchemeHMAC
	case suffix == "TOKEN_IN":
		return SchemeToken
	case suffix == "VERIFY_TOKEN":
		return schemeMeta
	}
	return ""
}

// reads reports whether a scheme looks at a setting. A verify token is also for
// senders without a scheme of their own that do as Meta does.
func reads(suffix, scheme string) bool {
	switch reader := readerOf(suffix); reader {
	case "", scheme:
		return true
	case schemeMeta:
		return scheme == SchemeHMAC || scheme == SchemeToken || scheme == SchemeBasic || scheme == SchemeNone
	}
	return false
}

// checkIgnored refuses settings that the scheme of the source would not look
// at: whoever set them means something that would not happen.
func (l loaded) checkIgnored(source namedSource, scheme string, found *problems) {
	for _, v := range variables("", &source.config) {
		if reader := readerOf(v.Key); !reads(v.Key, scheme) {
			l.refuse(source.prefix+v.Key, "is read by the scheme "+reader+" only, and this source's is "+scheme, found)
		}
	}
	for _, suffix := range [...]string{"TOLERANCE", "RENEW"} {
		if !SignsTime(scheme) && l.env.has(source.prefix+suffix) {
			found.warn(source.prefix+suffix, "has no effect: the scheme %s has no timestamp", scheme)
		}
	}
}

// refuse notes the setting if it is set.
func (l loaded) refuse(key, reason string, found *problems) {
	if l.env.has(key) {
		found.add(key, "%s", reason)
	}
}

// longTolerance is the length from which a TOLERANCE is worth a warning.
const longTolerance = Duration(time.Hour)

// checkScheme checks what the scheme needs besides its secret.
func (l loaded) checkScheme(source namedSource, scheme string, found *problems) {
	given := source.config
	signsURL := signature.NeedsURL(scheme) || scheme == SchemeHMAC && given.HMACTemplate.has("url")
	if signsURL && !l.env.has("WEIR_PUBLIC_URL") {
		found.add("WEIR_PUBLIC_URL", "is required: what %s names signs the address that is called", source.prefix+"SCHEME")
	}
	if given.Tolerance > longTolerance && !found.has(source.prefix+"TOLERANCE") {
		found.warn(source.prefix+"TOLERANCE", "lets old requests be sent again for longer than an hour")
	}
	if scheme == schemeMeta && !l.env.has(source.prefix+"VERIFY_TOKEN") {
		found.warn(source.prefix+"VERIFY_TOKEN", "is not set: Meta's handshake will be refused")
	}
	if scheme == SchemeHMAC {
		l.checkHMAC(source, found)
	}
}

// checkHMAC checks that the parts of a signature go together.
func (l loaded) checkHMAC(source namedSource, found *problems) {
	given := source.config
	timestamp := source.prefix + "HMAC_TIMESTAMP_HEADER"
	if !l.env.has(source.prefix + "HMAC_HEADER") {
		found.add(source.prefix+"HMAC_HEADER", "is required by the scheme hmac: the header of the signature")
	}
	signed := given.HMACTemplate.has("timestamp")
	listed := strings.Contains(string(given.HMACItems), "{timestamp}")
	switch {
	case listed && !signed:
		found.add(source.prefix+"HMAC_TEMPLATE", "lacks {timestamp}, which HMAC_ITEMS has in it: the time would prove nothing")
	case signed && !listed && !l.env.has(timestamp):
		found.add(timestamp, "is required: HMAC_TEMPLATE has {timestamp} in it")
	case !signed && l.env.has(timestamp):
		found.add(timestamp, "is not signed: HMAC_TEMPLATE has no {timestamp} in it, so the time would prove nothing")
	}
	if given.HMACTemplate.has("id") && !strings.HasPrefix(string(given.Key), "header:") {
		found.add(source.prefix+"KEY", "want header:NAME: HMAC_TEMPLATE has {id} in it")
	}
}

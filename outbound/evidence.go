package outbound

import (
	"maps"
	"slices"
	"strings"

	"weir/webhook"
)

// The bounds of what is kept of an answer, in bytes but for the count.
const (
	maxEvidence   = 2 << 10
	maxNote       = 512
	maxNameKept   = 64
	maxFieldKept  = 256
	maxFieldsKept = 32
)

// evidence makes the bounded, redacted copy of an answer.
func (r Response) evidence(b body, f *facts) webhook.Evidence {
	kept := webhook.Evidence{
		Limit: f.words.limit, Used: f.words.used, Requested: f.words.requested,
		Window: string(f.words.window),
		Body:   r.Secrets.Redact(string(b.text), maxEvidence),
		Note:   b.note,
	}
	if f.said != "" {
		kept.Window = string(f.said)
	}
	kept.Headers = r.keptHeaders()
	return kept
}

// keptHeaders chooses the fields that explain an answer; of too many those
// that come first by name.
func (r Response) keptHeaders() map[string]string {
	kept := make(map[string]string, 8)
	for name, values := range r.Header {
		if len(name) <= maxNameKept && explains(name) && !r.Secrets.contains(name) {
			kept[name] = r.keptValue(name, values)
		}
	}
	if len(kept) > maxFieldsKept {
		for _, name := range slices.Sorted(maps.Keys(kept))[maxFieldsKept:] {
			delete(kept, name)
		}
	}
	return kept
}

// keptValue is what is kept of a field's lines.
func (r Response) keptValue(name string, values []string) string {
	value := strings.Join(values, ", ")
	if name == "Location" || name == "Content-Location" {
		value = withoutQuery(value)
	}
	return r.Secrets.Redact(strings.ToValidUTF8(value, "\uFFFD"), maxFieldKept)
}

// explains reports whether a field says something about a refusal, a limit or
// a wait, or names the request for the downstream's own support.
func explains(name string) bool {
	switch name {
	case "Content-Type", "Content-Encoding", "Content-Length", "Date", "Age", "Server",
		"Location", "Allow", "Accept", "Accept-Post", "Www-Authenticate", "Proxy-Authenticate",
		"X-Amzn-Errortype", "X-Amzn-Requestid", "Cf-Ray", "Cf-Mitigated", "Upgrade", "Deprecation",
		"Sunset", "X-Shopify-Shop-Api-Call-Limit", "X-Error", "X-Error-Code", "X-Error-Message":
		return true
	}
	if familyOf(name) >= 0 || strings.HasSuffix(name, "-Usage") || anyFold(name, limitFields[:]) {
		return true // of tokens also: those are counts
	}
	return anyFold(name, explaining[:]) && !namesSecret(name)
}

// limitFields are parts of the names of fields that tell of limits.
var limitFields = [...]string{"ratelimit", "rate-limit"}

// explaining are parts of the names of other fields that explain.
var explaining = [...]string{
	"retry", "reset-after", "quota", "throttl", "reason",
	"request-id", "correlation-id", "trace-id",
}

// withoutQuery removes the query and fragment of an address, which may carry a
// secret. The rest stays as it was written: to parse and print it would spell
// a secret in it another way. Credentials go when it is redacted.
func withoutQuery(address string) string {
	if end := strings.IndexAny(address, "?#"); end >= 0 {
		return address[:end]
	}
	return address
}

// withoutQueries removes the queries from the addresses in an error's text.
func withoutQueries(text string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			return out.String() + text
		}
		end := i + len("://")
		for end < len(text) && strings.IndexByte(" \"'<>\n", text[end]) < 0 {
			end++
		}
		out.WriteString(text[:i] + withoutQuery(text[i:end]))
		text = text[end:]
	}
}

package outbound

import (
	"maps"
	"slices"
	"strings"

	"weir/webhook"
)

// The bounds of what is kept of an answer, in bytes but for the count.
const (
	maxEvidence    = 2 << 10
	maxNote        = 512
	maxFieldKept   = 256
	maxFrom        = 64
	maxFieldsKept  = 32
	maxFieldsBytes = 4 << 10
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

// keptHeaders chooses the fields that explain an answer, in the order of their
// names and within the bounds.
func (r Response) keptHeaders() map[string]string {
	kept := make(map[string]string)
	left := maxFieldsBytes
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if !explains(name) || len(name) > maxFieldKept || r.Secrets.Contains(name) {
			continue
		}
		value := strings.Join(r.Header[name], ", ")
		if name == "Location" || name == "Content-Location" {
			value = withoutQuery(value)
		}
		value = r.Secrets.Redact(strings.ToValidUTF8(value, "\uFFFD"), maxFieldKept)
		left -= len(name) + len(value)
		if left < 0 || len(kept) == maxFieldsKept {
			break
		}
		kept[name] = value
	}
	return kept
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
	lower := strings.ToLower(name)
	return containsAny(lower, explaining[:]) && !containsAny(lower, secretWords[:])
}

// explaining are parts of the names of such fields.
var explaining = [...]string{
	"ratelimit", "rate-limit", "retry", "reset-after", "quota", "throttl", "reason",
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

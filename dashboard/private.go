package dashboard

import (
	"net/http"
	"strings"
)

// notShown stands for a value that is stored and forwarded, but is nobody's to
// read.
const notShown = "(not shown)"

// privateWords are parts of the names of header fields that hold credentials or
// signatures, in lower case.
var privateWords = [...]string{
	"token", "secret", "password", "passwd", "passphrase", "api-key", "apikey", "api_key", "access-key", "private-key",
	"authorization", "x-auth", "cookie", "session", "credential", "signature", "hmac",
}

// private reports whether the value of a source's header field must not be
// shown: by the field's name, or because the source is signed by it.
func (d *Dashboard) private(source, name string) bool {
	if signed := d.config.Signatures[source]; signed != "" && http.CanonicalHeaderKey(signed) == http.CanonicalHeaderKey(name) {
		return true
	}
	lower := strings.ToLower(name)
	for _, word := range privateWords {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

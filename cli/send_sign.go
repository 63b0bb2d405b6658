package cli

import (
	"net/textproto"
	"strings"
	"time"

	"weir/signature"
)

// sign returns the event that the call describes, signed as its provider
// would.
func (c sendCall) sign(v *signature.Verifier, id string, now time.Time) (signature.Request, error) {
	made := v.Sample(id, now)
	if c.body != nil {
		made.Body = c.body
	}
	for _, line := range c.headers {
		name, value, _ := strings.Cut(line, ":")
		made.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return v.Sign(made, id, now)
}

// isHeader reports whether a text is a header's line.
func isHeader(line string) bool {
	name, value, found := strings.Cut(line, ":")
	return found && textproto.TrimString(name) != "" && !strings.ContainsAny(name, " \t\r\n") &&
		!strings.ContainsAny(value, "\r\n\x00")
}

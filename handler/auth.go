package handler

import (
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"net/http"
	"strings"
)

// Tokens are the bearer tokens that open the operator API (RFC 6750). The zero
// Tokens open nothing.
type Tokens struct {
	digests [][sha256.Size]byte
}

// NewTokens returns Tokens that accept any of the given ones; empty ones are
// left out.
func NewTokens(tokens ...string) Tokens {
	var t Tokens
	for _, token := range tokens {
		if token != "" {
			t.digests = append(t.digests, sha256.Sum256([]byte(token)))
		}
	}
	return t
}

// Valid reports whether a token is among those accepted, in a time that does
// not depend on how much of it is right.
func (t Tokens) Valid(token string) bool {
	digest := sha256.Sum256([]byte(token))
	match := 0
	for _, want := range t.digests {
		match |= subtle.ConstantTimeCompare(digest[:], want[:])
	}
	return match == 1
}

// guard lets only operators through. A client that tries many tokens is refused
// like one that tries many signatures; a valid token is never refused for what
// others at its address do.
func (h *api) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if h.config.Tokens.Valid(bearer(r)) {
			next.ServeHTTP(w, r)
			return
		}
		if refusal := h.config.Failures.Over(r.Context()); refusal != nil {
			answerUnread(w, r, func() {
				maps.Copy(w.Header(), refusal)
				writeProblem(w, fault{http.StatusTooManyRequests, CodeThrottled, "Too many refused requests from this address."})
			})
			return
		}
		h.config.Failures.Refused(r.Context())
		answerUnread(w, r, func() {
			w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
			writeProblem(w, fault{http.StatusUnauthorized, CodeUnauthorized, "This needs the header Authorization: Bearer with a valid token."})
		})
	})
}

// bearer returns the token of a request, "" without exactly one.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

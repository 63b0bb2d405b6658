package handler

import (
	"crypto/rand"
	"net/http"
)

const requestIDHeader = "X-Request-Id"

// maxRequestID bounds the ids that are taken over from a client.
const maxRequestID = 128

// requestID gives every answer an X-Request-Id: the client's own when it is
// short and harmless, else a new one. The answer's header is where the rest of
// the package finds it.
func requestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !saneID(id) {
			id = rand.Text()
		}
		w.Header().Set(requestIDHeader, id)
		next.ServeHTTP(w, r)
	})
}

// saneID reports whether an id matches [A-Za-z0-9._-]{1,128}.
func saneID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

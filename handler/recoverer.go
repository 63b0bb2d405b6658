package handler

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"weir/webhook"
)

// recoverer turns a panic into a 500, unless the answer has begun: then the
// connection is cut, so that the client does not take a part for the whole.
func recoverer(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begun := &tracker{ResponseWriter: w}
			defer func() {
				value := recover()
				if value == nil {
					return
				}
				if value == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
					panic(value)
				}
				// The value may quote the request, so only its type is logged.
				log.ErrorContext(r.Context(), "request handler panicked",
					webhook.LogError, fmt.Sprintf("%T", value),
					webhook.LogRequest, w.Header().Get(requestIDHeader),
					webhook.LogStack, string(debug.Stack()))
				if begun.wrote {
					panic(http.ErrAbortHandler)
				}
				writeProblem(w, faultOf(fmt.Errorf("panic")))
			}()
			next.ServeHTTP(begun, r)
		})
	}
}

// tracker remembers whether an answer has begun.
type tracker struct {
	http.ResponseWriter
	wrote bool
}

func (t *tracker) WriteHeader(status int) {
	t.wrote = t.wrote || status >= http.StatusOK
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracker) Write(p []byte) (int, error) {
	t.wrote = true
	return t.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

package handler

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"weir/webhook"
)

// fail answers an error of an operator's request, and logs it when it is our
// own fault.
func (h *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := faultOf(err)
	if f.status >= http.StatusInternalServerError && r.Context().Err() == nil {
		h.config.Log.LogAttrs(r.Context(), slog.LevelError, "operator request went wrong",
			slog.String(webhook.LogRoute, chi.RouteContext(r.Context()).RoutePattern()),
			slog.String(webhook.LogRequest, w.Header().Get(requestIDHeader)),
			slog.String(webhook.LogError, err.Error()))
	}
	writeProblem(w, f)
}

// missing is the fault of a part that this service runs without.
func missing(part string) error {
	return fault{http.StatusServiceUnavailable, CodeUnavailable, "This service runs without " + part + "."}
}

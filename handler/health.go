package handler

import (
	"context"
	"net/http"
	"time"
)

// readyTimeout bounds the question whether events can be accepted.
const readyTimeout = time.Second

// health is the body of a health answer. It has no details but the reasons of
// /healthz/delivery, which name destinations and holds and nothing else.
type health struct {
	Status  string   `json:"status"`
	Reasons []string `json:"reasons,omitempty"`
}

// live says that the process runs.
func (h *api) live(w http.ResponseWriter, _ *http.Request) {
	writeHealth(w, nil)
}

// ready says whether events can be accepted. It never looks downstream: a host
// must not stop an instance that can still accept.
func (h *api) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if h.config.Ready == nil || h.config.Ready(ctx) != nil {
		writeHealth(w, []string{})
		return
	}
	writeHealth(w, nil)
}

// flow says whether work flows, for monitors that wake people.
func (h *api) flow(w http.ResponseWriter, r *http.Request) {
	var reasons []string
	if h.config.Flow != nil {
		reasons = h.config.Flow(r.Context())
	}
	if len(reasons) == 0 {
		reasons = nil
	}
	writeHealth(w, reasons)
}

// writeHealth answers 200 without reasons and 503 with them; an empty list is
// bad health that is not explained.
func writeHealth(w http.ResponseWriter, reasons []string) {
	w.Header().Set("Cache-Control", "no-store")
	if reasons == nil {
		writeJSON(w, http.StatusOK, health{Status: "ok"})
		return
	}
	w.Header().Set("Retry-After", "5")
	writeJSON(w, http.StatusServiceUnavailable, health{Status: "unavailable", Reasons: reasons})
}

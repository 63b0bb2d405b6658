package handler

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"weir/webhook"
)

// Code names a problem. Clients may decide by it; the words stay the same.
type Code string

// The codes of problem answers. Those of refused webhooks are the results of
// package webhook.
const (
	CodeUnauthorized     Code = "unauthorized"       // 401: no valid token
	CodeBadRequest       Code = "bad_request"        // 400: query or body of an operator's request
	CodeNotFound         Code = "not_found"          // 404: no such thing or path
	CodeMethodNotAllowed Code = "method_not_allowed" // 405
	CodeConflict         Code = "conflict"           // 409: the state does not allow it
	CodeGone             Code = "gone"               // 410: retention has removed the body
	CodeTooLarge         Code = "too_large"          // 413
	CodeThrottled        Code = "throttled"          // 429
	CodeInternal         Code = "internal"           // 500
	CodeUnavailable      Code = "unavailable"        // 503
)

// problem is the body of an error answer (RFC 9457).
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`
	Code     Code   `json:"code"`
	// RetryAfter repeats the header for those who read bodies only.
	RetryAfter int `json:"retry_after_seconds,omitempty"`
}

// fault is an error that is meant for the client: its detail is shown.
type fault struct {
	status int
	code   Code
	detail string
}

// Error returns what the client is told.
func (f fault) Error() string { return f.detail }

// badRequest is the fault of a query or body that makes no sense.
func badRequest(detail string) error {
	return fault{status: http.StatusBadRequest, code: CodeBadRequest, detail: detail}
}

// faultOf translates any error for the client. Texts from inside stay inside.
func faultOf(err error) fault {
	var known fault
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, webhook.ErrNotFound):
		return fault{http.StatusNotFound, CodeNotFound, "There is no such event, delivery, source or destination."}
	case errors.Is(err, webhook.ErrState):
		return fault{http.StatusConflict, CodeConflict, "The delivery's state does not allow this."}
	case errors.Is(err, webhook.ErrCursor):
		return fault{http.StatusBadRequest, CodeBadRequest, "The cursor is not one that this list has given out."}
	case errors.Is(err, webhook.ErrUnavailable), errors.Is(err, webhook.ErrFull):
		return fault{http.StatusServiceUnavailable, CodeUnavailable, "The store cannot be reached now."}
	default:
		return fault{http.StatusInternalServerError, CodeInternal, "Something went wrong inside. The log says more under this request id."}
	}
}

// writeProblem answers with a fault.
func writeProblem(w http.ResponseWriter, f fault) {
	if f.status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "5")
	}
	seconds, _ := strconv.Atoi(w.Header().Get("Retry-After"))
	writeBody(w, f.status, "application/problem+json", problem{
		Type:       "about:blank",
		Title:      http.StatusText(f.status),
		Status:     f.status,
		Detail:     f.detail,
		Instance:   w.Header().Get(requestIDHeader),
		Code:       f.code,
		RetryAfter: seconds,
	})
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, value any) {
	writeBody(w, status, "application/json", value)
}

// writeBody encodes before it writes, so that an answer is whole or a 500. A
// client that has gone is nobody's fault: the error of writing is dropped.
func writeBody(w http.ResponseWriter, status int, contentType string, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes())
}

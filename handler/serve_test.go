package handler

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
)

func newRequest(ctx context.Context, method, target, body string) *http.Request {
	return httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer
}

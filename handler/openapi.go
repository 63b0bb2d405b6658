package handler

import (
	_ "embed"
	"net/http"
)

// openAPIDocument describes every route of this package (OpenAPI 3.1).
//
//go:embed openapi.json
var openAPIDocument []byte

// openAPI is GET /v1/openapi.json.
func (h *api) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(openAPIDocument)
}

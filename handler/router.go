package handler

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
)

// api answers everything but the receive paths.
type api struct {
	config Config
	routes chi.Routes
}

// New returns the whole HTTP side of the service.
func New(config Config) http.Handler {
	return routes(config)
}

// NewPublic returns what strangers may reach where the operator has a listener of
// its own: the receive paths and health. All other paths are answered 404.
func NewPublic(config Config) http.Handler {
	config.Dashboard, config.Metrics = nil, nil
	a, router := newAPI(config)
	a.receivePaths(router)
	a.healthPaths(router)
	return router
}

// NewAdmin returns what only the operator may reach: the API, the dashboard,
// /metrics, and health. Receive paths are answered 404.
func NewAdmin(config Config) http.Handler {
	a, router := newAPI(config)
	a.healthPaths(router)
	a.adminPaths(router)
	return router
}

// routes is New with the table of routes still visible.
func routes(config Config) chi.Router {
	a, router := newAPI(config)
	a.receivePaths(router)
	a.healthPaths(router)
	a.adminPaths(router)
	return router
}

// newAPI returns a router without paths.
func newAPI(config Config) (*api, chi.Router) {
	config = config.withDefaults()
	router := chi.NewRouter()
	a := &api{config: config, routes: router}
	router.Use(requestID, recoverer(config.Log))
	if config.ClientAddress != nil {
		router.Use(config.ClientAddress)
	}
	router.NotFound(a.notFound)
	router.MethodNotAllowed(a.notAllowed)
	return a, router
}

// adminPaths are those of the operator.
func (h *api) adminPaths(router chi.Router) {
	router.Route("/v1", h.operatorPaths)
	if h.config.Metrics != nil {
		router.Method(http.MethodGet, "/metrics", h.guard(h.config.Metrics))
	}
}

func (h *api) receivePaths(router chi.Router) {
	receive := &receiver{config: h.config, lines: newRequestLog(h.config.Log)}
	for _, pattern := range []string{"/hooks/{source}", "/hooks/{source}/"} {
		router.Post(pattern, receive.post)
		router.Get(pattern, receive.handshake)
		router.Head(pattern, receive.handshake)
		router.Options(pattern, receive.options)
	}
}

func (h *api) healthPaths(router chi.Router) {
	for pattern, answer := range map[string]http.HandlerFunc{
		"/livez":            h.live,
		"/readyz":           h.ready,
		"/healthz":          h.ready,
		"/healthz/delivery": h.flow,
	} {
		router.Get(pattern, answer)
		router.Head(pattern, answer)
	}
}

func (h *api) operatorPaths(router chi.Router) {
	router.Use(h.guard)
	router.NotFound(h.unknown)
	router.MethodNotAllowed(h.notAllowed)
	router.Get("/openapi.json", h.openAPI)
	router.Get("/events", h.answer(h.listEvents))
	router.Get("/events/{id}", h.answer(withoutQuery(h.event)))
	router.Get("/events/{id}/body", h.body)
	router.Get("/sources", h.answer(h.listSources))
	router.Get("/sources/{source}/events/*", h.answer(withoutQuery(h.eventByKey)))
	router.Get("/deliveries", h.answer(h.listDeliveries))
	router.Post("/events/{id}/deliveries/{destination}/redeliver", h.answer(h.redeliver))
	router.Post("/events/{id}/deliveries/{destination}/cancel", h.answer(h.cancel))
	router.Post("/redeliver", h.answer(h.redeliverMany))
	router.Get("/destinations", h.answer(h.listDestinations))
	router.Get("/destinations/{name}", h.answer(withoutQuery(h.destination)))
	router.Post("/destinations/{name}/pause", h.answer(h.pause))
	router.Post("/destinations/{name}/resume", h.answer(h.resume))
	router.Get("/refusals", h.answer(h.listRefusals))
	router.Get("/stats", h.answer(h.stats))
}

// result is an answer of the operator API: a status and a value to encode.
type result struct {
	status int
	value  any
}

// ok is the usual result.
func ok(value any) (result, error) { return result{http.StatusOK, value}, nil }

// answer turns a function that returns a value or an error into a handler.
func (h *api) answer(do func(*http.Request) (result, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found, err := do(r)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		writeJSON(w, found.status, found.value)
	}
}

// notFound answers a path that no route takes. The dashboard has those that
// are nobody else's.
func (h *api) notFound(w http.ResponseWriter, r *http.Request) {
	// The dashboard may redirect to the clean form of a path, which must not
	// happen to a sender whose path has a slash too many.
	if h.config.Dashboard != nil && !reserved(path.Clean("/"+r.URL.Path)) {
		h.config.Dashboard.ServeHTTP(w, r)
		return
	}
	h.config.Failures.Refused(r.Context())
	answerUnread(w, r, func() { h.unknown(w, r) })
}

// unknown answers an operator's request to a path that does not exist.
func (h *api) unknown(w http.ResponseWriter, _ *http.Request) {
	writeProblem(w, fault{http.StatusNotFound, CodeNotFound, "There is nothing at this path."})
}

// reserved reports whether a path belongs to this package even where it has no
// route, and also in another letter case.
func reserved(path string) bool {
	for _, prefix := range [...]string{"/hooks", "/v1", "/livez", "/readyz", "/healthz", "/metrics"} {
		if len(path) < len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
			continue
		}
		if rest := path[len(prefix):]; rest == "" || rest[0] == '/' {
			return true
		}
	}
	return false
}

// notAllowed answers a method that a path does not have.
func (h *api) notAllowed(w http.ResponseWriter, r *http.Request) {
	allow := h.methods(r.URL.Path)
	switch {
	case allow == "":
		h.notFound(w, r)
	case strings.HasPrefix(r.URL.Path, "/v1/"):
		h.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			methodNotAllowed(w, allow)
		})).ServeHTTP(w, r)
	default:
		answerUnread(w, r, func() { methodNotAllowed(w, allow) })
	}
}

// methods lists the methods of a path, "" without any.
func (h *api) methods(path string) string {
	var found []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
		if h.routes.Match(chi.NewRouteContext(), method, path) {
			found = append(found, method)
		}
	}
	if strings.HasPrefix(path, "/hooks/") && slices.Contains(found, http.MethodPost) {
		return h.receiveMethods(path)
	}
	return strings.Join(found, ", ")
}

// receiveMethods are those of one receive path: only some sources have
// OPTIONS.
func (h *api) receiveMethods(path string) string {
	name := strings.Trim(strings.TrimPrefix(path, "/hooks/"), "/")
	if h.config.Sources[name].Options == OptionsHandshake {
		return receiveMethods + ", " + http.MethodOptions
	}
	return receiveMethods
}

// methodNotAllowed answers 405 (RFC 9110 section 15.5.6).
func methodNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	writeProblem(w, fault{http.StatusMethodNotAllowed, CodeMethodNotAllowed, "This path does not have that method."})
}

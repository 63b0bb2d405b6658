package dashboard

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"weir/webhook"
)

// Dashboard is an [http.Handler] for every path that no other room takes.
type Dashboard struct {
	config      Config
	sessions    *sessions
	crossOrigin *http.CrossOriginProtection
	templates   map[string]*template.Template
	files       map[string]file
	routes      *http.ServeMux
}

// New returns the dashboard. The error is that of a wrong Config.Origin.
func New(config Config) (*Dashboard, error) {
	d := &Dashboard{
		config: config.withDefaults(), sessions: newSessions(),
		crossOrigin: http.NewCrossOriginProtection(), routes: http.NewServeMux(),
	}
	if config.Origin != "" {
		if err := d.crossOrigin.AddTrustedOrigin(config.Origin); err != nil {
			return nil, fmt.Errorf("origin of the dashboard: %w", err)
		}
	}
	var err error
	if d.files, err = readFiles(); err != nil {
		return nil, err
	}
	if d.templates, err = d.parseTemplates(); err != nil {
		return nil, err
	}
	d.route()
	return d, nil
}

// route fills the table of paths.
func (d *Dashboard) route() {
	d.routes.HandleFunc("GET /assets/{file...}", d.asset)
	d.routes.HandleFunc("GET /favicon.ico", d.asset)
	d.routes.HandleFunc("GET /login", d.showLogin)
	d.routes.HandleFunc("POST /login", d.login)
	d.routes.HandleFunc("POST /logout", d.change(d.logout))

	d.routes.HandleFunc("GET /{$}", d.show(d.overview))
	d.routes.HandleFunc("GET /events", d.operator(d.events))
	d.routes.HandleFunc("GET /events/{id}", d.show(d.event))
	d.routes.HandleFunc("GET /events/{id}/body", d.operator(d.download))
	d.routes.HandleFunc("POST /events/{id}/deliveries/{destination}/{action}", d.act(d.changeDelivery))
	d.routes.HandleFunc("GET /destinations", d.show(d.destinations))
	d.routes.HandleFunc("POST /destinations/{name}/{action}", d.act(d.changeDestination))
	d.routes.HandleFunc("GET /dead", d.show(d.deadLetters))
	d.routes.HandleFunc("GET /dead/redeliver", d.show(d.confirmBulk))
	d.routes.HandleFunc("POST /dead/redeliver", d.act(d.redeliverBulk))
	d.routes.HandleFunc("/", d.nothing)
}

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setPolicies(w.Header())
	if d.config.Tokens == nil && d.fileOf(r) == "" {
		d.config.Failures.Refused(r.Context())
		d.render(w, r, page{name: "closed", title: "No token is configured", status: http.StatusUnauthorized})
		return
	}
	d.routes.ServeHTTP(w, r)
}

// nothing answers paths that do not exist. They count like other refusals: a
// scanner tries many.
func (d *Dashboard) nothing(w http.ResponseWriter, r *http.Request) {
	if _, ok := d.sessionOf(r, time.Now()); !ok {
		d.config.Failures.Refused(r.Context())
	}
	d.complain(w, r, http.StatusNotFound, "There is nothing at this address.")
}

// visit is a request of somebody who is logged in.
type visit struct {
	*http.Request
	session session
	now     time.Time
	// seen are the destinations that were asked for.
	seen map[string]seenStatus
}

// seenStatus is the state of a destination, or that there is none.
type seenStatus struct {
	webhook.Status
	known bool
}

func newVisit(r *http.Request, of session, now time.Time) visit {
	return visit{Request: r, session: of, now: now, seen: map[string]seenStatus{}}
}

// operator lets only operators through; others are led to the login.
func (d *Dashboard) operator(serve func(http.ResponseWriter, visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		found, ok := d.sessionOf(r, now)
		if !ok {
			d.redirect(w, r, "/login?next="+url.QueryEscape(local(r.URL.RequestURI())))
			return
		}
		serve(w, newVisit(r, found, now))
	}
}

// show serves a page.
func (d *Dashboard) show(prepare func(visit) (page, error)) http.HandlerFunc {
	return d.operator(func(w http.ResponseWriter, v visit) {
		made, err := prepare(v)
		if err != nil {
			d.fail(w, v.Request, err)
			return
		}
		d.render(w, v.Request, made)
	})
}

// change serves a POST that changes something: it must come from a form of
// this session.
func (d *Dashboard) change(serve func(http.ResponseWriter, visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !d.sameOrigin(w, r) {
			return
		}
		now := time.Now()
		found, ok := d.sessionOf(r, now)
		switch {
		case !ok:
			d.config.Failures.Refused(r.Context())
			d.complain(w, r, http.StatusUnauthorized, "You are not logged in, so nothing was changed.")
		case !d.sessions.meant(found, r.PostForm.Get("form")):
			d.complain(w, r, http.StatusForbidden, "This form was not made for your session, so nothing was changed. Go back, reload the page, and try again.")
		default:
			serve(w, newVisit(r, found, now))
		}
	}
}

// act serves a change that leads to a page.
func (d *Dashboard) act(do func(visit) (to string, err error)) http.HandlerFunc {
	return d.change(func(w http.ResponseWriter, v visit) {
		to, err := do(v)
		if err != nil {
			d.fail(w, v.Request, err)
			return
		}
		d.redirect(w, v.Request, to)
	})
}

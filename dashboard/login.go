package dashboard

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// loginView is what the login page shows.
type loginView struct {
	// Next is the page that was asked for.
	Next string
	// Problem says why the last try failed.
	Problem string
}

// showLogin is GET /login.
func (d *Dashboard) showLogin(w http.ResponseWriter, r *http.Request) {
	next := local(r.URL.Query().Get("next"))
	if _, ok := d.sessionOf(r, time.Now()); ok {
		d.redirect(w, r, next)
		return
	}
	d.render(w, r, page{name: "login", title: "Log in", data: loginView{Next: next}})
}

// login is POST /login.
func (d *Dashboard) login(w http.ResponseWriter, r *http.Request) {
	if !d.sameOrigin(w, r) {
		return
	}
	next := local(r.PostForm.Get("next"))
	if !d.config.Tokens.Valid(strings.TrimSpace(r.PostForm.Get("token"))) {
		if refusal := d.config.Failures.Over(r.Context()); refusal != nil {
			maps.Copy(w.Header(), refusal)
			d.complain(w, r, http.StatusTooManyRequests, "Too many refused requests from this address. Try again in a minute.")
			return
		}
		d.config.Failures.Refused(r.Context())
		d.render(w, r, page{
			name: "login", title: "Log in", status: http.StatusUnauthorized,
			data: loginView{Next: next, Problem: "That is not the token of this service."},
		})
		return
	}
	started, value := d.sessions.begin(time.Now())
	http.SetCookie(w, sessionCookie(r, value, started.expires))
	d.redirect(w, r, next)
}

// logout is POST /logout.
func (d *Dashboard) logout(w http.ResponseWriter, v visit) {
	d.sessions.end(v.session, v.now)
	http.SetCookie(w, sessionCookie(v.Request, "", time.Time{}))
	d.redirect(w, v.Request, "/login")
}

// local returns the part of a target that may be redirected to: a path of the
// dashboard with its query, and "/" for everything else.
func local(target string) string {
	parsed, err := url.Parse(target)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.User != nil || parsed.Opaque != "" {
		return "/"
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(parsed.Path, "/"), "/")
	switch first {
	case "events", "destinations", "dead":
	default:
		return "/"
	}
	if !strings.HasPrefix(parsed.Path, "/") {
		return "/"
	}
	clean := url.URL{Path: parsed.Path, RawQuery: parsed.Query().Encode()}
	return clean.String()
}

// redirect leads to one of our own pages.
func (d *Dashboard) redirect(w http.ResponseWriter, r *http.Request, to string) {
	http.Redirect(w, r, to, http.StatusSeeOther)
}

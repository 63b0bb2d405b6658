package dashboard

import (
	"net/http"
	"strings"
	"time"
)

// policy is the content security policy of every page: nothing but our own
// files, and no page of others around ours.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// setPolicies sets the header fields that every answer has.
func setPolicies(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	// Not no-referrer: with it browsers send "Origin: null", and then a form
	// of ours cannot be told from one of another site.
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Robots-Tag", "noindex, nofollow")
}

// overTLS reports whether the browser speaks TLS, with us or with a proxy. A
// client that lies about it only harms its own cookie.
func overTLS(r *http.Request) bool {
	proto, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	return r.TLS != nil || strings.EqualFold(strings.TrimSpace(proto), "https")
}

// cookieName depends on the connection: behind TLS the prefix makes browsers
// refuse a cookie that a neighbouring host or an unencrypted page has set
// (RFC 6265bis section 4.1.3.2).
func cookieName(r *http.Request) string {
	if overTLS(r) {
		return "__Host-weir"
	}
	return "weir"
}

// sessionCookie makes the cookie; the empty value deletes it.
func sessionCookie(r *http.Request, value string, expires time.Time) *http.Cookie {
	cookie := &http.Cookie{
		Name: cookieName(r), Value: value, Path: "/", Expires: expires.UTC(),
		HttpOnly: true, Secure: overTLS(r), SameSite: http.SameSiteStrictMode,
	}
	if value == "" {
		cookie.Expires, cookie.MaxAge = time.Time{}, -1
	}
	return cookie
}

// sessionOf returns the session of a request. One good cookie is enough.
func (d *Dashboard) sessionOf(r *http.Request, now time.Time) (session, bool) {
	for _, cookie := range r.CookiesNamed(cookieName(r)) {
		if found, ok := d.sessions.open(cookie.Value, now); ok {
			return found, true
		}
	}
	return session{}, false
}

// maxForm bounds what a form may send, in bytes.
const maxForm = 64 << 10

// sameOrigin refuses changes that another site's page asks for, by
// Sec-Fetch-Site and Origin (see [http.CrossOriginProtection]).
func (d *Dashboard) sameOrigin(w http.ResponseWriter, r *http.Request) bool {
	if err := d.crossOrigin.Check(r); err != nil {
		d.complain(w, r, http.StatusForbidden, "This request came from another site, so it was refused.")
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		d.complain(w, r, http.StatusBadRequest, "The form could not be read.")
		return false
	}
	return true
}

package dashboard

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestSessionLastsUntilItExpiresAndNoLonger(t *testing.T) {
	s := newSessions()
	started, value := s.begin(noon)
	for _, c := range []struct {
		at   time.Time
		want bool
	}{
		{noon, true},
		{noon.Add(SessionFor - time.Second), true},
		{noon.Add(SessionFor), false},
		{noon.Add(1000 * time.Hour), false},
	} {
		found, ok := s.open(value, c.at)
		if ok != c.want {
			t.Errorf("after %s: %t, want %t", c.at.Sub(noon), ok, c.want)
		}
		if ok && found.id != started.id {
			t.Error("another session came out")
		}
	}
}

func TestSessionCookieCannotBeChanged(t *testing.T) {
	s := newSessions()
	_, value := s.begin(noon)
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range value {
		changed := []byte(value)
		changed[i] = letters[(strings.IndexByte(letters, value[i])+1)%len(letters)]
		if _, ok := s.open(string(changed), noon); ok {
			t.Errorf("a cookie with another character %d is accepted", i)
		}
	}
	for _, wrong := range []string{"", "x", value[:len(value)-4], value + "AAAA", value + "\n", strings.Repeat("A", len(value))} {
		if _, ok := s.open(wrong, noon); ok {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestSessionEndsAtARestartAndAtLogout(t *testing.T) {
	s := newSessions()
	started, value := s.begin(noon)
	_, other := s.begin(noon)
	if _, ok := newSessions().open(value, noon); ok {
		t.Error("another process accepts the cookie")
	}
	s.end(started, noon)
	if _, ok := s.open(value, noon); ok {
		t.Error("a session goes on after its logout")
	}
	if _, ok := s.open(other, noon); !ok {
		t.Error("a logout ended another session")
	}
}

func TestRememberedLogoutsAreBounded(t *testing.T) {
	s := newSessions()
	first, value := s.begin(noon)
	s.end(first, noon)
	for range 2 * maxEnded {
		started, _ := s.begin(noon)
		s.end(started, noon)
		if len(s.ended) > maxEnded {
			t.Fatalf("%d logouts are remembered", len(s.ended))
		}
		if _, ok := s.open(value, noon); ok {
			t.Fatal("a session that was logged out has come back")
		}
	}
	late := noon.Add(2 * SessionFor)
	started, _ := s.begin(late)
	s.end(started, late)
	if len(s.ended) != 1 {
		t.Errorf("%d logouts are remembered after all but one have expired", len(s.ended))
	}
}

func TestFormTokenBelongsToOneSession(t *testing.T) {
	s := newSessions()
	mine, value := s.begin(noon)
	other, _ := s.begin(noon)
	if !s.meant(mine, s.formToken(mine)) {
		t.Error("a session's own form is refused")
	}
	for _, wrong := range []string{"", value, s.formToken(other), s.formToken(mine) + "A"} {
		if s.meant(mine, wrong) {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestLoginSetsACookieThatScriptsAndOtherSitesCannotUse(t *testing.T) {
	s := serve(t, example())
	plain := form("/login", url.Values{"token": {" " + testToken + "\n"}, "next": {"/dead"}})
	direct := form("/login", url.Values{"token": {testToken}})
	direct.TLS = &tls.ConnectionState{}
	proxied := form("/login", url.Values{"token": {testToken}})
	proxied.Header.Set("X-Forwarded-Proto", "HTTPS, http")
	for _, c := range []struct {
		name    string
		request *http.Request
		cookie  string
		secure  bool
		to      string
	}{
		{"plain", plain, "weir", false, "/dead"},
		{"TLS", direct, "__Host-weir", true, "/"},
		{"TLS at a proxy", proxied, "__Host-weir", true, "/"},
	} {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, c.request)
		if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != c.to {
			t.Errorf("%s: %d to %q", c.name, answer.Code, answer.Header().Get("Location"))
		}
		cookie := answer.Result().Cookies()[0]
		if cookie.Name != c.cookie || !cookie.HttpOnly || cookie.Secure != c.secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" {
			t.Errorf("%s: %v", c.name, cookie)
		}
		if left := time.Until(cookie.Expires); left <= 0 || left > SessionFor {
			t.Errorf("%s: the cookie lasts %s", c.name, left)
		}
	}
	if s.strangers.refused != 0 {
		t.Errorf("%+v", s.strangers)
	}
}

func TestFailedLoginCountsAndSetsNothing(t *testing.T) {
	s := serve(t, example())
	for i, token := range []string{"", "wrong", testToken + "x", strings.ToUpper(testToken)} {
		b := &browser{t: t, handler: s.Dashboard}
		answer := b.post("/login", url.Values{"token": {token}, "next": {"/dead"}})
		if answer.Code != http.StatusUnauthorized || len(answer.Result().Cookies()) > 0 {
			t.Errorf("%q: %d with %d cookies", token, answer.Code, len(answer.Result().Cookies()))
		}
		if s.strangers.refused != i+1 {
			t.Errorf("%q is not counted", token)
		}
		text := answer.Body.String()
		wants(t, text, `role="alert"`, `name="next" value="/dead"`)
		if token != "" && strings.Contains(text, token) {
			t.Errorf("the answer repeats %q", token)
		}
	}
	if s.log.Len() > 0 {
		t.Errorf("failed logins fill the log: %s", s.log)
	}
}

// TestLoginOfAnAddressOverItsRate: guesses are refused, and the operator is not,
// who may share the address with whoever guesses.
func TestLoginOfAnAddressOverItsRate(t *testing.T) {
	s := serve(t, example())
	s.strangers.over = http.Header{"Retry-After": {"17"}}
	b := &browser{t: t, handler: s.Dashboard}
	if answer := b.post("/login", url.Values{"token": {testToken}}); answer.Code != http.StatusSeeOther {
		t.Errorf("the operator: %d", answer.Code)
	}
	b = &browser{t: t, handler: s.Dashboard}
	answer := b.post("/login", url.Values{"token": {"a guess at the token"}})
	if answer.Code != http.StatusTooManyRequests || answer.Header().Get("Retry-After") != "17" {
		t.Errorf("%d, Retry-After %q", answer.Code, answer.Header().Get("Retry-After"))
	}
	if len(answer.Result().Cookies()) > 0 {
		t.Error("it was let in")
	}
}

func TestLogoutEndsTheSessionEverywhere(t *testing.T) {
	b := serve(t, example()).login(t)
	answer := b.change("/logout")
	if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/login" {
		t.Fatalf("%d to %q", answer.Code, answer.Header().Get("Location"))
	}
	if cookie := answer.Result().Cookies()[0]; cookie.Value != "" || cookie.MaxAge >= 0 {
		t.Errorf("the cookie stays: %v", cookie)
	}
	if again := b.get("/"); again.Code != http.StatusSeeOther {
		t.Errorf("the old cookie still opens the overview: %d", again.Code)
	}
}

func TestLoginPageIsSkippedByWhoIsLoggedIn(t *testing.T) {
	b := serve(t, example()).login(t)
	if answer := b.get("/login?next=%2Fevents%3Fstate%3Ddead"); answer.Header().Get("Location") != "/events?state=dead" {
		t.Errorf("%d to %q", answer.Code, answer.Header().Get("Location"))
	}
}

func TestRedirectsLeadToOurOwnPagesOnly(t *testing.T) {
	for target, want := range map[string]string{
		"":                                 "/",
		"/":                                "/",
		"/events":                          "/events",
		"/events?q=a%26b&state=dead":       "/events?q=a%26b&state=dead",
		"/events/0192?body=show":           "/events/0192?body=show",
		"/destinations":                    "/destinations",
		"/dead/redeliver?reason=rejected":  "/dead/redeliver?reason=rejected",
		"/logout":                          "/",
		"/v1/events":                       "/",
		"events":                           "/",
		"//evil.example/events":            "/",
		"///evil.example/events":           "/",
		"/\\evil.example/events":           "/",
		"\\\\evil.example/events":          "/",
		"https://evil.example/events":      "/",
		"https:/events":                    "/",
		"javascript:alert(1)":              "/",
		"//user@evil.example/events":       "/",
		"/events\r\nSet-Cookie: a=b":       "/",
		"/eventsevil":                      "/",
		"http:///events":                   "/",
		"/events/%2f%2fevil.example":       "/events///evil.example",
		"/%2fevil.example/events":          "/",
		"/events/\u202e":                   "/events/%E2%80%AE",
		"/events#//evil.example":           "/events",
		strings.Repeat("/", 9) + "events":  "/",
		"/events;//evil.example?//evil=//": "/",
	} {
		if got := local(target); got != want {
			t.Errorf("%q leads to %q, want %q", target, got, want)
		}
	}
}

func FuzzRedirectsStayHere(f *testing.F) {
	for _, seed := range []string{"/events?q=1", "//evil.example", "/\\evil.example", "/events//evil", "/\t/evil", "https://evil.example/events", "/events/..//../evil"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://weir.example/login")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, target string) {
		got := local(target)
		if !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t \x00") {
			t.Fatalf("%q leads to %q", target, got)
		}
		found, err := base.Parse(got)
		if err != nil || found.Host != base.Host || found.Scheme != base.Scheme {
			t.Fatalf("%q leads to %v, %v", target, found, err)
		}
		if again := local(got); again != got {
			t.Fatalf("%q leads to %q and then to %q", target, got, again)
		}
	})
}

func FuzzSessionCookies(f *testing.F) {
	s := newSessions()
	_, good := s.begin(noon)
	f.Add("")
	f.Add(strings.Repeat("A", 75))
	f.Add("====")
	f.Fuzz(func(t *testing.T, value string) {
		if _, ok := s.open(value, noon); ok && value != good {
			t.Fatalf("%q is accepted", value)
		}
	})
}

func TestTokenNeverReachesPagesOrLog(t *testing.T) {
	s := serve(t, example())
	b := s.login(t)
	var all bytes.Buffer
	for _, target := range []string{"/", "/events", "/destinations", "/dead", "/login", "/nowhere"} {
		all.Write(b.get(target).Body.Bytes())
	}
	if strings.Contains(all.String()+s.log.String(), testToken) {
		t.Error("the token is shown")
	}
}

package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// everyPage are the pages for operators.
var everyPage = [...]string{
	"/", "/events", "/events/" + numbered(1).String(), "/events/" + numbered(1).String() + "/body",
	"/destinations", "/dead", "/dead/redeliver?destination=crm&reason=rejected",
}

// everyChange are the changes with what they send.
var everyChange = [...]struct {
	target string
	values url.Values
}{
	{"/logout", url.Values{}},
	{"/events/" + numbered(1).String() + "/deliveries/crm/redeliver", url.Values{}},
	{"/events/" + numbered(1).String() + "/deliveries/app/cancel", url.Values{}},
	{"/destinations/app/pause", url.Values{}},
	{"/destinations/app/resume", url.Values{}},
	{"/dead/redeliver", url.Values{"destination": {"crm"}, "reason": {"rejected"}}},
}

// untouched fails when anything was changed.
func (s *served) untouched(t *testing.T, what string) {
	t.Helper()
	if n := len(s.redelivered) + len(s.cancelled) + len(s.paused) + len(s.resumed); n > 0 {
		t.Fatalf("%s: %d changes were made", what, n)
	}
}

func TestStrangersSeeTheLoginOnly(t *testing.T) {
	s := serve(t, example())
	b := &browser{t: t, handler: s.Dashboard}
	for _, target := range everyPage {
		answer := b.get(target)
		next, err := url.Parse(answer.Header().Get("Location"))
		if err != nil || answer.Code != http.StatusSeeOther || next.Path != "/login" {
			t.Errorf("%s: %d to %q", target, answer.Code, answer.Header().Get("Location"))
			continue
		}
		if want := local(target); next.Query().Get("next") != want {
			t.Errorf("%s comes back to %q", target, next.Query().Get("next"))
		}
	}
	for _, c := range everyChange {
		if answer := b.post(c.target, c.values); answer.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", c.target, answer.Code)
		}
	}
	s.untouched(t, "without a login")
	if s.strangers.refused != len(everyChange) {
		t.Errorf("%d refusals are counted, want %d", s.strangers.refused, len(everyChange))
	}
}

func TestChangesNeedTheFormOfTheSession(t *testing.T) {
	s := serve(t, example())
	b, other := s.login(t), s.login(t)
	for _, c := range everyChange {
		for _, token := range []string{"", "x", other.form, b.cookie.Value} {
			c.values.Set("form", token)
			if answer := b.post(c.target, c.values); answer.Code != http.StatusForbidden {
				t.Errorf("%s with the token %q: %d", c.target, token, answer.Code)
			}
		}
		// A token in the address would end up in logs.
		c.values.Del("form")
		if answer := b.post(c.target+"?form="+b.form, c.values); answer.Code != http.StatusForbidden {
			t.Errorf("%s with the token in the address: %d", c.target, answer.Code)
		}
	}
	s.untouched(t, "without the form's token")
}

func TestChangesFromOtherSitesAreRefused(t *testing.T) {
	s := serve(t, example())
	b := s.login(t)
	for name, header := range map[string]http.Header{
		"cross-site":     {"Sec-Fetch-Site": {"cross-site"}},
		"same-site":      {"Sec-Fetch-Site": {"same-site"}},
		"another origin": {"Origin": {"https://evil.example"}},
		"no origin":      {"Origin": {"null"}},
	} {
		for _, target := range append([]string{"/login"}, targets()...) {
			request := form(target, url.Values{"form": {b.form}, "token": {testToken}, "destination": {"crm"}, "reason": {"rejected"}})
			request.Header.Del("Sec-Fetch-Site")
			for field, values := range header {
				request.Header[field] = values
			}
			if answer := b.do(request); answer.Code != http.StatusForbidden || len(answer.Result().Cookies()) > 0 {
				t.Errorf("%s to %s: %d", name, target, answer.Code)
			}
		}
	}
	s.untouched(t, "from other sites")
	same := form("/destinations/app/pause", url.Values{"form": {b.form}})
	same.Header.Del("Sec-Fetch-Site")
	same.Header.Set("Origin", "http://"+same.Host)
	if answer := b.do(same); answer.Code != http.StatusSeeOther {
		t.Errorf("the same origin: %d", answer.Code)
	}
}

func targets() []string {
	var list []string
	for _, c := range everyChange {
		list = append(list, c.target)
	}
	return list
}

func TestConfiguredOriginIsOurOwn(t *testing.T) {
	pages, err := New(Config{Tokens: tokens(testToken), Origin: "https://hooks.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	request := form("/login", url.Values{"token": {testToken}})
	request.Header.Del("Sec-Fetch-Site")
	request.Header.Set("Origin", "https://hooks.example.com")
	request.Host = "10.0.0.7:8080"
	answer := httptest.NewRecorder()
	pages.ServeHTTP(answer, request)
	if answer.Code != http.StatusSeeOther {
		t.Errorf("%d", answer.Code)
	}
	if _, err := New(Config{Origin: "hooks.example.com/path"}); err == nil {
		t.Error("what is no origin is taken for one")
	}
}

func TestFormsAreBounded(t *testing.T) {
	s := serve(t, example())
	b := s.login(t)
	if answer := b.change("/destinations/app/pause", "pad", strings.Repeat("x", maxForm)); answer.Code != http.StatusBadRequest {
		t.Errorf("%d", answer.Code)
	}
	s.untouched(t, "by a form that is too large")
}

// everyAnswer collects an answer of every kind.
func everyAnswer(t *testing.T) map[string]*httptest.ResponseRecorder {
	s := serve(t, example())
	b, stranger := s.login(t), &browser{t: t, handler: s.Dashboard}
	answers := map[string]*httptest.ResponseRecorder{
		"login":          stranger.get("/login"),
		"failed login":   stranger.post("/login", url.Values{"token": {"x"}}),
		"to the login":   stranger.get("/"),
		"refused change": b.post("/destinations/app/pause", nil),
		"change":         b.change("/destinations/app/pause"),
		"not found":      b.get("/nowhere"),
		"method":         b.do(httptest.NewRequest(http.MethodDelete, "/events", nil)),
		"path to clean":  b.get("/events/../dead"),
		"stylesheet":     b.get("/assets/weir.css"),
		"licence":        b.get("/assets/uplot/LICENSE"),
		"icon":           b.get("/favicon.ico"),
		"logout":         s.login(t).change("/logout"),
	}
	for _, target := range everyPage {
		answers["page "+target] = b.get(target)
	}
	s.rooms.fail = http.ErrAbortHandler
	answers["fault"] = b.get("/events")
	closed, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	answers["closed"] = (&browser{t: t, handler: closed}).get("/")
	return answers
}

func TestEveryAnswerHasThePolicies(t *testing.T) {
	for name, answer := range everyAnswer(t) {
		header := answer.Header()
		csp := header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: no %s in the policy %q", name, part, csp)
			}
		}
		for _, part := range []string{"unsafe", "*", "http:", "https:"} {
			if strings.Contains(csp, part) {
				t.Errorf("%s: the policy %q allows %s", name, csp, part)
			}
		}
		for field, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
			"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := header.Get(field); got != want {
				t.Errorf("%s: %s is %q, want %q", name, field, got, want)
			}
		}
	}
}

var (
	tags    = regexp.MustCompile(`(?s)<[a-zA-Z][^>]*>`)
	values  = regexp.MustCompile(`(?s)="[^"]*"`)
	inline  = regexp.MustCompile(`(?i)\s(style|on[a-z]+)\s*=`)
	scripts = regexp.MustCompile(`(?i)^<script(\s|>)`)
	leads   = regexp.MustCompile(`(?i)\s(href|src|action)="[^/#]`)
)

// noInline fails when a page has a script or style of its own, or an address
// that is not a path of ours.
func noInline(t *testing.T, name, html string) {
	t.Helper()
	for _, tag := range tags.FindAllString(html, -1) {
		names := values.ReplaceAllString(tag, "=")
		if inline.MatchString(names) || strings.HasPrefix(strings.ToLower(tag), "<style") || leads.MatchString(tag) {
			t.Errorf("%s: %s", name, tag)
		}
		if scripts.MatchString(tag) && !strings.Contains(tag, ` src="/assets/`) {
			t.Errorf("%s: inline script %s", name, tag)
		}
	}
}

func TestNoPageHasInlineScriptsOrStyles(t *testing.T) {
	for name, answer := range everyAnswer(t) {
		if strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
			noInline(t, name, answer.Body.String())
		}
	}
}

func TestWithoutATokenEverythingIs401WithAnExplanation(t *testing.T) {
	strangers := &counter{}
	closed, err := New(Config{Failures: strangers})
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, handler: closed}
	answers := []*httptest.ResponseRecorder{b.get("/nowhere"), b.get("/login"), b.post("/login", url.Values{"token": {""}})}
	for _, target := range everyPage {
		answers = append(answers, b.get(target))
	}
	for i, answer := range answers {
		if answer.Code != http.StatusUnauthorized {
			t.Errorf("answer %d: %d", i, answer.Code)
		}
		wants(t, answer.Body.String(), "WEIR_API_TOKEN")
	}
	if strangers.refused != len(answers) {
		t.Errorf("%d refusals are counted, want %d", strangers.refused, len(answers))
	}
}

func TestUnknownPathsCountForStrangersOnly(t *testing.T) {
	s := serve(t, example())
	b := s.login(t)
	if answer := b.get("/wp-login.php"); answer.Code != http.StatusNotFound || s.strangers.refused != 0 {
		t.Errorf("an operator: %d, %d counted", answer.Code, s.strangers.refused)
	}
	b.cookie = nil
	if answer := b.get("/wp-login.php"); answer.Code != http.StatusNotFound || s.strangers.refused != 1 {
		t.Errorf("a stranger: %d, %d counted", answer.Code, s.strangers.refused)
	}
}

func TestFilesAreServedWithTheirTypesAndKeptByVersion(t *testing.T) {
	s := serve(t, example())
	b := &browser{t: t, handler: s.Dashboard}
	for name, kind := range map[string]string{
		"weir.css": "text/css; charset=utf-8", "weir.js": "text/javascript; charset=utf-8", "chart.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml", "uplot/uPlot.iife.min.js": "text/javascript; charset=utf-8", "uplot/LICENSE": "text/plain; charset=utf-8",
	} {
		address, err := s.assetURL(name)
		if err != nil {
			t.Fatal(err)
		}
		answer := b.get(address)
		if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != kind || answer.Body.Len() == 0 {
			t.Errorf("%s: %d, %q", name, answer.Code, answer.Header().Get("Content-Type"))
		}
		if !strings.Contains(answer.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s is not kept", address)
		}
		if stale := b.get("/assets/" + name + "?v=old"); stale.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s of another version is kept", name)
		}
	}
	wants(t, read(t, b.get("/assets/uplot/LICENSE").Body), "MIT License", "Leon Sorokin")
	for _, wrong := range []string{"/assets/", "/assets/nothing.css", "/assets/../templates/frame.html", "/assets/%2e%2e/templates/frame.html", "/assets/uplot"} {
		if answer := b.get(wrong); answer.Code == http.StatusOK {
			t.Errorf("%s is served", wrong)
		}
	}
	if _, err := s.assetURL("nothing.css"); err == nil {
		t.Error("a page may name a file that is not there")
	}
}

func TestSessionsExpireInTheBrowserAsOnTheServer(t *testing.T) {
	s := serve(t, example())
	_, old := s.sessions.begin(time.Now().Add(-SessionFor))
	b := &browser{t: t, handler: s.Dashboard, cookie: &http.Cookie{Name: "weir", Value: old}}
	if answer := b.get("/"); answer.Code != http.StatusSeeOther {
		t.Errorf("%d", answer.Code)
	}
}

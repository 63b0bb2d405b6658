package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// fetched is what a page's request came back with.
type fetched struct {
	status int
	path   string
	text   string
}

// visit asks for a page, or posts a form, and follows redirects.
func visit(t *testing.T, client *http.Client, address string, form url.Values) fetched {
	t.Helper()
	ask := func() (*http.Response, error) { return client.Get(address) }
	if form != nil {
		ask = func() (*http.Response, error) { return client.PostForm(address, form) }
	}
	answer, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if csp := answer.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("%s has the policy %q", address, csp)
	}
	return fetched{answer.StatusCode, answer.Request.URL.Path, string(text)}
}

func TestDashboardOpensWithTheToken(t *testing.T) {
	t.Parallel()
	downstream := newDownstream(t, answers(http.StatusUnprocessableEntity))
	s := started(t, downstream.url)
	id := s.send("a-key", `{"order":1}`)
	s.awaitState(id, "dead")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: patience}
	base := "http://" + s.address
	if got := visit(t, client, base+"/events?q=a-key", nil); got.path != "/login" || got.status != http.StatusOK || strings.Contains(got.text, id) {
		t.Errorf("a stranger gets %d at %s", got.status, got.path)
	}
	if got := visit(t, client, base+"/login", url.Values{"token": {"not the token"}}); got.status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", got.status)
	}
	got := visit(t, client, base+"/login", url.Values{"token": {blackboxToken}, "next": {"/events?q=a-key"}})
	if got.status != http.StatusOK || got.path != "/events" || !strings.Contains(got.text, id) {
		t.Errorf("after the login: %d at %s", got.status, got.path)
	}
	for page, want := range map[string]string{
		"/":             "1 delivery to default is dead.",
		"/events/" + id: "Attempt 1: Payload rejected (422)",
		"/destinations": "Nothing stands in the way.",
		"/dead":         "/dead/redeliver?destination=default&amp;reason=rejected",
	} {
		if got := visit(t, client, base+page, nil); got.status != http.StatusOK || !strings.Contains(got.text, want) {
			t.Errorf("%s: %d without %q", page, got.status, want)
		}
	}
	if got := visit(t, client, base+"/destinations/default/pause", url.Values{}); got.status != http.StatusForbidden {
		t.Errorf("a change without the form's token: %d", got.status)
	}
}

func TestDashboardStaysClosedWithoutAToken(t *testing.T) {
	t.Parallel()
	s := started(t, newDownstream(t, answers(http.StatusOK)).url, "WEIR_API_TOKEN=")
	for _, page := range []string{"/", "/events", "/login"} {
		got := visit(t, &http.Client{Timeout: patience}, "http://"+s.address+page, nil)
		if got.status != http.StatusUnauthorized || !strings.Contains(got.text, "WEIR_API_TOKEN") {
			t.Errorf("%s: %d\n%s", page, got.status, got.text)
		}
	}
}

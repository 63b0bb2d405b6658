package e2e

import (
	"net/http"
	"testing"
)

// With WEIR_ADMIN_ADDR the public port has receive paths and health, and nothing
// that only the operator may see.
func TestTheOperatorHasAListenerOfItsOwn(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	s := started(t, newDownstream(t, answers(200)).url, "WEIR_ADMIN_ADDR="+admin)
	s.send("one", "{}")
	for path, want := range map[string]struct{ public, admin int }{
		"/v1/events":        {404, 200},
		"/v1/openapi.json":  {404, 200},
		"/metrics":          {404, 200},
		"/login":            {404, 200},
		"/":                 {404, 303},
		"/readyz":           {200, 200},
		"/healthz/delivery": {200, 200},
		"/hooks/github":     {200, 404},
	} {
		for address, status := range map[string]int{s.address: want.public, admin: want.admin} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+blackboxToken)
			client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			answer, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != status {
				t.Errorf("%s at %s: %d, want %d", path, address, answer.StatusCode, status)
			}
		}
	}
	if status, printed := s.call("status"); status != 0 {
		t.Errorf("weir status finds no service without WEIR_URL: %d %s", status, printed)
	}
	s.stop()
}
